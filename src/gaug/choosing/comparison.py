"""Compare trials on validation nodes, and judge whether the best is better than chance."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from gaug.choosing.gains import Gain, gains_of_finalists, gains_over, percent
from gaug.choosing.resampling import Resampling
from gaug.choosing.run_scores import RunScores
from gaug.choosing.scores import ValidationScores
from gaug.choosing.trial import Trial

#: A trial is chosen if it is at least this sure that it gains anything.
SURE = 0.95
# A gain is judged by at least so many runs: one does not tell how runs differ.
_LEAST_RUNS = 2
_SHOWN = 12
_WORDS = ((0.99, "almost certainly"), (SURE, "very likely"), (0.8, "likely"), (0.5, "possibly"))


@dataclass(frozen=True)
class Comparison:
    """Trials on one graph, compared with no augmentation.

    Attributes:
        plain: The trial of no augmentation.
        others: All other trials, finished or not, in order.
        resampling: How runs drew their own training and validation nodes, if they did.
        by_merit: Whether the best is taken whether or not it is sure, as by a search.
    """

    plain: Trial
    others: list[Trial]
    resampling: Resampling | None = None
    by_merit: bool = False

    @property
    def trials(self) -> list[Trial]:
        """Finished trials, no augmentation first."""
        return [self.plain, *(trial for trial in self.others if trial.counts)]

    @property
    def left_out(self) -> list[Trial]:
        """Trials without a run, with the reason."""
        return [trial for trial in self.others if trial.failure and trial.scores is None]

    @property
    def unfinished(self) -> list[Trial]:
        """Trials with some of their runs, with the reason; no augmentation may be one."""
        return [trial for trial in [self.plain, *self.others] if trial.failure and trial.scores]

    @property
    def drawn_nodes(self) -> bool:
        """Whether runs of the comparison drew their own training and validation nodes."""
        if self.resampling is None:
            return False
        known = [trial.outcomes for trial in self.trials if trial.outcomes is not None]
        return any(run >= self.resampling.first for outcomes in known for run in outcomes.runs)

    @property
    def finalists(self) -> list[Trial]:
        """Trials that are compared in the end: those with new seeds, or all if there are none."""
        finished = [trial for trial in self.trials[1:] if self._is_comparable(trial)]
        return [trial for trial in finished if trial.confirmed] or finished

    @property
    def best_change(self) -> Trial | None:
        """The best trial besides no augmentation; None if no other trial was finished."""
        return max(self.finalists, key=self.rank, default=None)

    @property
    def best(self) -> Trial:
        """The best trial by score and probability; no augmentation if its score is not above."""
        change = self.best_change
        return self.plain if change is None or self._ahead(change) <= 0 else change

    @property
    def chosen(self) -> Trial:
        """The best trial that is `SURE` to be above no augmentation, else no augmentation.

        Where the best is taken in any case, no other one is chosen in its place.
        """
        asked = [self.best] if self.by_merit else self.finalists
        sure = [trial for trial in asked if self._is_sure(trial)]
        return max(sure, key=self.rank, default=self.plain)

    @property
    def helps(self) -> bool:
        """Whether a trial is better than no augmentation by more than chance."""
        return self.chosen is not self.plain

    @property
    def shown(self) -> Trial:
        """What the verdict is about: the chosen trial, or else the best one."""
        return self.chosen if self.helps else self.best

    @property
    def gain(self) -> float:
        """Points of the trial that is shown above no augmentation, on the validation nodes."""
        return 0.0 if self.shown is self.plain else self._ahead(self.shown)

    def plain_beside(self, trial: Trial) -> ValidationScores | None:
        """The scores of no augmentation in the runs of a trial, where single runs are known."""
        plain, other = self.plain.outcomes, trial.outcomes
        shared = () if plain is None or other is None else plain.shared(other)
        if plain is None or not shared:
            return self.plain.scores
        values = tuple(plain.values[plain.runs.index(run)] for run in shared)
        return ValidationScores(values, plain.num_nodes)

    def gain_of(self, trial: Trial) -> Gain | None:
        """The gain of a trial; None where the scores of single nodes are not known."""
        return self._gains.get((trial.key, trial.confirmed))

    def rank(self, trial: Trial) -> tuple[bool, float]:
        """What trials are ordered by: whether they gain anything, and their merit."""
        plain, own = self.plain.outcomes, trial.outcomes
        if not self._is_comparable(trial):
            merit = -math.inf
        elif plain is None or own is None:
            merit = trial.merit - self.plain.merit
        else:
            merit = own.minus(plain).merit
        return self._ahead(trial) > 0, merit

    @property
    def tried(self) -> list[Trial]:
        """All that could have been chosen: each setting once, those that were pruned, too."""
        different: dict[str, Trial] = {}
        for trial in self.others:
            known = different.get(trial.key)
            if trial.scores is not None and (known is None or trial.confirmed):
                different[trial.key] = trial
        return list(different.values())

    @functools.cached_property
    def _gains(self) -> dict[tuple[str, bool], Gain]:
        """The gains of settings, in the runs that chose the finalists and in those that decide."""
        plain = self.plain.outcomes
        if plain is None:
            return {}
        known = [
            trial
            for trial in self.tried
            if trial.outcomes is not None and trial.outcomes.shared(plain)
        ]
        earlier = [trial.earlier or _outcomes(trial) for trial in known]
        final = {place: _outcomes(one) for place, one in enumerate(known) if one.confirmed}
        if self._fresh_nodes:
            judged = gains_over(plain, list(final.values()))
        else:
            judged = gains_of_finalists(plain, earlier, final)
        looks = zip(known, gains_over(plain, earlier), strict=True)
        decided = zip(final, judged, strict=True)
        return {
            **{(trial.key, False): gain for trial, gain in looks},
            **{(known[place].key, True): gain for place, gain in decided},
        }

    @property
    def _fresh_nodes(self) -> bool:
        """Whether finalists validate on nodes that nobody had validated on before.

        They were not chosen by these nodes, so only finalists count as tried.
        """
        return self.resampling is not None and self.resampling.fresh

    @property
    def _by_probability(self) -> bool:
        """Whether how sure gains are follows from probabilities; otherwise from scores alone."""
        outcomes = self.plain.outcomes
        return outcomes is not None and outcomes.probabilities is not None

    def _is_comparable(self, trial: Trial) -> bool:
        """Whether a trial has a run in common with no augmentation, where runs are known."""
        plain, own = self.plain.outcomes, trial.outcomes
        return plain is None or own is None or bool(own.shared(plain))

    def _ahead(self, trial: Trial) -> float:
        """Points above no augmentation, in the same runs where they are known."""
        gain = self.gain_of(trial)
        if gain is not None:
            return gain.points
        return trial.mean - self.plain.mean if self._is_comparable(trial) else -math.inf

    def confidence_in(self, trial: Trial) -> float | None:
        """How sure it is that a trial gains; None without enough runs to say."""
        gain, plain, own = self.gain_of(trial), self.plain.outcomes, trial.outcomes
        if gain is None or plain is None or own is None:
            return None
        return gain.confidence if len(own.shared(plain)) >= _LEAST_RUNS else None

    def _is_sure(self, trial: Trial) -> bool:
        confidence = self.confidence_in(trial)
        return confidence is not None and confidence >= SURE

    def verdict(self) -> str:
        """Whether anything helps, and how sure that is, in a sentence or two."""
        if len(self.trials) == 1:
            return "Only the trial without augmentation was finished."
        shown = self.shown
        if shown is self.plain:
            which = " that ran with new seeds" if self.finalists[0].confirmed else ""
            return f"No trial{which} scored above no augmentation on the validation nodes."
        gain = self.gain_of(shown)
        points = f"{self._ahead(shown):.1f} points above no augmentation on the validation nodes"
        if gain is None:
            return f"The best is {shown}: {points}."
        points = f"{points}, give or take {gain.error:.1f}"
        confidence = self.confidence_in(shown)
        if confidence is None:
            return f"The best is {shown}: {points}. A single run is too little to be sure of it."
        fresh = shown.confirmed and self._fresh_nodes
        beside = len(self.finalists if fresh else self.tried)
        kind = "finalists" if fresh else "tried"
        others = f", with {beside} {kind}" if beside > 1 else ""
        by = ", by how probable the right classes become" if self._by_probability else ""
        sure = f"{percent(confidence)} sure{others}"
        real = f"{_in_words(confidence)} a real gain{by} ({sure})"
        end = "" if self.helps else f"; less than {SURE:.0%} may be chance"
        return f"The best is {shown}: {points}. That is {real}{end}."

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        shown = self.gain_of(self.shown)
        return {
            "chosen": self.chosen.name,
            "helps": self.helps,
            "gain": self.gain,
            "error": None if shown is None else shown.error,
            "confidence": self.confidence_in(self.shown),
            "verdict": self.verdict(),
            "drawn_nodes": self.drawn_nodes,
            "trials": [self._trial_dict(trial) for trial in [self.plain, *self.others]],
            "left_out": {trial.name: trial.failure for trial in self.left_out},
            "unfinished": {trial.name: trial.failure for trial in self.unfinished},
        }

    def _trial_dict(self, trial: Trial) -> dict[str, Any]:
        gain = self.gain_of(trial)
        return {**trial.to_dict(), "gain": None if gain is None else gain.to_dict()}

    def ranked(self) -> list[Trial]:
        """Finished trials besides no augmentation: those with new seeds first, best first."""
        finalists = {id(trial) for trial in self.finalists}
        return sorted(
            self.trials[1:],
            key=lambda trial: (id(trial) in finalists, *self.rank(trial)),
            reverse=True,
        )

    def __str__(self) -> str:
        shown = self.ranked()
        rows = [("tried", "runs", "validation", "gain", "time")]
        for trial in [self.plain, *shown[:_SHOWN]]:
            gain, runs = self.gain_of(trial), len(trial.scores.values) if trial.scores else 0
            rows.append(
                (
                    trial.name,
                    str(runs),
                    str(trial.scores),
                    str(gain or ""),
                    f"{trial.seconds:.1f} s",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        ]
        if len(shown) > _SHOWN:
            lines.append(f"and {len(shown) - _SHOWN} others with smaller gains")
        lines += [f"not tried: {trial}: {trial.failure}" for trial in self.left_out]
        lines += [f"not finished: {trial}: {trial.failure}" for trial in self.unfinished]
        return "\n".join([*lines, self.verdict()])


def _outcomes(trial: Trial) -> RunScores:
    assert trial.outcomes is not None, "only trials with known nodes are judged"
    return trial.outcomes


def _in_words(confidence: float) -> str:
    return next((words for least, words in _WORDS if confidence >= least), "hardly")
