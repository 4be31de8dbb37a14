"""A run that is not finished yet, in a file, so that it can go on after an interruption."""

from __future__ import annotations

import contextlib
import os
import pickle
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from gaug.errors import reason_of

#: Seconds between two checkpoints of a run.
SECONDS_BETWEEN = 300.0

_FORMAT = 1
# What damaged files have raised.
_UNREADABLE = (OSError, RuntimeError, ValueError, KeyError, EOFError, pickle.UnpicklingError)


@dataclass
class Checkpoint:
    """The file of one run.

    It is replaced in one step, so it is either whole or not there. A disk that is full costs the
    checkpoint, not the run.

    Args:
        path: The file.
        identity: What determines the run; a file of another run is not used.
        seconds: How long to train until the next checkpoint.

    Attributes:
        problem: What users should know, for instance that the disk is full.
    """

    path: Path
    identity: str
    seconds: float = SECONDS_BETWEEN
    problem: str | None = field(default=None, init=False)
    _last: float = field(default_factory=time.perf_counter, init=False)

    @property
    def is_due(self) -> bool:
        """Whether the last one is long enough ago."""
        return time.perf_counter() - self._last >= self.seconds

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file by a new state."""
        draft = self.path.with_suffix(f".{os.getpid()}.draft")
        marked = {"format": _FORMAT, "made_for": self._made_for, "state": state}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(marked, draft)
            with draft.open("rb") as written:
                os.fsync(written.fileno())
            draft.replace(self.path)
        except (OSError, RuntimeError) as error:
            self.problem = (
                f"No checkpoint could be written to {self.path.parent} ({reason_of(error)}), so an"
                " interruption would have started this run over."
            )
            with contextlib.suppress(OSError):
                draft.unlink()
        self._last = time.perf_counter()  # also after a failure: the next try comes later

    def load(self) -> dict[str, Any] | None:
        """The saved state; None if there is none that can be used."""
        if not self.path.exists():
            return None
        try:
            # Tensors and plain values only: such a file cannot run code.
            found = torch.load(self.path, map_location="cpu", weights_only=True)
            made_for, state = found["made_for"], found["state"]
        except _UNREADABLE as error:
            self._refuse(f"is damaged ({reason_of(error)})")
            return None
        if found["format"] != _FORMAT or made_for != self._made_for or not isinstance(state, dict):
            self._refuse("belongs to another run or another version of PyTorch")
            return None
        return state

    def remove(self) -> None:
        """Delete the file, and what processes that were killed while writing it left."""
        with contextlib.suppress(OSError):
            for left in (self.path, *self.path.parent.glob(f"{self.path.stem}.*.draft")):
                left.unlink(missing_ok=True)

    @property
    def _made_for(self) -> list[str]:
        return [self.identity, str(torch.__version__)]

    def _refuse(self, why: str) -> None:
        self.problem = f"The checkpoint {self.path} {why}, so this run started from the beginning."
