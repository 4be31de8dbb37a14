"""What the ranking asks of a predictor: scores of whole rows, and scores of given pairs."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class PairScores(Protocol):
    """Symmetric scores of node pairs, computed on demand.

    Attributes:
        slack: How far a score of `score_rows` may be from that of `edge_logits`. Fast arithmetic
            rounds differently from block to block; pairs near a threshold are scored again by
            `edge_logits`, whose answer for a pair is always the same. 0 where the two agree.
    """

    slack: float

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with nodes from first_column on.  [stop - start, …]"""
        ...

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair, whatever other pairs are asked for.  [2, n] → [n]"""
        ...
