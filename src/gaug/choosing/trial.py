"""A trial: settings that were tried, and how they did on the validation nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gaug.choosing.scores import ValidationScores
from gaug.runs.plan import Plan


@dataclass(frozen=True)
class Trial:
    """A plan that is tried, or was.

    Attributes:
        name: What to call it.
        plan: What it trains.
        settings: The settings that set it apart from other trials.
        scores: How it did on the validation nodes; None while it was not tried to the end.
        seconds: What its runs took together.
        pruned: Whether it was given up after its first run.
        failure: Why it could not be tried to the end, as a sentence or the rest of one.
        number: Its place in a study, where it belongs to one.
    """

    name: str
    plan: Plan
    settings: Mapping[str, Any] = field(default_factory=dict)
    scores: ValidationScores | None = None
    seconds: float = 0.0
    pruned: bool = False
    failure: str | None = None
    number: int | None = None

    @property
    def mean(self) -> float:
        """Mean validation score of a trial that has some."""
        assert self.scores is not None, "only trials that were run are compared"
        return self.scores.mean

    @property
    def counts(self) -> bool:
        """Whether it was tried to the end and can be chosen."""
        return self.scores is not None and not self.pruned

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
            "failure": self.failure,
        }

    def __str__(self) -> str:
        return self.name
