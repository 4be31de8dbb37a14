"""What goes on from a checkpoint, told on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaug.training.checkpoint import Checkpoint


class Resumption:
    """Says once of what age a checkpoint is; to be made before training writes a new one.

    Args:
        what: What it belongs to, as the subject of a sentence.
        file: The file, which need not exist.
        quiet: Whether to report nothing.
    """

    def __init__(self, what: str, file: Path, *, quiet: bool) -> None:
        self._what = what
        self._when = datetime.fromtimestamp(file.stat().st_mtime) if file.exists() else None
        self._told = quiet

    def tell(self) -> None:
        """Report that it goes on from there; to be called when that is sure."""
        if not self._told and self._when is not None:
            self._told = True
            print(
                f"gaug: {self._what} goes on from its checkpoint of {self._when:%Y-%m-%d %H:%M}.",
                file=sys.stderr,
            )


def tell_runs(saved: Mapping[str, Checkpoint], *, quiet: bool) -> None:
    """Report what goes on from a checkpoint, where that can be used.

    The runs, which may be in other processes, load it again.

    Args:
        saved: The checkpoints by what they belong to.
        quiet: Whether to report nothing.
    """
    if quiet:
        return
    for what, checkpoint in saved.items():
        resumption = Resumption(what, checkpoint.path, quiet=quiet)
        if checkpoint.load() is not None:
            resumption.tell()
