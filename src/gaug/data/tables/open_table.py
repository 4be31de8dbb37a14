"""The table in a file, by the suffix of its name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gaug.data.tables.parquet_table import ParquetTable
from gaug.data.tables.table import Table
from gaug.data.tables.text_lines import plain_suffix
from gaug.data.tables.text_table import TextTable


def open_table(path: Path, wanted_names: Iterable[str] = ()) -> Table:
    """The table in a file: Parquet by its suffix, else text with any delimiter.

    Args:
        path: The file.
        wanted_names: Names of columns that the user gave: they tell a header from a first row.
    """
    if plain_suffix(path) == ".parquet":
        return ParquetTable.of(path)
    return TextTable.of(path, wanted_names)
