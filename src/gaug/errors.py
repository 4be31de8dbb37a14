"""Errors that gaug raises on purpose; every one reads as a single line for a person.

A message names the subject, the rule, the value and, where there is one, the remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Some libraries quote the whole input.
_LONGEST_REASON = 200
_TRACEBACK = "Traceback (most recent call last):"


class GaugError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: One line for a person, in the words of the library.
        topic: What it is about, where another way of calling has a remedy of its own: the command
            line adds the option that helps, see `gaug.cli.remedies`.

    Attributes:
        told: Whether another process has it, too, and tells it.
    """

    told: bool = False

    def __init__(self, message: str = "", *, topic: str | None = None) -> None:
        super().__init__(message)
        self.topic = topic


class ConfigError(GaugError, ValueError):
    """A setting or a command-line argument is not acceptable."""


class DataError(GaugError, ValueError):
    """A graph, its features, its labels, its split or a file of them is not acceptable."""


class MissingDataError(DataError, FileNotFoundError):
    """A graph of the catalog is not in the data folder and could not be fetched."""


class StoreError(GaugError, RuntimeError):
    """The store of run records cannot be read or written."""


class TrainingError(GaugError, RuntimeError):
    """Training cannot go on."""


def reason_of(error: BaseException) -> str:
    r"""What another library says of a failure, as a part of a line: its first line, cut.

    Where that only announces the next one, both. Of a traceback of another process its last line.

    >>> reason_of(ValueError("bad magic"))
    'bad magic'
    >>> reason_of(ValueError("In the header:\n  bad magic"))
    'In the header: bad magic'
    """
    line, *others = str(error).splitlines() or [""]
    if _TRACEBACK in str(error):
        line = str(error).rstrip().splitlines()[-1].strip()
    elif line.rstrip().endswith(":") and others:
        line = f"{line.rstrip()} {others[0].strip()}"
    line = line or type(error).__name__
    return line if len(line) <= _LONGEST_REASON else line[:_LONGEST_REASON] + "…"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """The error for a name that is not in a registry.

    >>> str(unknown_name("model", "gnc", ["gcn", "gat"]))
    "Unknown model 'gnc'. Choose from: gat, gcn. Did you mean 'gcn'?"
    """
    known = sorted(known)
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ConfigError(f"Unknown {kind} {name!r}. Choose from: {', '.join(known)}.{hint}")
