"""A trial: settings and their scores on the validation nodes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gaug.choosing.run_scores import RunScores
from gaug.choosing.scores import ValidationScores
from gaug.runs.plan import Plan


@dataclass(frozen=True)
class Trial:
    """A trial of a plan, finished or not.

    Attributes:
        name: Name of the trial.
        plan: The plan.
        settings: The settings that distinguish it from other trials.
        scores: Validation scores; None if it is not finished.
        outcomes: The scores of single validation nodes behind them, where they are known.
        seconds: Total time of its runs.
        pruned: Whether it was pruned after its first run.
        failure: Why it was not finished, as a sentence or part of one; it may have some runs.
        number: Its index in a study, if any.
        confirmed: Whether its scores are those of new seeds, after others had put it in front.
        earlier: The scores of single nodes that had put it in front, if it is confirmed.
    """

    name: str
    plan: Plan
    settings: Mapping[str, Any] = field(default_factory=dict)
    scores: ValidationScores | None = None
    seconds: float = 0.0
    pruned: bool = False
    failure: str | None = None
    number: int | None = None
    outcomes: RunScores | None = field(default=None, repr=False, compare=False)
    confirmed: bool = False
    earlier: RunScores | None = field(default=None, repr=False, compare=False)

    @functools.cached_property
    def key(self) -> str:
        """What trials with the same settings have in common."""
        return repr((self.plan.method.name, self.plan.model.name, self.plan.config))

    @property
    def mean(self) -> float:
        """Mean validation score; the trial must have scores."""
        assert self.scores is not None, "only trials that were run are compared"
        return self.scores.mean

    @property
    def merit(self) -> float:
        """What it is ranked by; see `RunScores.merit`."""
        return self.mean if self.outcomes is None else self.outcomes.merit

    @property
    def num_runs(self) -> int:
        """Number of its runs."""
        return 0 if self.scores is None else len(self.scores.values)

    @property
    def counts(self) -> bool:
        """Whether it is finished and can be chosen."""
        return self.scores is not None and not self.pruned

    def with_runs(self, outcomes: RunScores, seconds: float = 0.0) -> Trial:
        """The trial with more runs.

        Args:
            outcomes: Their scores.
            seconds: Their time.
        """
        joined = outcomes if self.outcomes is None else self.outcomes.joined(outcomes)
        return dataclasses.replace(
            self,
            scores=ValidationScores(joined.values, joined.num_nodes),
            outcomes=joined,
            seconds=self.seconds + seconds,
        )

    def begun_again(self) -> Trial:
        """The trial without runs, to be confirmed with new seeds."""
        return dataclasses.replace(
            self,
            scores=None,
            outcomes=None,
            failure=None,
            confirmed=True,
            earlier=self.outcomes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            "name": self.name,
            "method": self.plan.method.name,
            "settings": dict(self.settings),
            "val_scores": list(self.scores.values) if self.scores else None,
            "val_mean": self.scores.mean if self.scores else None,
            "spread": self.scores.spread if self.scores else None,
            "seconds": self.seconds,
            "pruned": self.pruned,
            "confirmed": self.confirmed,
            "failure": self.failure,
        }

    def __str__(self) -> str:
        return self.name


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """Each setting once, the first of its trials."""
    found: dict[str, Trial] = {}
    for trial in trials:
        found.setdefault(trial.key, trial)
    return list(found.values())
