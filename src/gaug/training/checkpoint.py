"""A run that is not finished yet, in a file, so that it can go on after an interruption."""

from __future__ import annotations

import contextlib
import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import torch

from gaug.errors import reason_of

#: Seconds between two checkpoints of a run.
SECONDS_BETWEEN = 300.0

_FORMAT = 2
#: What files raise that are damaged, or that hold something else.
UNREADABLE = (
    OSError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    EOFError,
    pickle.UnpicklingError,
)


class StartOverError(Exception):
    """A run cannot go on from its checkpoint, which was refused, and has to start over."""


@dataclass
class Checkpoint:
    """The file of one run.

    It is replaced in one step, so it is either whole or not there. A disk that is full costs the
    checkpoint, not the run.

    Args:
        path: The file.
        identity: What determines the run; a file of another run is not used.
        seconds: How long to train until the next checkpoint.
    """

    path: Path
    identity: str
    seconds: float = SECONDS_BETWEEN
    _refused: str | None = field(default=None, init=False)
    _unwritten: str | None = field(default=None, init=False)
    _last: float = field(default_factory=time.perf_counter, init=False)

    @property
    def is_due(self) -> bool:
        """Whether the last one is long enough ago."""
        return time.perf_counter() - self._last >= self.seconds

    @property
    def problem(self) -> str | None:
        """What users should know, for instance that the disk is full."""
        return " ".join(filter(None, [self._refused, self._unwritten])) or None

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file by a new state."""
        marked = {"format": _FORMAT, "made_for": self._made_for, "state": state}
        try:
            write_checkpoint(self.path, lambda file: torch.save(marked, file))
            self._unwritten = None
        except (OSError, RuntimeError) as error:
            self._unwritten = (
                f"No checkpoint could be written to {self.path.parent}"
                f" ({_reason_of_system(error)}), so an interruption would have started this run"
                " over."
            )
        self._last = time.perf_counter()  # also after a failure: the next try comes later

    def load(self) -> dict[str, Any] | None:
        """The saved state; None if there is none that can be used."""
        if self._refused is not None or not self.path.exists():
            return None
        try:
            # Tensors and plain values only: such a file cannot run code.
            found = torch.load(self.path, map_location="cpu", weights_only=True)
            known = (found["format"], found["made_for"]) == (_FORMAT, self._made_for)
            state = found["state"]
        except UNREADABLE as error:
            self.refuse(error)
            return None
        if not known or not isinstance(state, dict):
            self._refuse("belongs to another run or another version of PyTorch")
            return None
        return state

    def refuse(self, error: Exception) -> None:
        """Do not use the file, because of what it raised."""
        self._refuse(f"is damaged ({reason_of(error)})")

    def remove(self) -> None:
        """Delete the file, and what processes that were killed while writing it left."""
        remove_checkpoint(self.path)

    @property
    def _made_for(self) -> list[str]:
        return [self.identity, str(torch.__version__)]

    def _refuse(self, why: str) -> None:
        self._refused = f"The checkpoint {self.path} {why}, so this run started from the beginning."


def _reason_of_system(error: BaseException) -> str:
    """What the system says of a failed write, which PyTorch covers by an error of its own."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, OSError):
        found = found.__context__
    return reason_of(found or error)


def write_checkpoint(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace a checkpoint in one step, or raise and leave it as it was.

    Args:
        path: The file.
        write: Writes the content.
    """
    draft = path.with_suffix(f".{os.getpid()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Through a file of Python: PyTorch's own does not say that a disk is full.
        with draft.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def remove_checkpoint(path: Path) -> None:
    """Delete a checkpoint, and what processes that were killed while writing it left."""
    with contextlib.suppress(OSError):
        for left in (path, *path.parent.glob(f"{path.stem}.*.draft")):
            left.unlink(missing_ok=True)
