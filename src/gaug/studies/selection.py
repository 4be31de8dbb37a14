"""Settings of a method chosen on validation nodes: a small grid, searched stage by stage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaug.experiment import spread
from gaug.store import RunRecord

#: One stage of a search: every combination of these values is tried.
Stage = Mapping[str, Sequence[Any]]
Settings = dict[str, Any]


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

    Searching predictor, additions and removals in turn takes the sum of their numbers of values
    where a full grid takes the product. Test scores are not looked at; a tie goes to what was
    tried first.

    Args:
        stages: For each setting its values; the first stage gives every setting a value.
        run: Trains with these settings and gives the records.
        on_trial: Called with how many of `count_trials` are done.

    >>> from gaug.store import RunRecord
    >>> def run(settings):
    ...     return [RunRecord(val_score=10 * settings["a"] - settings["b"])]
    >>> choose_settings([{"a": [1, 2], "b": [3]}, {"b": [3, 0, 5]}], run).settings
    {'a': 2, 'b': 0}
    """
    best: Trial | None = None
    trials: list[Trial] = []
    looked_at = 0
    for stage in stages:
        base = {} if best is None else best.settings
        for values in itertools.product(*stage.values()):
            settings = base | dict(zip(stage, values, strict=True))
            looked_at += 1
            if all(trial.settings != settings for trial in trials):
                scores = [record.val_score for record in run(settings)]
                trial = Trial(settings, [score for score in scores if score is not None])
                trials.append(trial)
                if best is None or trial.val_mean > best.val_mean:
                    best = trial
            if on_trial is not None:
                on_trial(looked_at)
    assert best is not None, "a search has at least one stage with values"
    return Choice(best.settings, trials)


def count_trials(stages: Sequence[Stage]) -> int:
    """How many settings a search looks at; one that stands in two stages is run once.

    >>> count_trials([{"a": [1, 2], "b": [3]}, {"b": [3, 0, 5]}])
    5
    """
    return sum(math.prod(map(len, stage.values())) for stage in stages)
