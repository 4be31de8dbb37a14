"""Graphs that carry gradient to what made them: what GAug-O hands to the classifier.

Every model here aggregates through a sum over the neighbours. A sampled graph knows that sum and
the degrees, both differentiable in the edges; the rules of the models follow from them.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from gaug.adjacency import Adjacency
from gaug.augment.edge_distribution import EdgeDistribution
from gaug.sparse import Pattern, SparseMatrix


class SampledAdjacency(Adjacency):
    """Base of the graphs that carry gradient.

    Args:
        pattern: The edges, in both directions.
    """

    def __init__(self, pattern: Pattern) -> None:
        super().__init__(pattern, symmetric=True)

    @abstractmethod
    def sum(self, h: Tensor) -> Tensor:
        """The sum of h over the neighbours of each node.  [N, d]"""

    @abstractmethod
    def degrees(self) -> Tensor:
        """The sum of the weights of each node's edges.  [N]"""

    def symmetric(self, h: Tensor) -> Tensor:
        r"""The GCN's rule, $\tilde D^{-1/2} (A + I) \tilde D^{-1/2} h$."""
        scale = (1 + self.degrees()).rsqrt().unsqueeze(1)
        scaled = scale * h
        return scale * (self.sum(scaled) + scaled)

    def mean(self, h: Tensor, self_weight: float = 1.0) -> Tensor:
        r"""The mean over a node and its neighbours, $(D + s I)^{-1} (A + s I) h$."""
        total = (self_weight + self.degrees()).unsqueeze(1)
        return (self_weight * h + self.sum(h)) / torch.where(total > 0, total, 1.0)


class DenseSample(SampledAdjacency):
    """A sample as one dense matrix: short and obvious, and N×N.

    Args:
        matrix: Symmetric, with zeros on the diagonal; carries gradient.  [N, N]
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        edges = matrix.detach().nonzero()
        counts = torch.bincount(edges[:, 0], minlength=matrix.size(0))
        crow = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        super().__init__(Pattern(crow, edges[:, 1].contiguous(), matrix.size(0), symmetric=True))

    @property
    def weight(self) -> Tensor:
        """The matrix at the edges; the gradient reaches no other pair.  [nnz]"""
        return self.matrix[self.pattern.row, self.pattern.col]

    def sum(self, h: Tensor) -> Tensor:
        """The sum of h over the neighbours of each node.  [N, d]"""
        return self.matrix @ h

    def degrees(self) -> Tensor:
        """The sum of the weights of each node's edges.  [N]"""
        return self.matrix.sum(dim=1)


class Interpolated(SampledAdjacency):
    r"""The probabilities themselves as weights, without a sample: GAug-O's ablation.

    With ``max-normalised`` probabilities every sum is
    $\alpha (Z Z^\top - \operatorname{diag}) h + (1 - \alpha) A h$: all pairs in memory of N times
    the embedding.

    Args:
        z: Prepared embeddings.  [N, d]
        original: The graph as it is.
        distribution: With ``max-normalised`` probabilities.
    """

    def __init__(self, z: Tensor, original: Adjacency, distribution: EdgeDistribution) -> None:
        super().__init__(original.pattern)
        self.z = z
        self.alpha = distribution.alpha
        self.original = SparseMatrix(
            original.pattern, ones := torch.ones(original.pattern.nnz, device=z.device), ones
        )

    @property
    def weight(self) -> Tensor:
        """The probabilities at the edges of the original graph, which are all that is listed."""
        row, col = self.pattern.row, self.pattern.col
        return self.alpha * (self.z[row] * self.z[col]).sum(dim=1) + (1 - self.alpha)

    def sum(self, h: Tensor) -> Tensor:
        """The weighted sum of h over all other nodes.  [N, d]"""
        own = self.z.square().sum(dim=1, keepdim=True)
        learned = self.z @ (self.z.t() @ h) - own * h
        return self.alpha * learned + (1 - self.alpha) * (self.original @ h)

    def degrees(self) -> Tensor:
        """The sum of the probabilities of each node's pairs.  [N]"""
        return self.sum(self.z.new_ones(self.num_nodes, 1)).squeeze(1)
