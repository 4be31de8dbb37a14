"""What all classifiers share: their inputs and their linear layer.

A model is called as in PyTorch Geometric, ``model(x, edge_index, edge_weight)``. The training loop
passes a `SparseMatrix` for ``x`` and an `Adjacency` for ``edge_index`` instead, so that what
depends only on the graph is computed once and not in each call.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from gaug.graph.adjacency import Adjacency
from gaug.graph.sparse import SparseMatrix, to_csr
from gaug.models.config import ModelConfig

Features = Tensor | SparseMatrix
Aggregate = Callable[[Tensor], Tensor]


class GNN(nn.Module):
    """Base class of the classifiers: converts the inputs, then calls `classify`.

    Attributes:
        config_type: The class of its settings.
        uses_edges: Whether the result depends on the edges at all.
    """

    config_type: ClassVar[type[ModelConfig]]
    uses_edges: ClassVar[bool] = True
    config: ModelConfig

    @property
    def hops(self) -> int:
        """How far away a node can be and still count: one hop per layer."""
        return self.config.layers if self.uses_edges else 0

    def forward(
        self,
        x: Features,
        edge_index: Tensor | Adjacency,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Class logits of every node.  [N, C]

        Args:
            x: Features, dense or ``torch.sparse_csr``.  [N, F]
            edge_index: Edges from row 0 to row 1, without self-loops.  [2, E]
            edge_weight: One weight per edge, 1 by default; may require gradients.  [E]
        """
        features = as_features(x)
        if isinstance(edge_index, Adjacency):
            return self.classify(features, edge_index)
        adjacency = Adjacency.from_edges(edge_index, features.shape[0], edge_weight)
        return self.classify(features, adjacency)

    @abstractmethod
    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Class logits of every node.  [N, C]"""


class Linear(nn.Module):
    """A linear map of dense or sparse rows, stored as [in, out] for fast access by sparse rows.

    The bias is a separate attribute because a graph layer adds it after aggregation.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = new_weight(in_features, out_features)
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x: Features) -> Tensor:
        """The product without the bias.  [N, out]"""
        return x @ self.weight


def new_weight(in_features: int, out_features: int) -> nn.Parameter:
    """Random weights by Glorot and Bengio's uniform rule, as in Kipf and Welling's GCN."""
    bound = math.sqrt(6.0 / (in_features + out_features))
    return nn.Parameter(torch.empty(in_features, out_features).uniform_(-bound, bound))


def as_features(x: Features) -> Features:
    """Sparse tensors as `SparseMatrix`, everything else unchanged."""
    if isinstance(x, SparseMatrix) or x.layout == torch.strided:
        return x
    return SparseMatrix.from_torch(to_csr(x))


def rows_of(x: Features, nodes: Tensor) -> Features:
    """The features of some nodes.  [n, F]"""
    return x.rows(nodes) if isinstance(x, SparseMatrix) else x[nodes]


def make_layers(in_features: int, out_features: int, config: ModelConfig) -> nn.ModuleList:
    """Linear layers from the input width through the hidden width to the output width."""
    widths = [in_features, *[config.hidden] * (config.layers - 1), out_features]
    return nn.ModuleList(map(Linear, widths[:-1], widths[1:]))


def aggregate_linear(layer: nn.Module, h: Features, aggregate: Aggregate) -> Tensor:
    """Linear map, aggregation and bias, aggregating on the narrower side of the map."""
    assert isinstance(layer, Linear)
    widens = layer.weight.size(0) < layer.weight.size(1)
    if widens and isinstance(h, Tensor):
        return torch.addmm(layer.bias, aggregate(h), layer.weight)
    return aggregate(layer(h)) + layer.bias
