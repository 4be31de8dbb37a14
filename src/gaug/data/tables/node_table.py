"""Tables with a row a node: a first row whose id is no node's is a header."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.open_table import open_table
from gaug.data.tables.table import Table, is_number
from gaug.data.tables.text_table import TextTable

# Of the other rows, so large a share must be of known nodes.
_KNOWN_SHARE = 0.9


def open_node_table(
    path: Path, columns: ColumnChoice, known: NodeIds | None, *roles: str
) -> tuple[Table, int]:
    """The table in a file, and the number of its column of ids.

    Between texts a header looks like any row. Here the ids of nodes that other files have tell.

    Args:
        path: The file.
        columns: Which columns mean what.
        known: Ids that other files have, if any.
        roles: Which columns, beside the id, the user may have named in this file.
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
    """Whether the first of some ids is no node's, and the others are."""
    if len(texts) < 2 or is_number(texts[0]):
        return False
    found = known.positions(texts) >= 0
    return not found[0] and float(found[1:].mean()) >= _KNOWN_SHARE
