"""Differentiable graphs, which GAug-O passes to the classifier.

Every model here aggregates by a sum over the neighbors. A sampled graph provides that sum and the
degrees, both differentiable in the edges; the aggregation rules of the models follow from them.
"""

from __future__ import annotations

import functools
from abc import abstractmethod

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.graph.adjacency import Adjacency
from gaug.graph.attention import attend_to_all
from gaug.graph.caching import cached_with_gradient
from gaug.graph.sparse import Pattern, SparseMatrix
from gaug.methods.gaug_o.drawn_pairs import edge_products
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.memory import check_all_pairs, check_list


class SampledAdjacency(Adjacency):
    """Base class of the differentiable graphs.

    Args:
        pattern: The edges, in both directions.
        outside: If it is drawn for a part of a larger graph: for each node, about how many edges
            lead out of it (`kept_outside`).  [N]
    """

    def __init__(self, pattern: Pattern, outside: Tensor | None = None) -> None:
        super().__init__(pattern, symmetric=True, outside=outside)

    def __repr__(self) -> str:
        pairs = self.listed_pairs
        edges = "all pairs" if pairs is None else f"{pairs.size(1)} edges"
        return f"{type(self).__name__}({self.num_nodes} nodes, {edges})"

    @abstractmethod
    def sum(self, h: Tensor) -> Tensor:
        """The sum of h over the neighbors of each node.  [N, d]"""

    @abstractmethod
    def degrees(self) -> Tensor:
        """The sum of the weights of each node's edges.  [N]"""

    def symmetric(self, h: Tensor) -> Tensor:
        r"""The GCN's rule, $\tilde D^{-1/2} (A + I) \tilde D^{-1/2} h$."""
        degrees = 1 + self.degrees()
        if self.outside is not None:
            degrees = degrees + self.outside
        scale = degrees.rsqrt().unsqueeze(1)
        scaled = scale * h
        return scale * (self.sum(scaled) + scaled)

    def mean(self, h: Tensor, self_weight: float = 1.0) -> Tensor:
        r"""The mean over a node and its neighbors, $(D + s I)^{-1} (A + s I) h$."""
        total = (self_weight + self.degrees()).unsqueeze(1)
        return (self_weight * h + self.sum(h)) / torch.where(total > 0, total, 1.0)


def kept_outside(z: Tensor, original: Adjacency, distribution: EdgeDistribution) -> Tensor | None:
    """About how many edges lead out of a part of a graph: as many are left as of its own.  [N]

    Args:
        z: Prepared embeddings.  [N, d]
        original: The part. Its ``outside`` counts the edges that lead out of it; None if none does.
        distribution: What samples are drawn from.
    """
    if original.outside is None or original.num_pairs == 0:
        return original.outside
    scores = distribution.of_scores(edge_products(z, original))
    p = distribution.alpha * scores + (1 - distribution.alpha)
    kept = (p > 0.5).to(p.dtype) if distribution.sampling == "rounding" else p
    return original.outside * kept.mean()


class DenseSample(SampledAdjacency):
    """A sample as one dense N×N matrix: short and obvious.

    Args:
        matrix: Symmetric, with zeros on the diagonal; requires gradients.  [N, N]
        outside: Edges of each node that lead out, if it is a part of a larger graph.  [N]
    """

    def __init__(self, matrix: Tensor, outside: Tensor | None = None) -> None:
        self.matrix = matrix
        edges = matrix.detach().nonzero()
        counts = torch.bincount(edges[:, 0], minlength=matrix.size(0))
        crow = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        pattern = Pattern(crow, edges[:, 1].contiguous(), matrix.size(0), symmetric=True)
        super().__init__(pattern, outside)

    @cached_with_gradient
    def weight(self) -> Tensor:
        """The entries of the matrix at the edges; gradients reach no other pair.  [nnz]"""
        return self.matrix[self.pattern.row, self.pattern.col]

    def sum(self, h: Tensor) -> Tensor:
        """The sum of h over the neighbors of each node.  [N, d]"""
        return self.matrix @ h

    def degrees(self) -> Tensor:
        """The sum of the weights of each node's edges.  [N]"""
        return self.matrix.sum(dim=1)


class Interpolated(SampledAdjacency):
    r"""The probabilities themselves as weights, without a sample: GAug-O's ablation.

    With ``max-normalized`` probabilities every sum is
    $\alpha (Z Z^\top - \operatorname{diag}) h + (1 - \alpha) A h$: all pairs in memory of N times
    the embedding. Attention processes them block by block. A user-defined module, which needs a
    list of edges, gets all pairs with a probability above 0. That takes N×N memory and is refused
    if there is not enough.

    Args:
        z: Prepared embeddings.  [N, d]
        original: The original graph.
        distribution: With ``max-normalized`` probabilities.
    """

    def __init__(self, z: Tensor, original: Adjacency, distribution: EdgeDistribution) -> None:
        super().__init__(original.pattern, kept_outside(z, original, distribution))
        self.z = z
        self.distribution = distribution
        self.alpha = distribution.alpha
        ones = z.new_ones(original.pattern.nnz)
        self.original = SparseMatrix(original.pattern, ones, ones)

    @cached_with_gradient
    def all_pairs(self) -> DenseSample:
        """The probabilities as one dense matrix."""
        p = self.distribution.of_all(self.z, self.pattern)
        return DenseSample(p.triu(diagonal=1) + p.tril(diagonal=-1))

    @functools.cached_property
    def _for_a_module(self) -> DenseSample:
        check_list(self.num_nodes)
        return self.all_pairs

    def to_data(self) -> Data:
        """All pairs with a probability above 0, and their probabilities as weights."""
        remedy = "Ask for the edge_probabilities of some."
        check_all_pairs(self.num_nodes, "A list of all pairs", remedy)
        return self.all_pairs.to_data()

    @property
    def listed_pairs(self) -> None:
        """None: every pair is used, each with its own weight."""

    @property
    def edge_index(self) -> Tensor:
        """All pairs, sources over targets.  [2, nnz]"""
        return self._for_a_module.edge_index

    @property
    def weight(self) -> Tensor:
        """The probabilities of all pairs.  [nnz]"""
        return self._for_a_module.weight

    def attend(
        self, z: Tensor, target_score: Tensor, source_score: Tensor, dropout: float = 0.0
    ) -> Tensor:
        """GAT's rule over all nodes, with attention multiplied by the probabilities.  [H, N, C]"""
        return attend_to_all(self._rows_of_looped, z, target_score, source_score, dropout)

    def sum(self, h: Tensor) -> Tensor:
        """The weighted sum of h over all other nodes.  [N, d]"""
        own = self.z.square().sum(dim=1, keepdim=True)
        learned = self.z @ (self.z.t() @ h) - own * h
        return self.alpha * learned + (1 - self.alpha) * (self.original @ h)

    def degrees(self) -> Tensor:
        """The sum of the probabilities of each node's pairs.  [N]"""
        return self.sum(self.z.new_ones(self.num_nodes, 1)).squeeze(1)

    def _rows_of_looped(self, rows: slice) -> Tensor:
        """Rows of the matrix of probabilities, with ones on its diagonal.  [rows, N]"""
        learned = self.alpha * (self.z[rows] @ self.z.t())
        pattern = self.original.pattern
        first, *_, end = pattern.crow[rows.start : rows.stop + 1].tolist()
        known = torch.zeros_like(learned)
        known[pattern.row[first:end] - rows.start, pattern.col[first:end]] = 1 - self.alpha
        node = torch.arange(learned.size(0), device=learned.device)
        p = learned + known
        return p.index_put((node, node + rows.start), p.new_ones(()))
