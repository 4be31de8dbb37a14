"""A split from a file, in the user's node ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch_geometric.data import Data

from gaug.data.config import PARTS
from gaug.data.node_ids import NodeIds
from gaug.data.splits import Split, checked_split, read_split
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.node_table import open_node_table
from gaug.data.tables.table import is_missing, shown
from gaug.errors import DataError

_WORDS = {
    "train": "train", "training": "train",
    "val": "val", "valid": "val", "validation": "val", "dev": "val",
    "test": "test", "testing": "test",
}  # fmt: skip


def read_split_file(
    path: Path, data: Data, ids: NodeIds, columns: ColumnChoice | None = None
) -> Split:
    """The split in a file: a table of nodes and parts, or arrays ``train``, ``val`` and ``test``.

    Args:
        path: ``.npz``, ``.parquet`` or text; in a table the second column is ``train``, ``val`` or
            ``test``, or empty for a node that is in no part.
        data: The graph.
        ids: The ids of its nodes.
        columns: Which column holds the ids.
    """
    if path.suffix.lower() == ".npz":
        return read_split(path, data, ids)
    parts = _parts_of_table(path, data, ids, columns or ColumnChoice())
    return checked_split(path.name.split(".")[0], parts, data, ids)


def _parts_of_table(
    path: Path, data: Data, ids: NodeIds, columns: ColumnChoice
) -> list[np.ndarray]:
    table, id_column = open_node_table(path, columns, ids)
    if table.width < 2:
        raise DataError(f"{path} must have two columns, a node and its part, got one.")
    names = table.names or ()
    by_name = [names.index(name) for name in ("split", "part", "set") if name in names]
    part_column = by_name[0] if by_name else int(id_column == 0)
    texts, words = table.texts(id_column, part_column)
    NodeIds.unique(texts, lambda row: table.place(row, id_column), str(path))
    nodes = ids.positions(texts, lambda row: table.place(row, id_column))
    unlabeled = (data.y < 0).numpy() if data.y.dim() == 1 else np.zeros(len(ids), dtype=bool)
    found: dict[str, list[int]] = {part: [] for part in PARTS}
    for row, (node, word) in enumerate(zip(nodes.tolist(), words, strict=True)):
        if is_missing(word):
            continue
        part = _WORDS.get(word.lower())
        if part is None:
            raise DataError(
                f"{table.place(row, part_column)}: a part must be train, val or test, or be empty,"
                f" got {shown(word)}."
            )
        if unlabeled[node]:
            raise DataError(
                f"{table.place(row)}: node {shown(texts[row])} of the {part} part has no label."
            )
        found[part].append(node)
    return [np.array(found[part], dtype=np.int64) for part in PARTS]
