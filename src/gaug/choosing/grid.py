"""A small grid of settings, searched stage by stage."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaug.choosing.proposer import Proposer
from gaug.choosing.trial import Trial
from gaug.errors import TrainingError
from gaug.runs.plan import Plan

Settings = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """One stage of a search.

    Validation nodes are few, and the best of many settings is best partly by chance. Averaging over
    several values of other settings reduces this effect.

    Attributes:
        values: Every combination of these is tried.
        over: Other settings over which each combination is averaged.
    """

    values: Mapping[str, Sequence[Any]]
    over: Sequence[Settings] = ({},)

    def combinations(self) -> list[Settings]:
        """All combinations of the values."""
        products = itertools.product(*self.values.values())
        return [dict(zip(self.values, values, strict=True)) for values in products]


class StagedGrid(Proposer):
    """Proposes the stages in order, each starting from the best settings of the previous stage.

    Searching predictor and fractions in turn takes the sum of their numbers of values, while a full
    grid takes the product. Ties go to the first trial.

    Args:
        plan: Everything but the searched settings.
        stages: The stages; together they set every setting that matters.

    Attributes:
        chosen: The best settings of the finished stages.
        trials: Finished trials.
    """

    def __init__(self, plan: Plan, stages: Sequence[Stage]) -> None:
        self.plan = plan
        self.stages = list(stages)
        self.chosen: Settings = {}
        self.trials: dict[str, Trial] = {}
        self._under_way: Stage | None = None

    def propose(self) -> list[Trial]:
        """All new trials of the next stage."""
        while True:
            if self._under_way is not None:
                self.chosen = self._best(self._under_way)
                self._under_way = None
            if not self.stages:
                return []
            stage = self._under_way = self.stages.pop(0)
            wanted = [
                self.chosen | values | others
                for values in stage.combinations()
                for others in stage.over
            ]
            trials = {_text(settings): self._trial(settings) for settings in wanted}
            missing = [trial for name, trial in trials.items() if name not in self.trials]
            if missing:
                return missing

    def learn(self, trial: Trial) -> None:
        """Store a finished trial."""
        self.trials[trial.name] = trial

    def release(self, trial: Trial) -> None:
        """Stop: a trial ran out of time, so its stage is not finished."""
        self._under_way = None
        self.stages = []

    def _trial(self, settings: Settings) -> Trial:
        texts = [f"{name}={value}" for name, value in settings.items()]
        return Trial(_text(settings), self.plan.with_settings(texts), settings)

    def _best(self, stage: Stage) -> Settings:
        best: tuple[float, Settings] | None = None
        failure = None
        for values in stage.combinations():
            trials = [self.trials[_text(self.chosen | values | others)] for others in stage.over]
            if not all(trial.counts for trial in trials):
                failure = next(trial.failure for trial in trials if trial.failure)
                continue
            merit = statistics.fmean(trial.merit for trial in trials)
            if best is None or merit > best[0]:
                best = (merit, self.chosen | values)
        if best is None:
            raise TrainingError(f"No settings of the grid could be run: {failure}")
        return best[1]


def count_trials(stages: Sequence[Stage]) -> int:
    """Maximum number of settings in a search; settings that occur in two stages are run once.

    >>> count_trials([Stage({"a": [1, 2]}, over=[{"b": 3}, {"b": 4}]), Stage({"b": [3, 0, 5]})])
    7
    """
    return sum(len(stage.combinations()) * len(stage.over) for stage in stages)


def _text(settings: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())
