"""A table in a text file: its delimiter and header are found, its rows are checked and streamed."""

from __future__ import annotations

import collections
import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gaug.data.tables.table import Column, Table, is_missing, is_number, shown
from gaug.data.tables.text_lines import check_unpacked_size, lines_of, text_blocks
from gaug.errors import DataError

# In the order of preference where several fit; None is any run of white space.
_DELIMITERS: tuple[str | None, ...] = ("\t", ";", "|", ",", None)
_SPACES = (" ", "\t", "\xa0")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SAMPLE_LINES = 100
_SAMPLE_CHARACTERS = 200_000
_SAMPLE_CELLS = 20_000
_WIDEST = 1_000_000
# Rows at a time: few enough to stay in a processor's cache, some dozens where rows are wide.
_CELLS_A_CHUNK = 20_000
_ROWS_A_CHUNK = 64
_MOST_CELLS_A_CHUNK = 2_000_000

# A first row with one of these in its first or second cell is a header, whatever follows.
_FIRST_NAMES = {"id", "node", "nodes", "node_id", "nodeid", "source", "src", "from", "vertex"}
_SECOND_NAMES = {"label", "labels", "class", "target", "dst", "split"}


@dataclass(frozen=True)
class TextTable(Table):
    """Rows of equal width from a text file, read anew each time they are asked for.

    Attributes:
        delimiter: What separates its cells; None is any run of white space.
    """

    delimiter: str | None

    @classmethod
    def of(cls, path: Path, wanted_names: Iterable[str] = ()) -> TextTable:
        """The table in a file.

        Args:
            path: The file, plain or compressed.
            wanted_names: Names of columns that the user gave: a first row with one of them is a
                header.
        """
        check_unpacked_size(path)
        sample = [line for _, line in _sample(_content(path), _SAMPLE_CHARACTERS)]
        if not sample:
            raise DataError(f"{path} holds no row.")
        delimiter = _find_delimiter([line[:_SAMPLE_CHARACTERS] for line in sample])
        rows = [row for _, row in _sample(_rows(path, delimiter), _SAMPLE_CELLS)]
        if len(rows[0]) > _WIDEST:
            raise DataError(
                f"{path}: a row must have at most {_WIDEST:,} cells, the first has"
                f" {len(rows[0]):,}. Save wide features as a sparse .npz file."
            )
        first, rest = [cell.strip() for cell in rows[0]], rows[1:]
        header = _is_header(first, rest, set(wanted_names))
        if header:
            repeated = [name for name, n in collections.Counter(first).items() if n > 1 and name]
            if repeated:
                raise DataError(f"{path}: two columns have the name {shown(repeated[0])}.")
        return cls(path, tuple(first) if header else None, len(first), delimiter)

    def with_header(self, names: Iterable[str]) -> TextTable:
        """The same table, its first row taken as a header."""
        return TextTable(self.path, tuple(names), self.width, self.delimiter)

    def chunks(self) -> Iterator[list[Column]]:
        """The columns of some rows at a time, cells without white space around them.

        Raises:
            DataError: At a row that is wider or narrower than the first, with its line.
        """
        around = _SpaceWatch(self.delimiter)
        wrong = False

        def fits(row: list[str]) -> bool:
            nonlocal wrong
            wrong = len(row) != self.width
            return not wrong

        # At the first row of a wrong width reading ends: many wide ones would fill the memory.
        rows = itertools.takewhile(fits, _reader(around.lines(self.path), self.delimiter))
        wide = min(_ROWS_A_CHUNK, _MOST_CELLS_A_CHUNK // self.width)
        size = max(1, wide, _CELLS_A_CHUNK // self.width)
        start = 0 if self.names is None else 1
        try:
            while chunk := list(itertools.islice(rows, size + start)):
                columns: list[Column] = list(zip(*chunk[start:], strict=True))
                if around.seen:
                    columns = [tuple(map(str.strip, cells)) for cells in columns]
                start = 0
                if columns:
                    yield columns
        except csv.Error:
            wrong = True
        if wrong:  # a slower pass, which counts lines, says where
            for _ in self._rows():
                pass

    def place(self, row: int, column: int | None = None) -> str:
        """Where a cell stands: the file, the line and the column."""
        line = next(itertools.islice((line for line, _ in self._rows()), row, None), None)
        where = f"{self.path}, line {line:,}" if line else str(self.path)
        return where if column is None else f"{where}, column {self.column_title(column)}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        rows = _rows(self.path, self.delimiter)
        if self.names is not None:
            next(rows)
        for line, row in rows:
            if len(row) != self.width:
                raise DataError(
                    f"{self.path}, line {line:,}: a row must have {self.width:,} cells as the first"
                    f" one has, got {len(row):,}."
                )
            yield line, row


class _SpaceWatch:
    """Lines of a file, and whether white space was seen that may stand around a cell."""

    def __init__(self, delimiter: str | None) -> None:
        self.seen = False
        # Between cells that white space separates there is none to take away.
        self.kinds = () if delimiter is None else tuple(c for c in _SPACES if c != delimiter)

    def lines(self, path: Path) -> Iterator[str]:
        """Lines without the comments at the head of a file and without blank lines."""
        at_head = True
        for block in text_blocks(path):
            self.seen = self.seen or any(space in block for space in self.kinds)
            lines = lines_of(block)
            if at_head:
                lines = itertools.dropwhile(_is_comment, lines)
                at_head = False
            yield from itertools.filterfalse(str.isspace, lines)


def _is_comment(line: str) -> bool:
    return line[0] in "#%" or line.isspace()


def _content(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without the comments at the head of a file and without blank lines."""
    lines = itertools.chain.from_iterable(map(lines_of, text_blocks(path)))
    numbered = itertools.dropwhile(lambda pair: _is_comment(pair[1]), enumerate(lines, start=1))
    return ((number, line) for number, line in numbered if not line.isspace())


def _reader(lines: Iterator[str], delimiter: str | None) -> Iterator[list[str]]:
    if delimiter is None:
        return map(str.split, lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)


def _rows(path: Path, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Cells of each row, with the number of the line where it starts."""
    start = 0

    def lines() -> Iterator[str]:
        nonlocal start
        for number, line in _content(path):
            start = start or number
            yield line

    reader = _reader(lines(), delimiter)
    while True:
        start = 0
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"{path}, line {start:,}: the row cannot be taken apart ({error}). Look for a quote"
                " that is not closed."
            ) from error
        yield start, row


_Item = TypeVar("_Item", bound=Sequence[object])


def _sample(items: Iterator[tuple[int, _Item]], most: int) -> Iterator[tuple[int, _Item]]:
    """The first items, until there are enough of them or they are long enough together."""
    total = 0
    for number, item in itertools.islice(items, _SAMPLE_LINES):
        yield number, item
        total += len(item)
        if total > most:
            return


def _find_delimiter(lines: list[str]) -> str | None:
    """The one that cuts most lines into the same number of cells, two at least.

    Where none does so for half of the lines, there is one column.
    """
    bare = [_QUOTED.sub("q", line.strip("\r\n")) for line in lines]

    def agreement(delimiter: str | None) -> int:
        widths = collections.Counter(len(line.split(delimiter)) for line in bare)
        return max((count for width, count in widths.items() if width > 1), default=0)

    best = max(_DELIMITERS, key=agreement)
    return best if 2 * agreement(best) > len(bare) else ","


def _is_header(first: list[str], rest: list[list[str]], wanted: set[str]) -> bool:
    """Whether the first row names the columns: by its words, or by how it differs from the rest."""
    if wanted & set(first):
        return True
    if is_number(first[0]):
        return False
    if first[0].lower() in _FIRST_NAMES or (len(first) > 1 and first[1].lower() in _SECOND_NAMES):
        return True
    if not rest:
        return False
    if not first[0] and all(first[1:]) and all(row and row[0].strip() for row in rest):
        return True
    numeric = [column for column in range(len(first)) if _holds_numbers(rest, column)]
    if 0 in numeric:
        return True  # a name above a column of numbered nodes
    return bool(numeric) and not any(
        is_number(first[column]) or is_missing(first[column]) for column in numeric
    )


def _holds_numbers(rows: list[list[str]], column: int) -> bool:
    cells = [row[column].strip() for row in rows if column < len(row)]
    known = [cell for cell in cells if not is_missing(cell)]
    return bool(known) and all(map(is_number, known))
