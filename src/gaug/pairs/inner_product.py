"""Scores of pairs as inner products of node embeddings."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from gaug.pairs.settled import settled, sums_are_exact

# Pairs scored at a time: as many as fit into a core's own cache.
_PAIRS_AT_A_TIME = 1 << 13


class InnerProductScores:
    """The score of (u, v) is the inner product of their embeddings.

    `score_rows` is a fast matrix product in float32, whose rounding depends on the block.
    `edge_logits` adds in float64, where the products are exact and a sum of a few dozen is exact
    up to its last bits. It rounds once, so the score of a pair is always the same.

    Args:
        embeddings: One row per node.  [N, d]
    """

    def __init__(self, embeddings: Tensor) -> None:
        self.embeddings = embeddings.float().contiguous()
        squares = self.embeddings.double().square().sum(dim=1)
        self._lengths = squares.sqrt()
        width = self.embeddings.size(1)
        # Twice the classical bound d·u·|x|·|y| on the error of an inner product of d terms.
        self.slack = 2 * width * 2.0**-24 * float(squares.max())

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        return self.embeddings[start:stop] @ self.embeddings[first_column:].t()

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """The same, equal to the scores of `edge_logits`.  [stop - start, …]"""
        left, right = self._double[start:stop], self._double[first_column:]
        lengths = self._lengths * self._relative_error
        values = left @ right.t()
        return settled(
            values,
            torch.outer(lengths[start:stop], self._lengths[first_column:]),
            self.edge_logits,
            (start, first_column),
            # Embeddings that share no column have a score of 0, without an error.
            lambda: (values, (left.abs() * self._relative_error) @ right.abs().t()),
        )

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair.  [2, n] → [n]"""
        result = torch.empty(pairs.size(1))
        for start in range(0, pairs.size(1), _PAIRS_AT_A_TIME):
            u, v = pairs[:, start : start + _PAIRS_AT_A_TIME]
            products = self.embeddings[u].double() * self.embeddings[v].double()
            result[start : start + u.numel()] = products.sum(dim=1).float()
        return result

    @functools.cached_property
    def _double(self) -> Tensor:
        return self.embeddings.double()

    @functools.cached_property
    def _relative_error(self) -> float:
        """Difference of two sums in double precision, relative to the product of the lengths."""
        if sums_are_exact(self.embeddings):
            return 0.0
        return 4 * self.embeddings.size(1) * 2.0**-53
