"""Write the output files of commands."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from gaug.errors import DataError


def this_command() -> str:
    """The command line as it was typed, to be shown with its output."""
    return shlex.join(["gaug", *sys.argv[1:]])


@contextlib.contextmanager
def writing(what: str, path: Path) -> Iterator[None]:
    """Report in one line what could not be written, and why."""
    try:
        yield
    except OSError as error:
        raise DataError(f"The {what} {path} cannot be written: {error.strerror}.") from error


def write_text(text: str, out: Path) -> None:
    """Write a text atomically."""
    from gaug.data.folders import written_atomically

    with writing("file", out), written_atomically(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
