"""Edges from a file, in the user's node ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gaug.data.files.arrays import only_array, read_npy, read_npz, sparse_matrix
from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.node_table import is_header_among
from gaug.data.tables.open_table import open_table
from gaug.data.tables.table import Table, shown
from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import DataError

_SAMPLE = 1000
_SOURCES = ("source", "src", "from")
_TARGETS = ("target", "dst", "to")


@dataclass(frozen=True)
class EdgeCells:
    """Edges as a file has them.

    Attributes:
        path: The file.
        source: Ids of one end.
        target: Ids of the other end.
        weight: A weight for each, or None.
        place: Says where an edge stands, for errors: of its source (0) or its target (1).
        notes: What was done.
    """

    path: Path
    source: list[str]
    target: list[str]
    weight: np.ndarray | None
    place: Callable[[int, int], str]
    notes: tuple[str, ...] = ()

    def data(self, ids: NodeIds) -> Data:
        """The edges as they are, between numbered nodes.

        Raises:
            DataError: At an edge to an unknown node, with its line and column.
        """
        ends = [
            ids.positions(texts, lambda row, end=end: self.place(row, end))  # type: ignore[misc]
            for end, texts in enumerate((self.source, self.target))
        ]
        data = Data(edge_index=torch.from_numpy(np.stack(ends)), num_nodes=len(ids))
        if self.weight is not None:
            data.edge_weight = torch.from_numpy(self.weight.astype(np.float32))
        return data

    def without_header(self, ids: NodeIds) -> EdgeCells:
        """Without a first row that is a header, as the ids of the nodes tell."""
        sample = slice(0, _SAMPLE)
        if not all(is_header_among(texts[sample], ids) for texts in (self.source, self.target)):
            return self
        note = f"Took the first row of {self.path.name} as a header."
        return EdgeCells(
            path=self.path,
            source=self.source[1:],
            target=self.target[1:],
            weight=None if self.weight is None else self.weight[1:],
            place=lambda row, end: self.place(row + 1, end),
            notes=(*self.notes, note),
        )

    def check_ids(self) -> None:
        """Raise at an end without an id."""
        for end, texts in enumerate((self.source, self.target)):
            if "" in texts:
                raise DataError(
                    f"{self.place(texts.index(''), end)}: an edge must have two node ids, got an"
                    " empty cell. Fill it in, or leave the edge out."
                )


def read_edges(path: Path, columns: ColumnChoice) -> EdgeCells:
    """Edges from a table with a source and a target in each row, or from an array.

    Args:
        path: ``.npy`` or ``.npz`` (pairs of numbers, or an adjacency by `scipy.sparse.save_npz`),
            ``.parquet``, or text.
        columns: Which columns hold the ends and a weight.
    """
    suffix = plain_suffix(path)
    if suffix in (".npy", ".npz"):
        return _edges_of_arrays(path, suffix)
    table = open_table(path, columns.names("source", "target", "weight"))
    if table.width < 2:
        raise DataError(
            f"{path} must have two columns, source and target, got one. Separate them by a comma,"
            " a semicolon, a tab, a bar or a space."
        )
    source, target = _ends(table, columns)
    weight, dropped = columns.find(table, "weight"), columns.find_all_present(table, "drop")
    if weight is None and table.names is not None and "weight" in table.names:
        found = table.names.index("weight")
        weight = None if found in dropped else found
    texts = table.texts(source, target, *([] if weight is None else [weight]))
    ends = (source, target)
    left_out = [c for c in range(table.width) if c not in (*ends, weight, *dropped)]
    notes = []
    if left_out:
        listed = ", ".join(table.column_title(column) for column in left_out[:5])
        notes.append(
            f"Left out of {path.name} what is neither source, target nor weight: column {listed}"
            f"{', …' if len(left_out) > 5 else ''}. To take one as weight, choose weight=NAME."
        )
    return EdgeCells(
        path=path,
        source=texts[0],
        target=texts[1],
        weight=None if weight is None else _weights(texts[2], table, weight),
        place=lambda row, end: table.place(row, ends[end]),
        notes=tuple(notes),
    )


def _ends(table: Table, columns: ColumnChoice) -> tuple[int, int]:
    """As the user says, else by well-known names, else the first two."""
    names = [name.lower() for name in table.names or ()]
    known = [
        next((names.index(name) for name in words if name in names), None)
        for words in (_SOURCES, _TARGETS)
    ]
    both_known = None not in known
    found: list[int] = []
    for end, role in enumerate(("source", "target")):
        column = columns.find(table, role)
        if column is None and both_known:
            column = known[end]
        found.append(end if column is None else column)
    if found[0] == found[1]:
        raise DataError(
            f"{table.path}: source and target must be two columns, got"
            f" {table.column_title(found[0])} for both. Name both.",
            topic="end-columns",
        )
    return found[0], found[1]


def _weights(cells: list[str], table: Table, column: int) -> np.ndarray:
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            values[row] = float(cell)
        except ValueError:
            values[row] = np.nan
        if not 0 <= values[row] < np.finfo(np.float32).max:
            raise DataError(
                f"{table.place(row, column)}: a weight must be a number that is finite and not"
                f" negative, got {shown(cell)}."
            )
    return values


def _edges_of_arrays(path: Path, suffix: str) -> EdgeCells:
    arrays = {path.stem: read_npy(path)} if suffix == ".npy" else read_npz(path)
    matrix = sparse_matrix(path, arrays)
    if matrix is not None:
        if matrix.shape[0] != matrix.shape[1]:
            raise DataError(f"{path}: an adjacency must be square, got {list(matrix.shape)}.")
        entries = matrix.tocoo()
        pairs = np.stack([entries.row, entries.col])
        weight = np.asarray(entries.data, dtype=np.float64)
    else:
        pairs, weight = _pairs(path, arrays), np.ones(0)
    if weight.size and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise DataError(f"{path}: weights must be finite and not negative.")
    return EdgeCells(
        path=path,
        source=list(map(str, pairs[0].tolist())),
        target=list(map(str, pairs[1].tolist())),
        weight=weight if (weight != 1).any() else None,
        place=lambda row, end: f"{path}, edge {row:,} (from 0)",
    )


def _pairs(path: Path, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Two rows of whole numbers, from an array that lies this way or the other."""
    array = only_array(path, arrays, ("edge_index", "edges"))
    if array.ndim != 2 or 2 not in array.shape or array.dtype.kind not in "iuU":
        raise DataError(
            f"{path} must hold pairs of node ids, two rows or two columns, got {array.dtype} of"
            f" shape {list(array.shape)}."
        )
    return array if array.shape[0] == 2 else array.T
