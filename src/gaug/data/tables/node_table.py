"""Tables with one row per node; a first row whose id belongs to no node is a header."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.open_table import open_table
from gaug.data.tables.table import Table, is_number
from gaug.data.tables.text_table import TextTable

# At least this share of the other rows must belong to known nodes.
_KNOWN_SHARE = 0.9


def open_node_table(
    path: Path, columns: ColumnChoice, known: NodeIds | None, *roles: str
) -> tuple[Table, int]:
    """The table in a file, and the number of its column of ids.

    Among texts a header looks like any other row; the node ids of other files tell them apart.

    Args:
        path: The file.
        columns: Which columns mean what.
        known: Node ids in other files, if any.
        roles: Columns besides the id that the user may have named in this file.
    """
    table = open_table(path, columns.names("id", *roles))
    column = columns.id_column(table)
    if known is not None and isinstance(table, TextTable) and table.names is None:
        first_rows = next(table.chunks())
        texts = first_rows[column]
        assert not isinstance(texts, np.ndarray)
        if is_header_among(texts, known):
            table = table.with_header([str(cells[0]) for cells in first_rows])
    return table, column


def is_header_among(texts: Sequence[str], known: NodeIds) -> bool:
    """Whether the first of some ids belongs to no node, and nearly all others do."""
    if len(texts) < 2 or is_number(texts[0]):
        return False
    found = known.positions(texts) >= 0
    return not found[0] and float(found[1:].mean()) >= _KNOWN_SHARE
