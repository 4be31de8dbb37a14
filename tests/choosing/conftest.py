"""Scores by a formula in the place of training, so that what is chosen is known beforehand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.runs.plan import Plan
from gaug.training import run as training_run
from gaug.training.loop import RunResult
from gaug.training.progress import Progress
from gaug.training.run import PreparedRuns

#: A value of a run in percent, from what is run and the number of the run.
Score = Callable[[PreparedRuns, int], float]


@dataclasses.dataclass
class Scored:
    """What was run in the place of training.

    Attributes:
        asked: What was run, with the number of the run.
    """

    asked: list[tuple[PreparedRuns, int]] = dataclasses.field(default_factory=list)

    def settings(self, name: str) -> list[Any]:
        """A setting of the method in all runs but those without augmentation."""
        return [
            getattr(prepared.method.config, name)
            for prepared, _ in self.asked
            if prepared.method.config.name != "none"
        ]


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scored]:
    """Put scores by a formula in the place of training; gives what was run.

    How probable the right classes are follows a formula of its own, or else the scores.
    """

    def use(score: Score, probable: Score | None = None) -> Scored:
        found = Scored()

        def train(prepared: PreparedRuns, run: int, **others: Any) -> RunResult:
            found.asked.append((prepared, run))
            task = prepared.task
            assert task.test_hidden, "who chooses trains without labels of test nodes"
            val_score = score(prepared, run)
            if others.get("on_progress") is not None:
                others["on_progress"](Progress(1, "epoch 1"))
            labels = task.labels[task.val]
            predicted = _right_for(val_score, labels)
            probabilities = 100.0 * (predicted == labels)
            if probable is not None:
                probabilities = torch.full((labels.numel(),), probable(prepared, run))
            return RunResult(
                val_score=val_score,
                test_score=None,
                val_predictions=predicted,
                val_probabilities=None if task.multilabel else probabilities,
                test_predictions=torch.zeros(task.test.numel(), dtype=torch.long),
                best_epoch=1,
                epochs=1,
                probabilities=torch.empty(0),
                rounds=[],
                run=None,  # type: ignore[arg-type]
            )

        monkeypatch.setattr(training_run.PreparedRuns, "train", train)
        return found

    return use


def _right_for(score: float, labels: torch.Tensor) -> torch.Tensor:
    """Predictions of which this share is right, up to rounding: the first nodes."""
    right = torch.arange(labels.numel()) < round(score / 100 * labels.numel())
    return torch.where(right, labels, (labels + 1) % 2)


def near(wanted: float) -> Score:
    """The nearer the share is, the better; without augmentation it is worse than all."""

    def score(prepared: PreparedRuns, run: int) -> float:
        config = prepared.method.config
        if config.name == "none":
            return 0.0
        assert isinstance(config, DropEdgeConfig)
        return 90 - 80 * abs(config.drop_fraction - wanted)

    return score


def karate(method: str, *settings: str, seed: int = 0) -> Plan:
    fast = ("epochs=2", "train_fraction=0.2")
    return Plan.of(
        "karate", method=method, split="stratified", settings=[*fast, *settings], seed=seed
    )
