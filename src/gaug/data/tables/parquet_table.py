"""A table in a Parquet file, read through pyarrow where that is installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaug.data.tables.table import Column, Table, shown
from gaug.data.tables.text_lines import check_file
from gaug.errors import ConfigError, DataError, reason_of

_ROWS_A_CHUNK = 20_000
# Parquet packs a constant column into a few bytes: so many cells are read at most for a byte of
# the file, and so many whatever its size.
_CELLS = 50_000_000
_CELLS_A_BYTE = 20


@dataclass(frozen=True)
class ParquetTable(Table):
    """Rows of a Parquet file; columns of numbers come as numbers."""

    @classmethod
    def of(cls, path: Path) -> ParquetTable:
        """The table in a file."""
        with _opened(path) as file:
            names = tuple(file.schema_arrow.names)
            rows = file.metadata.num_rows
            if not names or not rows:
                raise DataError(f"{path} holds no row.")
            repeated = [name for name in names if names.count(name) > 1]
            if repeated:
                raise DataError(f"{path}: two columns have the name {shown(repeated[0])}.")
            most = _CELLS + _CELLS_A_BYTE * path.stat().st_size
            if rows * len(names) > most:
                raise DataError(
                    f"{path} claims {rows:,} rows of {len(names):,} columns, far more than its size"
                    " suggests. Save mostly empty features as a sparse .npz file."
                )
            return cls(path, names, len(names))

    def chunks(self) -> Iterator[list[Column]]:
        """The columns of some rows at a time."""
        with _opened(self.path) as file:
            for batch in file.iter_batches(batch_size=_ROWS_A_CHUNK, use_threads=False):
                yield [self._column(batch, number) for number in range(self.width)]

    def place(self, row: int, column: int | None = None) -> str:
        """Where a cell stands: the file, the row from 1 and the column."""
        where = f"{self.path}, row {row + 1:,}"
        return where if column is None else f"{where}, column {self.column_title(column)}"

    def _column(self, batch: Any, number: int) -> Column:
        import pyarrow
        from pyarrow import types

        column = batch.column(number)
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if types.is_integer(kind) and column.null_count == 0:
            return np.asarray(column.to_numpy(zero_copy_only=False))
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
            numbers = column.cast(pyarrow.float64(), safe=False)
            return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        if types.is_null(kind):
            return np.full(len(column), np.nan)
        if types.is_string(kind) or types.is_large_string(kind):
            return ["" if text is None else text.strip() for text in column.to_pylist()]
        raise DataError(
            f"{self.path}, column {self.column_title(number)}: a column must hold numbers or"
            f" texts, got {kind}."
        )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    check_file(path)
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigError(
            f"{path} needs pyarrow, which is not installed: pip install 'gaug[parquet]'."
        ) from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except DataError:
        raise
    except Exception as error:  # a damaged file makes the parser raise anything
        raise DataError(f"{path} is no readable Parquet file ({reason_of(error)}).") from error
