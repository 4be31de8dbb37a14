"""Scores of pairs by the distance between node embeddings."""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor

from gaug.pairs.settled import settled

# Pairs scored at a time: as many as fit into a core's own cache.
_PAIRS_AT_A_TIME = 1 << 13


class DistanceScores:
    """The score of (u, v) is minus the squared distance between their embeddings.

    `score_rows` is a fast matrix product in float32, whose rounding depends on the block;
    `edge_logits` works in float64 and rounds once, so the score of a pair is always the same.

    Args:
        embeddings: One row per node.  [N, d]
    """

    def __init__(self, embeddings: Tensor) -> None:
        self.embeddings = embeddings.float().contiguous()
        self.squares = self.embeddings.double().square().sum(dim=1).float()
        # |x - y|² = |x|² + |y|² - 2 <x, y>: twice the classical bound on the error of the product
        # and of the three roundings that follow it.
        width = self.embeddings.size(1)
        self.slack = 2 * (2 * width + 8) * 2.0**-24 * float(self.squares.max())

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        products = self.embeddings[start:stop] @ self.embeddings[first_column:].t()
        return (
            products.mul_(2).sub_(self.squares[start:stop, None]).sub_(self.squares[first_column:])
        )

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """The same, equal to the scores of `edge_logits`.  [stop - start, …]"""
        rows, squares, kinds = self._centered
        values = rows[start:stop] @ rows[first_column:].t()
        sums = squares[start:stop, None] + squares[first_column:]
        values.mul_(2).sub_(sums)
        error = sums.mul_(8 * (rows.size(1) + 8) * 2.0**-53)
        equal = kinds[start:stop, None] == kinds[first_column:]
        return settled(
            values.masked_fill_(equal, 0.0),
            error.masked_fill_(equal, 0.0),
            self.edge_logits,
            (start, first_column),
            lambda: self._by_columns(start, stop, first_column),
        )

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair.  [2, n] → [n]"""
        result = torch.empty(pairs.size(1))
        for start in range(0, pairs.size(1), _PAIRS_AT_A_TIME):
            u, v = pairs[:, start : start + _PAIRS_AT_A_TIME]
            differences = self.embeddings[u].double() - self.embeddings[v].double()
            result[start : start + u.numel()] = -differences.square().sum(dim=1).float()
        return result

    def _by_columns(self, start: int, stop: int, first_column: int) -> tuple[Tensor, Tensor]:
        """Scores as sums of squares, and their errors, which are relative to the scores."""
        columns = self.embeddings.double().t()
        total = columns.new_zeros(stop - start, columns.size(1) - first_column)
        for column in columns:
            difference = column[start:stop, None] - column[first_column:]
            total.addcmul_(difference, difference)
        return -total, total * (4 * (columns.size(0) + 8) * 2.0**-53)

    @functools.cached_property
    def _centered(self) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings around their median, squared lengths, and numbers that equal rows share.

        Distances are the same around any point, and errors are relative to the lengths.
        """
        rows = self.embeddings.double() - self.embeddings.median(dim=0).values.double()
        _, kinds = np.unique(self.embeddings.numpy(), axis=0, return_inverse=True)
        return rows, rows.square().sum(dim=1), torch.from_numpy(kinds.reshape(-1))
