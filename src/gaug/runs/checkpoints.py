"""Where runs that take long are saved until they are recorded."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from gaug.errors import ConfigError
from gaug.training.checkpoint import SECONDS_BETWEEN, Checkpoint

#: The environment variable that sets the minutes between two checkpoints of a run.
VARIABLE = "GAUG_CHECKPOINT_MINUTES"


def seconds_between() -> float:
    """Seconds between two checkpoints of a run: by the environment, else five minutes."""
    text = os.environ.get(VARIABLE)
    if not text:
        return SECONDS_BETWEEN
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes < float("inf"):
        raise ConfigError(f"{VARIABLE} must be a number of minutes, 0 or more, got {text!r}.")
    return 60 * minutes


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of all runs and fits, one file each.

    Attributes:
        folder: Where the files are; made when the first is written.
        seconds: How long a run trains until its next checkpoint.
    """

    folder: Path
    seconds: float = field(default_factory=seconds_between)

    def of(self, identity: str, keep_history: bool = False) -> Checkpoint:
        """The checkpoint of a run.

        Args:
            identity: Identity of the run.
            keep_history: Whether it keeps one row per epoch, which a checkpoint must have, too.
        """
        return self._named(f"{identity}-history" if keep_history else identity)

    def of_fit(self, identity: str) -> Checkpoint:
        """The checkpoint of a fit, which is not that of the run with the same settings.

        Args:
            identity: Identity of run 0.
        """
        return self._named(f"{identity}-fit")

    def _named(self, name: str) -> Checkpoint:
        return Checkpoint(self.folder / f"{name[:24]}{name[64:]}.checkpoint", name, self.seconds)
