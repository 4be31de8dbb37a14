"""What all of the user's tables share, whatever their format: named columns of texts or numbers."""

from __future__ import annotations

import abc
import contextlib
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gaug.errors import DataError

#: One column of some rows: texts, or numbers where the file itself says that it holds numbers.
Column = Sequence[str] | np.ndarray

#: What stands for a missing value, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})

_SHOWN_CHARACTERS = 40


@dataclass(frozen=True)
class Table(abc.ABC):
    """Rows of equal width, read anew each time they are asked for.

    Attributes:
        path: The file.
        names: The header, or None.
        width: Number of columns.
    """

    path: Path
    names: tuple[str, ...] | None
    width: int

    @abc.abstractmethod
    def chunks(self) -> Iterator[list[Column]]:
        """The columns of some rows at a time, cells without white space around them."""

    @abc.abstractmethod
    def place(self, row: int, column: int | None = None) -> str:
        """Where a cell stands, for an error.

        Args:
            row: Number of the row, from 0, a header not counted.
            column: Number of the column, from 0, if it is about one.
        """

    def texts(self, *columns: int) -> list[list[str]]:
        """Whole columns as texts."""
        found: list[list[str]] = [[] for _ in columns]
        with garbage_kept():
            for chunk in self.chunks():
                for column, cells in zip(columns, found, strict=True):
                    cells.extend(as_texts(chunk[column]))
        return found

    def column_title(self, column: int) -> str:
        """A column in an error: its name in quotes if it has one, else its number from 1."""
        name = self.column_name(column)
        return shown(name) if self.names is not None and self.names[column] else name

    def column_name(self, column: int) -> str:
        """The name of a column if it has one, else its number from 1."""
        return (self.names[column] if self.names is not None else "") or str(column + 1)

    def find_column(self, wanted: str) -> int:
        """The number of a column by its name or, from 1, by its number."""
        if self.names is not None and wanted in self.names:
            return self.names.index(wanted)
        if wanted.isdecimal() and 1 <= int(wanted) <= self.width:
            return int(wanted) - 1
        known = (
            f"numbers 1 to {self.width}; its first row is no header"
            if self.names is None
            else ", ".join(map(shown, self.names[:20])) + (", …" if self.width > 20 else "")
        )
        raise DataError(f"{self.path} has no column {shown(wanted)}. It has: {known}.")


@contextlib.contextmanager
def garbage_kept() -> Iterator[None]:
    """Without the cyclic garbage collector, which would look at all objects for every few rows.

    Rows make no cycles, so that nothing waits for it; reading takes half the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def as_texts(column: Column) -> Sequence[str]:
    """A column as texts; a whole number has no point, a missing one is empty."""
    if not isinstance(column, np.ndarray):
        return column
    if column.dtype.kind in "iub":
        return list(map(str, column.tolist()))
    return [
        "" if value != value else str(int(value)) if value.is_integer() else repr(value)
        for value in column.tolist()
    ]


def shown(text: str) -> str:
    """The user's text in quotes for an error, shortened if it is long, its line ends escaped."""
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_missing(text: str) -> bool:
    """Whether a cell stands for a missing value."""
    return text.lower() in MISSING
