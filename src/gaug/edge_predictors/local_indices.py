"""Similarity indices of two nodes that only use their neighbors.

None of them has settings or uses features, labels or edge weights. A pair of nodes without a common
neighbor scores 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.common_neighbors import (
    Floats,
    nonzero_shared_weight,
    num_triangles,
    shared_links_of_pairs,
    shared_links_of_rows,
    shared_weight_of_pairs,
    shared_weight_of_rows,
)
from gaug.edge_predictors.config import (
    CARConfig,
    JaccardConfig,
    LocalLeichtHolmeNewmanConfig,
    LocalNaiveBayesConfig,
    ResourceAllocationConfig,
)
from gaug.graph.matrices import to_scipy
from gaug.pairs.ranking import OnShare

# Pairs with a common neighbor are listed if there are this many times as many pairs, and for rows
# with about this many paths of length 2 at a time.
_SPARSER, _PATHS = 16, 1 << 21


class _Asked(Protocol):
    """The pairs to score: a list of pairs, or whole rows."""

    def degrees(self) -> tuple[Floats, Floats]:
        """Degrees of the two ends; together they broadcast to the shape of the result."""
        ...

    def shared_weight(self, weights: Floats) -> Floats:
        """Sum of the weights of the common neighbors."""
        ...

    def shared_links(self) -> Floats:
        """Number of edges among the common neighbors."""
        ...


@dataclass(frozen=True)
class _Pairs:
    adjacency: csr_matrix
    pairs: np.ndarray

    def degrees(self) -> tuple[Floats, Floats]:
        first, second = np.diff(self.adjacency.indptr).astype(np.float64)[self.pairs]
        return first, second

    def shared_weight(self, weights: Floats) -> Floats:
        return shared_weight_of_pairs(self.adjacency, weights, self.pairs)

    def shared_links(self) -> Floats:
        return shared_links_of_pairs(self.adjacency, self.pairs)


@dataclass(frozen=True)
class _Rows:
    adjacency: csr_matrix
    start: int
    stop: int
    first_column: int

    def degrees(self) -> tuple[Floats, Floats]:
        degrees = np.diff(self.adjacency.indptr).astype(np.float64)
        return degrees[self.start : self.stop, None], degrees[None, self.first_column :]

    def shared_weight(self, weights: Floats) -> Floats:
        return shared_weight_of_rows(
            self.adjacency, weights, self.start, self.stop, self.first_column
        )

    def shared_links(self) -> Floats:
        return shared_links_of_rows(self.adjacency, self.start, self.stop, self.first_column)


class _LocalIndex(EdgePredictor):
    """What the five indices share: everything but the formula.

    Attributes:
        lists_pairs: Whether its formula is fast for a long list of pairs.
        mostly_zero: See `gaug.pairs.scores.NonzeroScores`.
        block_rows: Likewise.
    """

    lists_pairs: ClassVar[bool] = True
    mostly_zero: bool = False
    block_rows: int = 1

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self.adjacency_ = to_scipy(data.edge_index, self.num_nodes_).astype(np.float64)
        self.adjacency_.sort_indices()
        paths = int((np.diff(self.adjacency_.indptr).astype(np.int64) ** 2).sum())  # of length 2
        self.mostly_zero = self.lists_pairs and _SPARSER * paths < self.num_nodes_**2
        self.block_rows = max(1, _PATHS * self.num_nodes_ // (paths + 1))

    def _adapt(self, data: Data) -> None:
        self._learn(data, 0, lambda share: None)  # nothing is learned, only looked up

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair.  [2, n] → [n]"""
        self.check_pairs(pairs)
        return self._scores(_Pairs(self.adjacency_, pairs.cpu().numpy()))

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        self.check_fitted()
        return self._scores(_Rows(self.adjacency_, start, stop, first_column))

    def _scores(self, asked: _Asked) -> Tensor:
        scores = self._score(asked.shared_weight(self._weights()), asked)
        return torch.from_numpy(scores.astype(np.float32))

    def nonzero_rows(self, start: int, stop: int) -> csr_matrix:
        """The scores of nodes start to stop with all nodes that are not 0.  [stop - start, N]"""
        rows = self.adjacency_[start:stop]
        shared = nonzero_shared_weight(rows, self._weights(), self.adjacency_)
        first = np.repeat(np.arange(start, stop), np.diff(shared.indptr))
        pairs = _Pairs(self.adjacency_, np.stack([first, shared.indices]))
        values = self._score(shared.data, pairs).astype(np.float32)
        return csr_matrix((values, shared.indices, shared.indptr), shape=shared.shape)

    def _score(self, shared: Floats, asked: _Asked) -> Floats:
        """The index of the requested pairs, in double precision.

        Args:
            shared: The sum of the weights of their common neighbors.
            asked: The pairs.
        """
        return shared

    def _weights(self) -> Floats:
        """What a common neighbor counts.  [N]"""
        return np.ones(self.num_nodes_)


