"""Methods that were tried on one graph, and which of them the validation nodes choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaug.choosing.candidates import Candidate, Omission
from gaug.choosing.scores import ValidationScores


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried.

    Attributes:
        candidate: Method and settings.
        scores: How it did on the validation nodes.
        seconds: What the trial took.
    """

    candidate: Candidate
    scores: ValidationScores
    seconds: float


@dataclass(frozen=True)
class MethodChoice:
    """What was tried on a graph, and what was chosen of it.

    Attributes:
        trials: What was tried, in this order; the first is no augmentation.
        omissions: What was not, with the reason.
    """

    trials: list[Trial]
    omissions: list[Omission]

    @property
    def plain(self) -> Trial:
        """The trial of no augmentation."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The best mean validation score; of equal ones the first."""
        return max(self.trials, key=lambda trial: trial.scores.mean)

    @property
    def chosen(self) -> Trial:
        """The best of those that are above no augmentation by more than the spread, or else it."""
        above = [trial for trial in self.trials if trial.scores.clearly_above(self.plain.scores)]
        return max(above, key=lambda trial: trial.scores.mean, default=self.plain)

    @property
    def helps(self) -> bool:
        """Whether something is better than no augmentation beyond the spread."""
        return self.chosen is not self.plain

    @property
    def gain(self) -> float:
        """Points of the chosen one above no augmentation, on the validation nodes."""
        return self.chosen.scores.gain_over(self.plain.scores)

    def verdict(self) -> str:
        """The choice in a sentence or two."""
        if len(self.trials) == 1:
            return "Only no augmentation was tried: give a longer time budget."
        shown = self.chosen if self.helps else self.best
        if shown is self.plain:
            return (
                "Nothing that was tried scored above no augmentation on the validation nodes:"
                " the graph stays as it is."
            )
        gain = shown.scores.gain_over(self.plain.scores)
        chance = shown.scores.chance_in_words(self.plain.scores)
        above = f"{gain:.1f} points above no augmentation on the validation nodes"
        if self.helps:
            return f"Chose {shown.candidate}: {above}, more than {chance}."
        return (
            f"The best was {shown.candidate}, {above}. That is not more than {chance}, so the"
            " graph stays as it is."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            "chosen": str(self.chosen.candidate),
            "helps": self.helps,
            "gain": self.gain,
            "spread": self.chosen.scores.chance_beside(self.plain.scores),
            "verdict": self.verdict(),
            "trials": [
                {
                    "method": trial.candidate.config.name,
                    "settings": trial.candidate.config.to_dict(),
                    "val_scores": list(trial.scores.values),
                    "val_mean": trial.scores.mean,
                    "spread": trial.scores.spread,
                    "seconds": trial.seconds,
                }
                for trial in self.trials
            ],
            "left_out": {str(left.candidate): left.reason for left in self.omissions},
        }

    def __str__(self) -> str:
        rows = [(str(t.candidate), str(t.scores), f"{t.seconds:.1f} s") for t in self.trials]
        rows.insert(0, ("tried", "validation", "time"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        lines += [f"not tried: {left.candidate}: {left.reason}" for left in self.omissions]
        return "\n".join([*lines, self.verdict()])
