"""What the ranking needs from a predictor: scores of whole rows and of given pairs."""

from __future__ import annotations

import math
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from gaug.errors import TrainingError
from gaug.graph.edges import keys_to_pairs


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

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """The same, equal to the scores of `edge_logits`: where many pairs are near a threshold."""
        ...

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair, independent of the other pairs.  [2, n] → [n]"""
        ...


@runtime_checkable
class NonzeroScores(PairScores, Protocol):
    """Scores that may be 0 for most pairs, such as those of pairs without a common neighbor.

    Attributes:
        mostly_zero: Whether listing the other pairs takes less time than looking at all. The slack
            is 0 then.
        block_rows: Number of rows to list at a time.
    """

    mostly_zero: bool
    block_rows: int

    def nonzero_rows(self, start: int, stop: int) -> csr_matrix:
        """The scores of nodes start to stop with all nodes that are not 0.  [stop - start, N]"""
        ...


def are_mostly_zero(scores: PairScores) -> TypeGuard[NonzeroScores]:
    """Whether a ranking should list the pairs that do not score 0."""
    return isinstance(scores, NonzeroScores) and scores.mostly_zero


def scores_of_keys(scores: PairScores, keys: np.ndarray, num_nodes: int) -> np.ndarray:
    """The scores of pairs given by `gaug.graph.edges.pair_keys`, one by one.  [n]"""
    pairs = keys_to_pairs(torch.from_numpy(keys), num_nodes)
    return np.asarray(scores.edge_logits(pairs).float().numpy())


def check_not_nan(highest: float) -> None:
    """Raise if a score is NaN and cannot be ranked; the maximum is NaN if any score is."""
    if math.isnan(highest):
        raise TrainingError(
            "The edge predictor gave scores that are not numbers (NaN). Its training may have"
            " diverged: try a lower learning_rate, or another predictor."
        )
