"""Features from a table: numbers as they are, gaps filled, categories one-hot.

The table is streamed, and each part of it kept sparse where it is mostly zeros. Whether a column
holds numbers or categories is known only at its end, so texts are read in a second pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from torch import Tensor

from gaug.data.node_ids import NodeIds
from gaug.data.tables import Column, Table, as_texts, is_missing, is_number, shown
from gaug.errors import DataError
from gaug.graph import SPARSE_BELOW, from_scipy

Block = np.ndarray | scipy.sparse.csr_matrix

# A column with more texts than this is a name or a sentence, not a category.
_MOST_CATEGORIES = 1000


@dataclass(frozen=True)
class NodeFeatures:
    """Features as a file has them.

    Attributes:
        x: Dense or ``torch.sparse_csr``.  [N, F]
        ids: The node of each row; None where rows are nodes in their order.
        names: A name for each column; may be empty.
        notes: What was done to them.
    """

    x: Tensor
    ids: NodeIds | None
    names: tuple[str, ...]
    notes: tuple[str, ...]


def features_of_table(table: Table, id_column: int, dropped: list[int]) -> NodeFeatures:
    """Features from a table with a column of node ids.

    Args:
        table: One row a node.
        id_column: Number of the column of ids.
        dropped: Numbers of columns to leave out.

    Raises:
        DataError: At a text among numbers, an infinite number, or a column of too many texts.
    """
    used = [column for column in range(table.width) if column not in {id_column, *dropped}]
    if not used:
        raise DataError(f"{table.path} must have a column of features beside the node ids.")
    seen = [_Seen(table, column) for column in used]
    texts: list[str] = []
    blocks: list[Block] = []
    for chunk in table.chunks():
        blocks.append(_compact(_numbers([chunk[column] for column in used], seen)))
        texts.extend(as_texts(chunk[id_column]))
    if not texts:
        raise DataError(f"{table.path} holds no row but its header.")
    ids = NodeIds.unique(texts, lambda row: table.place(row, id_column), str(table.path))
    for column in seen:
        column.check()
    notes = [note for column in seen for note in column.notes()]
    numeric = [i for i, column in enumerate(seen) if column.holds_numbers]
    means = np.array([seen[i].mean for i in numeric])
    parts: list[Block] = [_filled(_stacked(blocks)[:, numeric], means)]
    names = [table.column_name(seen[i].number) for i in numeric]
    categorical = [column for column in seen if column.holds_texts]
    for column, cells in zip(
        categorical, table.texts(*(column.number for column in categorical)), strict=True
    ):
        block, categories = _one_hot(cells, column)
        parts.append(block)
        name = table.column_name(column.number)
        names += [f"{name}={category}" for category in categories]
        notes.append(f"Made column {column.title} one-hot: {len(categories):,} categories.")
    if not names:
        raise DataError(f"{table.path} must have a column with a value in it.")
    return NodeFeatures(_as_tensor(parts), ids, tuple(names), tuple(notes))


class _Seen:
    """What one column of a table was seen to hold."""

    def __init__(self, table: Table, number: int) -> None:
        self.table, self.number = table, number
        self.total = self.missing = self.texts = 0
        self.first_text = -1  # row of the first text, and what it is
        self.example = ""
        self.sum = 0.0

    @property
    def title(self) -> str:
        return self.table.column_title(self.number)

    @property
    def holds_texts(self) -> bool:
        return self.texts > 0

    @property
    def holds_numbers(self) -> bool:
        return self.texts == 0 and self.missing < self.total

    @property
    def mean(self) -> float:
        return self.sum / max(1, self.total - self.missing)

    def add(self, cells: Column) -> np.ndarray:
        """Some more cells, as numbers; NaN where there is none.  [n]"""
        start, self.total = self.total, self.total + len(cells)
        try:
            # As objects: an array of texts makes all of them as long as the longest.
            objects = cells if isinstance(cells, np.ndarray) else np.array(cells, dtype=object)
            values = objects.astype(np.float64)
        except ValueError:  # there are gaps or texts
            values = np.array([self._number(row, cell) for row, cell in enumerate(cells, start)])
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32)
        unknown = np.isnan(narrow)
        self.missing += int(unknown.sum())
        known = np.where(unknown, 0.0, values)
        if np.isinf(narrow).any():
            row = int(np.flatnonzero(np.isinf(narrow))[0])
            raise DataError(
                f"{self.table.place(start + row, self.number)}: a feature must be a finite number,"
                f" got {shown(str(cells[row]))}."
            )
        self.sum += float(known.sum())
        return narrow

    def _number(self, row: int, cell: str) -> float:
        if is_missing(cell):
            return np.nan
        try:
            return float(cell)
        except ValueError:
            if not self.texts:
                self.first_text, self.example = row, cell
            self.texts += 1
            return np.nan

    def check(self) -> None:
        """Raise at a text in a column of numbers."""
        numbers = self.total - self.missing  # texts count as missing numbers
        if self.texts and self.texts < numbers:
            raise DataError(
                f"{self.table.place(self.first_text, self.number)}: most rows have a number here,"
                f" got {shown(self.example)}. Correct it, or leave the cell empty."
            )
        if self.texts and is_number(self.example.replace(",", ".")):
            raise DataError(
                f"{self.table.place(self.first_text, self.number)}: a number must have a decimal"
                f" point, got {shown(self.example)}. Replace the commas."
            )

    def notes(self) -> list[str]:
        if self.holds_texts:
            return []
        if not self.holds_numbers:
            return [f"Left out column {self.title}: it holds no value."]
        if self.missing:
            return [
                f"Filled {self.missing:,} missing values of column {self.title} with its mean,"
                f" {self.mean:.4g}."
            ]
        return []


def _numbers(columns: list[Column], seen: list[_Seen]) -> np.ndarray:
    found = [column.add(cells) for column, cells in zip(seen, columns, strict=True)]
    return np.stack(found, axis=1)


def _compact(block: np.ndarray) -> Block:
    if np.count_nonzero(block) < SPARSE_BELOW * block.size:
        return scipy.sparse.csr_matrix(block)
    return block


def _stacked(blocks: list[Block]) -> Block:
    dense = [block for block in blocks if isinstance(block, np.ndarray)]
    if len(dense) == len(blocks):
        return np.concatenate(dense)
    sparse = [scipy.sparse.csr_matrix(block) for block in blocks]
    return scipy.sparse.csr_matrix(scipy.sparse.vstack(sparse, format="csr"))


def _filled(block: Block, means: np.ndarray) -> Block:
    """Means in the place of NaN."""
    if isinstance(block, np.ndarray):
        return np.where(np.isnan(block), means.astype(np.float32), block)
    unknown = np.isnan(block.data)
    block.data[unknown] = means[block.indices[unknown]]
    return block


def _one_hot(cells: list[str], column: _Seen) -> tuple[scipy.sparse.csr_matrix, list[str]]:
    """A column of ones and zeros for each category; only zeros where there is none."""
    texts = pd.Series(cells, dtype=object)
    known = ~texts.map(is_missing).to_numpy(dtype=bool)
    categories = sorted(set(texts[known]))
    if len(categories) > _MOST_CATEGORIES:
        raise DataError(
            f"{column.table.path}, column {column.title} holds {len(categories):,} different texts;"
            f" up to {_MOST_CATEGORIES:,} are taken as categories. Leave it out by --column"
            f" drop={column.table.column_name(column.number)}, or turn it into numbers."
        )
    code = pd.Index(categories, dtype=object).get_indexer(texts)
    rows = np.flatnonzero(known)
    ones = np.ones(rows.size, dtype=np.float32)
    shape = (len(cells), len(categories))
    return scipy.sparse.csr_matrix((ones, (rows, code[known])), shape=shape), categories


def _as_tensor(parts: list[Block]) -> Tensor:
    parts = [part for part in parts if part.shape[1]]
    dense = [part for part in parts if isinstance(part, np.ndarray)]
    if len(dense) == len(parts):
        return torch.from_numpy(np.ascontiguousarray(np.concatenate(dense, axis=1)))
    sparse = [scipy.sparse.csr_matrix(part) for part in parts]
    matrix = scipy.sparse.csr_matrix(scipy.sparse.hstack(sparse, format="csr"))
    if matrix.nnz >= SPARSE_BELOW * matrix.shape[0] * matrix.shape[1]:
        return torch.from_numpy(matrix.toarray())
    return from_scipy(matrix)
