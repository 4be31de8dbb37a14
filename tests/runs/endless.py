"""A job that goes on until somebody ends it."""

from __future__ import annotations

import fcntl
import time
from dataclasses import dataclass
from pathlib import Path

from gaug.runs.executor import Tell


@dataclass(frozen=True)
class Endless:
    """Holds a lock while it is under way, which the system frees however it ends."""

    folder: Path

    @property
    def begun(self) -> Path:
        """A file that is there from when it holds its lock."""
        return self.folder / "begun"

    @property
    def is_under_way(self) -> bool:
        """Whether it holds its lock."""
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def __call__(self, tell: Tell) -> str:
        patience = time.monotonic() + 60
        with (self.folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.begun.touch()
            while time.monotonic() < patience:
                tell(0.5)
        return "nobody ended it"
