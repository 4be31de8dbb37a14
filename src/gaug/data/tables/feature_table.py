"""Features from a table: numbers as they are, gaps filled, categories one-hot.

The table is streamed, and each part of it kept sparse where it is mostly zeros. Whether a column
holds numbers or categories is known only at its end, so texts are read in a second pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from torch import Tensor

from gaug.data.node_ids import NodeIds
from gaug.data.tables.table import (
    Column,
    Table,
    as_texts,
    garbage_kept,
    is_missing,
    is_number,
    shown,
)
from gaug.errors import DataError
from gaug.graph.matrices import SPARSE_BELOW, from_scipy

Block = np.ndarray | scipy.sparse.csr_matrix

# A column with more texts than this is a name or a sentence, not a category.
_MOST_CATEGORIES = 1000

# Scaled columns are dense; larger tables than this are not made dense unless the user asks.
_MOST_SCALED = 50_000_000

# Columns whose largest values differ by more than this factor are of different scales.
_DIFFERENT_SCALES = 10


@dataclass(frozen=True)
class NodeFeatures:
    """Features as a file has them.

    Attributes:
        x: Dense or ``torch.sparse_csr``.  [N, F]
        ids: The node of each row; None where rows are nodes in their order.
        names: A name for each column; may be empty.
        notes: What was done to them.
        uneven: Whether columns of numbers are of very different scales.
        column_means: What stands for a missing number, by the name of its column.
    """

    x: Tensor
    ids: NodeIds | None
    names: tuple[str, ...]
    notes: tuple[str, ...]
    uneven: bool = False
    column_means: Mapping[str, float] = field(default_factory=dict)

    @property
    def default_scaling(self) -> str:
        """How to scale them unless told otherwise: by columns if that is due and affordable."""
        return "columns" if self.uneven and self.x.numel() <= _MOST_SCALED else "as-is"


def features_of_table(
    table: Table,
    id_column: int,
    dropped: list[int],
    column_means: Mapping[str, float] | None = None,
) -> NodeFeatures:
    """Features from a table with a column of node ids.

    Args:
        table: One row per node.
        id_column: Number of the column of ids.
        dropped: Numbers of columns to leave out.
        column_means: What to put where there is no number, by the column's name; None: its mean.

    Raises:
        DataError: At a text among numbers, an infinite number, or a column of too many texts.
    """
    used = [column for column in range(table.width) if column not in {id_column, *dropped}]
    if not used:
        raise DataError(f"{table.path} must have a column of features besides the node ids.")
    scan = _Scan(table, used)
    texts: list[str] = []
    blocks: list[Block] = []
    with garbage_kept():
        for chunk in table.chunks():
            blocks.append(_compact(scan.numbers([chunk[column] for column in used])))
            texts.extend(as_texts(chunk[id_column]))
    if not texts:
        raise DataError(f"{table.path} holds no row but its header.")
    ids = NodeIds.unique(texts, lambda row: table.place(row, id_column), str(table.path))
    scan.check()
    notes = scan.notes("mean of the fit" if column_means else "mean of their column")
    numeric = np.flatnonzero((scan.texts == 0) & (scan.known > 0))
    names = [table.column_name(used[i]) for i in numeric]
    own = (scan.sums / np.maximum(1, scan.known))[numeric]
    given = column_means or {}
    means = [given.get(name, mean) for name, mean in zip(names, own.tolist(), strict=True)]
    filled_by = dict(zip(names, means, strict=True))
    parts: list[Block] = [_filled(_stacked(blocks)[:, numeric], np.array(means))]
    uneven = _are_uneven(parts[0])
    categorical = [used[i] for i in np.flatnonzero(scan.texts)]
    for column, cells in zip(categorical, table.texts(*categorical), strict=True):
        block, categories = _one_hot(cells, table, column)
        parts.append(block)
        names += [f"{table.column_name(column)}={category}" for category in categories]
        notes.append(
            f"Made column {table.column_title(column)} one-hot: {len(categories):,} categories."
        )
    if not names:
        raise DataError(f"{table.path} must have a column with a value in it.")
    return NodeFeatures(_as_tensor(parts), ids, tuple(names), tuple(notes), uneven, filled_by)


class _Scan:
    """Turns cells into numbers, chunk by chunk, and remembers of each column what it held.

    Attributes:
        total: Rows so far.
        known: Cells with a number, by column.
        texts: Cells with a text that is no number, by column.
        sums: Sums of the numbers, by column.
    """

    def __init__(self, table: Table, columns: list[int]) -> None:
        self.table, self.columns = table, columns
        self.total = 0
        self.known = np.zeros(len(columns), dtype=np.int64)
        self.texts = np.zeros(len(columns), dtype=np.int64)
        self.sums = np.zeros(len(columns))
        self.first_text: dict[int, tuple[int, str]] = {}  # by column: its row, and what it is

    def numbers(self, chunk: list[Column]) -> np.ndarray:
        """The cells of some more rows as numbers, NaN where there is none.  [n, F]"""
        values = self._parse(chunk)
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32)
        infinite = np.isinf(narrow)
        if infinite.any():
            row, i = map(int, np.argwhere(infinite)[0])
            raise DataError(
                f"{self.table.place(self.total + row, self.columns[i])}: a feature must be a finite"
                f" number, got {shown(str(chunk[i][row]))}."
            )
        unknown = np.isnan(narrow)
        self.known += (~unknown).sum(axis=0)
        self.sums += np.where(unknown, 0.0, values).sum(axis=0)
        self.total += len(values)
        return narrow

    def _parse(self, chunk: list[Column]) -> np.ndarray:
        try:
            # As objects: an array of texts makes all of them as long as the longest.
            return np.asarray(np.array(chunk, dtype=object).T, dtype=np.float64)
        except ValueError:  # there are gaps or texts
            return np.stack([self._parse_column(i, cells) for i, cells in enumerate(chunk)], axis=1)

    def _parse_column(self, i: int, cells: Column) -> np.ndarray:
        try:
            return np.array(cells, dtype=object).astype(np.float64)
        except ValueError:
            return np.array([self._number(i, row, cell) for row, cell in enumerate(cells)])

    def _number(self, i: int, row: int, cell: str) -> float:
        if is_missing(cell):
            return np.nan
        try:
            return float(cell)
        except ValueError:
            self.first_text.setdefault(i, (self.total + row, cell))
            self.texts[i] += 1
            return np.nan

    def check(self) -> None:
        """Raise at a text in a column of numbers."""
        for i, (row, text) in sorted(self.first_text.items()):
            if self.texts[i] < self.known[i]:
                raise DataError(
                    f"{self.table.place(row, self.columns[i])}: most rows have a number here, got"
                    f" {shown(text)}. Correct it, or leave the cell empty."
                )
            if is_number(text.replace(",", ".")):
                raise DataError(
                    f"{self.table.place(row, self.columns[i])}: a number must have a decimal point,"
                    f" got {shown(text)}. Replace the commas."
                )

    def notes(self, value: str) -> list[str]:
        """What is done about gaps, which get this value."""
        notes = []
        empty = np.flatnonzero((self.texts == 0) & (self.known == 0))
        gaps = np.flatnonzero((self.texts == 0) & (self.known > 0) & (self.known < self.total))
        if empty.size:
            notes.append(f"Left out {self._listed(empty)}: no value there.")
        if gaps.size:
            missing = int((self.total - self.known[gaps]).sum())
            cells = "cell" if missing == 1 else "cells"
            notes.append(
                f"Filled {missing:,} missing {cells} of {self._listed(gaps)} with the {value}."
            )
        return notes

    def _listed(self, which: np.ndarray) -> str:
        titles = [self.table.column_title(self.columns[i]) for i in which[:5]]
        word = "column" if which.size == 1 else "columns"
        return f"{word} {', '.join(titles)}{', …' if which.size > 5 else ''}"


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


def _are_uneven(block: Block) -> bool:
    if not block.shape[1]:
        return False
    magnitude = abs(block).max(axis=0)
    largest = magnitude if isinstance(magnitude, np.ndarray) else magnitude.toarray().ravel()
    largest = largest[largest > 0]
    return bool(largest.size and largest.max() > _DIFFERENT_SCALES * largest.min())


def _one_hot(
    cells: list[str], table: Table, column: int
) -> tuple[scipy.sparse.csr_matrix, list[str]]:
    """A column of ones and zeros for each category; only zeros where there is none."""
    texts = pd.Series(cells, dtype=object)
    known = ~texts.map(is_missing).to_numpy(dtype=bool)
    categories = sorted(set(texts[known]))
    if len(categories) > _MOST_CATEGORIES:
        raise DataError(
            f"{table.path}, column {table.column_title(column)} holds {len(categories):,} different"
            f" texts; up to {_MOST_CATEGORIES:,} are taken as categories. Leave it out"
            f" (drop={table.column_title(column)}), or turn it into numbers.",
            topic="drop-column",
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
