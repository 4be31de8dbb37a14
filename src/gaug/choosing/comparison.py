"""Compare trials on validation nodes, and judge whether the best is better than chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaug.choosing.trial import Trial


@dataclass(frozen=True)
class Comparison:
    """Trials on one graph, compared with no augmentation.

    Attributes:
        plain: The trial of no augmentation.
        others: All other trials, finished or not, in order.
    """

    plain: Trial
    others: list[Trial]

    @property
    def trials(self) -> list[Trial]:
        """Finished trials, no augmentation first."""
        return [self.plain, *(trial for trial in self.others if trial.counts)]

    @property
    def left_out(self) -> list[Trial]:
        """Trials that were not finished, with the reason."""
        return [trial for trial in self.others if trial.failure is not None]

    @property
    def best(self) -> Trial:
        """The trial with the best mean validation score; the first one if tied."""
        return max(self.trials, key=lambda trial: trial.mean)

    @property
    def best_change(self) -> Trial | None:
        """The best trial besides no augmentation; None if no other trial was finished."""
        return max(self.trials[1:], key=lambda trial: trial.mean, default=None)

    @property
    def chosen(self) -> Trial:
        """The best trial above no augmentation by more than chance, else no augmentation."""
        assert self.plain.scores is not None
        plain = self.plain.scores
        above = [t for t in self.trials[1:] if t.scores and t.scores.clearly_above(plain)]
        return max(above, key=lambda trial: trial.mean, default=self.plain)

    @property
    def helps(self) -> bool:
        """Whether a trial is better than no augmentation by more than chance."""
        return self.chosen is not self.plain

    @property
    def gain(self) -> float:
        """Points of the best trial above no augmentation, on the validation nodes."""
        return self.best.mean - self.plain.mean

    def chance(self, trial: Trial) -> float:
        """Points by which a trial and no augmentation may differ by chance."""
        assert trial.scores is not None
        assert self.plain.scores is not None
        return trial.scores.chance_beside(self.plain.scores)

    def verdict(self) -> str:
        """Whether anything helps, in a sentence or two."""
        if len(self.trials) == 1:
            return "Only the trial without augmentation was finished."
        shown = self.chosen if self.helps else self.best
        if shown is self.plain:
            return "No trial scored above no augmentation on the validation nodes."
        assert shown.scores is not None
        assert self.plain.scores is not None
        gain = shown.mean - self.plain.mean
        chance = shown.scores.chance_in_words(self.plain.scores)
        above = f"{gain:.1f} points above no augmentation on the validation nodes"
        if self.helps:
            return f"The best is {shown}: {above}, more than {chance}."
        return f"The best is {shown}: {above}. That is not more than {chance}."

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            "chosen": self.chosen.name,
            "helps": self.helps,
            "gain": self.gain,
            "spread": self.chance(self.best),
            "verdict": self.verdict(),
            "trials": [trial.to_dict() for trial in [self.plain, *self.others]],
            "left_out": {trial.name: trial.failure for trial in self.left_out},
        }

    def __str__(self) -> str:
        rows = [(t.name, str(t.scores), f"{t.seconds:.1f} s") for t in self.trials]
        rows.insert(0, ("tried", "validation", "time"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        lines += [f"not tried: {trial}: {trial.failure}" for trial in self.left_out]
        return "\n".join([*lines, self.verdict()])
