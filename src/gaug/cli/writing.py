"""The output files of commands: checked before anything is computed, then written."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from gaug.drawing.suffixes import PICTURE_SUFFIXES
from gaug.errors import ConfigError, DataError, reason_of

# Options that do not change a result, with and without a value.
_WITH_VALUE = (
    *("--data-root", "--store", "--workers", "--max-memory", "--format", "--cluster"),
    *("--write-preset", "--picture", "--checkpoint-minutes"),
)
# Options that a page needs. A study without them comes to the same in the end.
_OF_A_PAGE = ("--out", "--time-budget")
_WITHOUT_VALUE = ("--quiet", "-q", "--debug", "--dry-run", "--force")


def this_command(*, page: bool = False) -> str:
    """The command line as it was typed, without options that do not change the result.

    A path in the data folder is shown as ``$GAUG_DATA/…``.

    Args:
        page: Whether it made a page: where to, and within which time, is then kept.
    """
    left_out = {*_WITH_VALUE, *(() if page else _OF_A_PAGE)}
    typed = sys.argv[1:]
    if "--ranks" in (argument.partition("=")[0] for argument in typed):
        left_out.remove("--cluster")  # the one is refused without the other
    kept: list[str] = []
    arguments = iter(typed)
    for argument in arguments:
        if argument in left_out:
            next(arguments, None)
        elif argument.partition("=")[0] not in (*left_out, *_WITHOUT_VALUE):
            kept.append(_shown(argument))
    return " ".join(["gaug", *kept])


def _shown(argument: str) -> str:
    from gaug.data.folders import data_root

    root = f"{data_root()}/"
    if argument.startswith(root):
        return f"$GAUG_DATA/{shlex.quote(argument.removeprefix(root))}"
    return shlex.quote(argument)


def check_picture(out: Path) -> None:
    """Raise if a picture cannot be written in this format."""
    if out.suffix not in PICTURE_SUFFIXES:
        raise ConfigError(f"The picture must be .png, .svg or .pdf, got {str(out)!r}.")


def check_page(out: Path, *, force: bool) -> None:
    """Raise if a page cannot be written there."""
    if out.suffix not in (".html", ".htm"):
        raise ConfigError(f"The page must be .html, got {str(out)!r}.")
    check_file(out, force=force)


def check_file(out: Path, *, force: bool) -> None:
    """Raise if something is there already that may not be replaced."""
    if out.is_dir():
        raise ConfigError(f"{out} is a folder. Give a file to write.")
    if out.exists() and not force:
        raise DataError(f"There is already a file {out}. Use another name, or --force.")


@contextlib.contextmanager
def writing(what: str, path: Path) -> Iterator[None]:
    """Report in one line what could not be written, and why."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or reason_of(error)  # libraries raise some without a number
        raise DataError(f"The {what} {path} cannot be written: {reason}.") from error


def write_text(text: str, out: Path) -> None:
    """Write a text atomically."""
    from gaug.data.folders import written_atomically

    with writing("file", out), written_atomically(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
