"""One run as a job for an executor."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gaug.errors import TrainingError
from gaug.memory import is_lack_of_memory, reusing
from gaug.runs.cost import measured
from gaug.runs.executor import Tell
from gaug.runs.predictions import pack_predictions, pack_probabilities
from gaug.training.checkpoint import Checkpoint
from gaug.training.progress import Progress
from gaug.training.run import PreparedRuns

# The width of a column: SQLite takes longer texts, other databases do not.
_LONGEST_WARNING = 500


@dataclass(frozen=True)
class RunJob:
    """One run, with everything it needs.

    Attributes:
        prepared: State shared by all runs of its plan.
        run: Its number.
        keep_history: Whether to keep one row per epoch.
        checkpoint: Where it is saved if it takes long; None: nowhere.
        memory: Bytes that it takes, about.
    """

    prepared: PreparedRuns
    run: int
    keep_history: bool = False
    checkpoint: Checkpoint | None = None
    memory: int = 0

    @property
    def threads(self) -> int:
        """Threads that it computes with."""
        return self.prepared.threads

    @property
    def device(self) -> str:
        """Where it computes."""
        return str(self.prepared.task.labels.device)

    def elsewhere(self) -> RunJob:
        """The job for another machine: without a checkpoint, whose folder is on this one."""
        return dataclasses.replace(self, checkpoint=None)

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Train and evaluate once; returns the measured columns of a record."""
        epochs = self.prepared.max_epochs

        def on_progress(now: Progress) -> None:
            tell(min(now.epochs / epochs, 1.0), f"run {self.run + 1}, {now.note}")

        with lack_of_memory_told(), reusing(self.memory), measured() as cost:
            result = self.prepared.train(
                self.run,
                keep_history=self.keep_history,
                on_progress=on_progress,
                checkpoint=self.checkpoint,
            )
        hidden, right = self.prepared.task.test_hidden, result.val_probabilities
        return {
            "val_score": result.val_score,
            "test_score": result.test_score,
            "val_predictions": pack_predictions(result.val_predictions),
            "val_probabilities": None if right is None else pack_probabilities(right),
            "test_predictions": pack_predictions(result.test_predictions) if hidden else None,
            "best_epoch": result.best_epoch,
            "epochs": result.epochs,
            "seconds": result.earlier_seconds + cost.seconds,
            "peak_memory_mb": cost.peak_memory_mb,
            "history": _finite(result.history) if self.keep_history else None,
            "warning": result.warning and result.warning[:_LONGEST_WARNING],
        }


@contextlib.contextmanager
def lack_of_memory_told() -> Iterator[None]:
    """Turn a failed allocation into an error of this run, so that others go on."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if is_lack_of_memory(error):
            raise TrainingError(
                "There is not enough memory for this run. Try smaller settings or fewer workers."
            ) from error
        raise


def _finite(history: list[dict[str, float]]) -> list[dict[str, Any]]:
    """A history without infinite numbers and NaN, which JSON does not have."""
    return [
        {name: value if math.isfinite(value) else None for name, value in row.items()}
        for row in history
    ]
