"""How the training loop calls a model: one of this package, or any module of a user."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.utils import get_num_hops

from gaug.graph.adjacency import Adjacency
from gaug.graph.sparse import SparseMatrix
from gaug.models.base import GNN, Features


def apply_model(model: nn.Module, features: Features, adjacency: Adjacency) -> Tensor:
    """Call a model of this package, or any module with PyTorch Geometric's signature."""
    logits: Tensor
    if isinstance(model, GNN):
        logits = model(features, adjacency)
    else:
        x = features.to_torch() if isinstance(features, SparseMatrix) else features
        logits = model(x, adjacency.edge_index, adjacency.weight)
    return logits


def hops_of(model: nn.Module) -> int | None:
    """How far away a node can be and still change what a model gives for another.

    None if it cannot be told: a user-defined module without layers of PyTorch Geometric.
    """
    if isinstance(model, GNN):
        return model.hops
    return int(get_num_hops(model)) or None
