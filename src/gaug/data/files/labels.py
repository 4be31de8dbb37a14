"""Labels from a file: one class per node, or several labels per node as columns of 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from gaug.data.files.arrays import read_npy
from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.node_table import open_node_table
from gaug.data.tables.table import Table, as_texts, is_missing, is_number, shown
from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import DataError

_LABELS = ("label", "labels", "class", "y")
# More different labels than this, with hardly two nodes each, are not classes.
_MANY_CLASSES = 20


@dataclass(frozen=True)
class LabelCells:
    """Labels as a file has them.

    Attributes:
        path: The file.
        ids: Ids of the nodes; None where rows are nodes in their order.
        columns: The class of each row, or a column of 0 and 1 for each of several labels.
        names: Names of the columns.
        place: Says where a cell stands, by row and by number in ``columns``; None is the id.
    """

    path: Path
    ids: list[str] | None
    columns: list[list[str]]
    names: list[str]
    place: Callable[[int, int | None], str]

    def attach(self, ids: NodeIds, notes: list[str]) -> tuple[Tensor, tuple[str, ...]]:
        """Labels ``y`` of all nodes, -1 where there is none, and the names of the classes.

        Raises:
            DataError: If a label is for an unknown node, or a node has two.
        """
        rows = self._positions(ids)
        if len(self.columns) > 1:
            return self._several(rows, len(ids)), tuple(self.names)
        cells = pd.Series(self.columns[0], dtype=object)
        known = ~cells.map(is_missing).to_numpy(dtype=bool)
        classes = _sorted_classes(set(cells[known]))
        if classes[:1] == ["-1"]:
            known &= (cells != "-1").to_numpy(dtype=bool)
            classes = classes[1:]
            notes.append("Took the label -1 as unknown.")
        if not classes:
            raise DataError(f"{self.path} holds no label.")
        count = int(known.sum())
        if len(classes) > _MANY_CLASSES and len(classes) * 2 > count:
            raise DataError(
                f"{self.path}: {len(classes):,} different labels for {count:,} nodes are not"
                " classes. Choose the column of classes.",
                topic="label-column",
            )
        y = np.full(len(ids), -1, dtype=np.int64)
        code = pd.Index(classes, dtype=object).get_indexer(cells)
        y[rows[known]] = code[known]
        if count < len(ids):
            notes.append(
                f"{count:,} of {len(ids):,} nodes have a label; the others are what to predict."
            )
        alone = [classes[number] for number in np.flatnonzero(np.bincount(code[known]) == 1)]
        if alone:
            notes.append(
                f"Classes with a single labeled node, which can train or test but not both:"
                f" {', '.join(map(shown, alone[:5]))}{', …' if len(alone) > 5 else ''}."
            )
        return torch.from_numpy(y), tuple(classes)

    def _positions(self, ids: NodeIds) -> np.ndarray:
        if self.ids is None:
            rows = len(self.columns[0])
            if rows != len(ids):
                raise DataError(
                    f"{self.path} has {rows:,} rows, and the graph {len(ids):,} nodes. Labels"
                    " without node ids must be one per node; give the id in the first column."
                )
            return np.arange(len(ids))
        NodeIds.unique(self.ids, lambda row: self.place(row, None), str(self.path))
        return ids.positions(self.ids, lambda row: self.place(row, None))

    def _several(self, rows: np.ndarray, num_nodes: int) -> Tensor:
        if rows.size < num_nodes:
            raise DataError(
                f"{self.path} has {rows.size:,} rows, and the graph {num_nodes:,} nodes: with"
                " several labels per node, each node must have its row."
            )
        y = np.zeros((num_nodes, len(self.columns)), dtype=np.float32)
        for number, cells in enumerate(self.columns):
            y[rows, number] = np.array(cells, dtype=object) == "1"
        return torch.from_numpy(y)


def read_labels(path: Path, columns: ColumnChoice, known: NodeIds | None = None) -> LabelCells:
    """Labels from a table or an ``.npy`` array.

    With one column, rows are nodes in their order; with two, the first is the id and the second the
    class; with more, all but the id must hold 0 and 1, or one be chosen.

    Args:
        path: The file.
        columns: Which columns hold the ids and the class.
        known: Ids that other files have, which tell a header.
    """
    if plain_suffix(path) == ".npy":
        return _labels_of_array(path)
    table, id_column = open_node_table(path, columns, known, "label")
    chosen = columns.find(table, "label")
    if table.width == 1:
        (cells,) = table.texts(0)
        return _cells(table, None, None, [0], [cells])
    if chosen is None and table.width > 2 and table.names is not None:
        names = [name.lower() for name in table.names]
        chosen = next((names.index(name) for name in _LABELS if name in names), None)
    used = [c for c in range(table.width) if c != id_column] if chosen is None else [chosen]
    ids, *found = table.texts(id_column, *used)
    if len(used) > 1:
        for number, cells in enumerate(found):
            bad = next((row for row, cell in enumerate(cells) if cell not in ("0", "1")), None)
            if bad is not None:
                raise DataError(
                    f"{table.place(bad, used[number])}: several columns of labels must hold 0 and"
                    f" 1, got {shown(cells[bad])}. Or choose one.",
                    topic="label-column",
                )
    return _cells(table, id_column, ids, used, found)


def _cells(
    table: Table,
    id_column: int | None,
    ids: list[str] | None,
    used: list[int],
    found: list[list[str]],
) -> LabelCells:
    if not found[0]:
        raise DataError(f"{table.path} holds no row but its header.")

    def place(row: int, number: int | None) -> str:
        return table.place(row, id_column if number is None else used[number])

    names = [table.column_name(column) for column in used]
    return LabelCells(table.path, ids, found, names, place)


def _labels_of_array(path: Path) -> LabelCells:
    array = read_npy(path)
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufU" or array.size == 0:
        raise DataError(
            f"{path} must hold one class per node, or a row of 0 and 1, got {array.dtype} of shape"
            f" {list(array.shape)}."
        )
    matrix = array.reshape(len(array), -1)
    if matrix.shape[1] > 1 and not ((matrix == 0) | (matrix == 1)).all():
        raise DataError(f"{path}: several columns of labels must hold 0 and 1.")
    plain = matrix if matrix.dtype.kind in "iufU" else matrix.astype(np.int64)
    columns = [
        list(map(str, column.tolist())) if plain.dtype.kind == "U" else list(as_texts(column))
        for column in plain.T
    ]
    return LabelCells(
        path=path,
        ids=None,
        columns=columns,
        names=[str(number) for number in range(matrix.shape[1])],
        place=lambda row, number: f"{path}, row {row:,} (from 0)",
    )


def _sorted_classes(names: set[str]) -> list[str]:
    """Sorted as numbers if all are numbers, else alphabetically."""
    if all(is_number(name) for name in names):
        return sorted(names, key=lambda name: (float(name), name))
    return sorted(names)
