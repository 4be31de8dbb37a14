"""What the ranking needs from a predictor: scores of whole rows and of given pairs."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class PairScores(Protocol):
    """Symmetric scores of node pairs, computed on demand.

    Attributes:
        slack: Largest difference between scores of `score_rows` and `edge_logits`. Fast arithmetic
            rounds differently from block to block, so pairs near a threshold are scored again by
            `edge_logits`, which always gives a pair the same score. 0 if the two agree.
    """

    slack: float

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        ...

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair, independent of the other pairs.  [2, n] → [n]"""
        ...
