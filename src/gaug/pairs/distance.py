"""Scores of pairs by the distance between node embeddings."""

from __future__ import annotations

import torch
from torch import Tensor

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

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair.  [2, n] → [n]"""
        result = torch.empty(pairs.size(1))
        for start in range(0, pairs.size(1), _PAIRS_AT_A_TIME):
            u, v = pairs[:, start : start + _PAIRS_AT_A_TIME]
            differences = self.embeddings[u].double() - self.embeddings[v].double()
            result[start : start + u.numel()] = -differences.square().sum(dim=1).float()
        return result
