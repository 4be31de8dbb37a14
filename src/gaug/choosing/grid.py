"""Settings of a method chosen on validation nodes: a small grid, searched stage by stage."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaug.runs.plan import spread
from gaug.runs.store import RunRecord

Settings = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """One stage of a search.

    Validation nodes are few, and the best of many settings is best partly by chance. A choice that
    is judged by its mean over several values of other settings depends less on that.

    Attributes:
        values: Every combination of these is tried.
        over: Other settings that each combination is averaged over.
    """

    values: Mapping[str, Sequence[Any]]
    over: Sequence[Settings] = ({},)

    def combinations(self) -> list[Settings]:
        """All combinations of the values."""
        products = itertools.product(*self.values.values())
        return [dict(zip(self.values, values, strict=True)) for values in products]


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and how they did on the validation nodes."""

    settings: Settings
    val_scores: list[float]

    @property
    def val_mean(self) -> float:
        """Mean validation micro-F1 in percent."""
        return sum(self.val_scores) / len(self.val_scores)

    @property
    def val_deviation(self) -> float:
        """Its sample standard deviation."""
        return spread(self.val_scores)


@dataclass(frozen=True)
class Choice:
    """The settings with the best mean validation score, and everything that was tried."""

    settings: Settings
    trials: list[Trial]


def choose_settings(
    stages: Sequence[Stage],
    run: Callable[[Settings], list[RunRecord]],
    on_trial: Callable[[int], None] | None = None,
) -> Choice:
    """Search the stages in order, each from the best settings of the stage before.

    Searching predictor and fractions in turn takes the sum of their numbers of values where a full
    grid takes the product. Test scores are not looked at; a tie goes to what was tried first.

    Args:
        stages: What to try; together they give every setting that matters a value.
        run: Trains with these settings and gives the records.
        on_trial: Called with how many of `count_trials` are done.

    >>> from gaug.runs.store import RunRecord
    >>> def run(settings):
    ...     return [RunRecord(val_score=10 * settings["a"] - settings["b"])]
    >>> stages = [Stage({"a": [1, 2]}, over=[{"b": 3}, {"b": 4}]), Stage({"b": [3, 0, 5]})]
    >>> choose_settings(stages, run).settings
    {'a': 2, 'b': 0}
    """
    chosen: Settings = {}
    trials: list[Trial] = []
    for stage in stages:
        best: Trial | None = None
        for values in stage.combinations():
            scores: list[float] = []
            for others in stage.over:
                trial = _trial(chosen | values | others, trials, run)
                scores += trial.val_scores
                if on_trial is not None:
                    on_trial(len(trials))
            candidate = Trial(chosen | values, scores)
            if best is None or candidate.val_mean > best.val_mean:
                best = candidate
        assert best is not None, "a stage has values"
        chosen = best.settings
    return Choice(chosen, trials)


def count_trials(stages: Sequence[Stage]) -> int:
    """How many settings a search tries at most; one that stands in two stages is run once.

    >>> count_trials([Stage({"a": [1, 2]}, over=[{"b": 3}, {"b": 4}]), Stage({"b": [3, 0, 5]})])
    7
    """
    return sum(len(stage.combinations()) * len(stage.over) for stage in stages)


def _trial(
    settings: Settings, trials: list[Trial], run: Callable[[Settings], list[RunRecord]]
) -> Trial:
    """What was tried with these settings, or else a new trial."""
    for trial in trials:
        if trial.settings == settings:
            return trial
    scores = [record.val_score for record in run(settings)]
    trials.append(Trial(settings, [score for score in scores if score is not None]))
    return trials[-1]