class Jaccard(_LocalIndex):
    r"""Common neighbors as a share of all neighbors (Liben-Nowell and Kleinberg, JASIST 2007).

    $$
    s(u, v) = \frac{|N(u) \cap N(v)|}{|N(u) \cup N(v)|}
    $$

    Args:
        config: Its settings.
    """

    config_type = JaccardConfig

    def _score(self, shared: Floats, asked: _Asked) -> Floats:
        first, second = asked.degrees()
        return shared / np.maximum(first + second - shared, 1)


class ResourceAllocation(_LocalIndex):
    r"""What u sends to v if each common neighbor splits one unit evenly (Zhou, Lü, Zhang, 2009).

    $$
    s(u, v) = \sum_{w \in N(u) \cap N(v)} \frac{1}{k_w}
    $$

    with k the degrees (European Physical Journal B 71).

    Args:
        config: Its settings.
    """

    config_type = ResourceAllocationConfig

    def _weights(self) -> Floats:
        degrees = np.diff(self.adjacency_.indptr)
        return np.asarray(1 / np.maximum(degrees, 1))


class LocalLeichtHolmeNewman(_LocalIndex):
    r"""Common neighbors relative to chance (Leicht, Holme and Newman, PRE 73, 2006).

    $$
    s(u, v) = \frac{|N(u) \cap N(v)|}{k_u \, k_v}
    $$

    with k the degrees: the number expected by chance is proportional to their product.

    Args:
        config: Its settings.
    """

    config_type = LocalLeichtHolmeNewmanConfig

    def _score(self, shared: Floats, asked: _Asked) -> Floats:
        first, second = asked.degrees()
        return shared / np.maximum(first * second, 1)


class CAR(_LocalIndex):
    r"""Common neighbors times the links among them (Cannistraci, Alanis-Lozano, Ravasi, 2013).

    $$
    s(u, v) = |C| \cdot \bigl|\{\{a, b\} \in E : a, b \in C\}\bigr|, \quad C = N(u) \cap N(v)
    $$

    The second factor is the paper's number of local community links (Scientific Reports 3:1613).

    Args:
        config: Its settings.
    """

    config_type = CARConfig
    block_elements = 1 << 22  # every block goes through all edges
    lists_pairs = False  # links among the common neighbors of many pairs are found by rows

    def _score(self, shared: Floats, asked: _Asked) -> Floats:
        return shared * asked.shared_links()


class LocalNaiveBayes(_LocalIndex):
    r"""Local naive Bayes, common-neighbor form (Liu, Zhang, Lü and Zhou, EPL 96, 2011).

    $$
    s(u, v) = \sum_{w \in N(u) \cap N(v)} \log \eta + \log R_w, \quad
    \eta = \frac{|V| (|V| - 1)}{2 |E|} - 1, \quad R_w = \frac{T_w + 1}{S_w + 1}
    $$

    with T the number of linked pairs of neighbors of w and S the number of unlinked ones. A
    neighbor whose own neighbors are rarely linked is evidence against a link, so scores can be
    negative.

    Differs from the paper: in a complete graph, where $\eta = 0$, its logarithm counts as 0.

    Args:
        config: Its settings.
    """

    config_type = LocalNaiveBayesConfig

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        super()._learn(data, seed, on_share)
        self.weights_ = naive_bayes_weights(self.adjacency_)

    def _weights(self) -> Floats:
        return self.weights_


def naive_bayes_weights(adjacency: csr_matrix) -> Floats:
    """What each node adds to the score of a pair of its neighbors in `LocalNaiveBayes`.  [N]"""
    num_nodes, num_edges = adjacency.shape[0], adjacency.nnz // 2
    num_non_edges = num_nodes * (num_nodes - 1) // 2 - num_edges
    degrees = np.diff(adjacency.indptr).astype(np.int64)
    linked = num_triangles(adjacency)
    unlinked = degrees * (degrees - 1) // 2 - linked
    odds = num_non_edges / num_edges if num_non_edges and num_edges else 1.0
    return np.asarray(np.log(odds) + np.log((linked + 1) / (unlinked + 1)))
