"""Classifiers that predict on a changed graph and keep the change of the fit."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import Fitted, NodeClassifier, as_given
from gaug.classifier.graph_info import GraphInfo
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange
from gaug.graph.edges import pair_keys, undirected_pairs


class ChangedGraphClassifier(NodeClassifier):
    """Predicts on the graph after applying the change of the fit again.

    On another graph, edges that the fit added or removed are added or removed again if both nodes
    exist; new nodes keep the edges that they have.

    Args:
        fitted: The trained model with its settings.
        change: What the fit added and removed, by the nodes of its graph.
    """

    def __init__(self, fitted: Fitted, change: GraphChange) -> None:
        super().__init__(fitted)
        self.change = change

    @classmethod
    def restored(cls, fitted: Fitted, tensors: Mapping[str, Tensor]) -> ChangedGraphClassifier:
        """The classifier from its saved parts."""
        return cls(fitted, GraphChange(tensors["added"], tensors["removed"]))

    def changed(self, data: Data, *, info: GraphInfo | None = None) -> Data:
        """The changed graph that it predicts on: features, edges and weights."""
        info = info or GraphInfo()
        return as_given(self._changed(self._valid(data, info), info), data)

    def _changed(self, valid: Data, info: GraphInfo) -> Data:
        places = self.summary.places(int(valid.num_nodes), info)
        return carried_over(self.change, places, valid).apply(valid)

    def _probabilities(self, valid: Data, info: GraphInfo, device: torch.device) -> Tensor:
        return self._apply(self._changed(valid, info), device)

    def _tensors(self) -> dict[str, Tensor]:
        return {"added": self.change.added, "removed": self.change.removed}


def difference(before: Adjacency, after: Adjacency) -> GraphChange:
    """The change from one graph to another with the same nodes."""
    old, new = (graph.pairs.cpu() for graph in (before, after))
    old_keys, new_keys = (pair_keys(pairs, before.num_nodes) for pairs in (old, new))
    return GraphChange(
        new[:, ~torch.isin(new_keys, old_keys)], old[:, ~torch.isin(old_keys, new_keys)]
    )


def carried_over(change: GraphChange, places: Tensor, data: Data) -> GraphChange:
    """The change of the fitted graph, applied to another graph.

    Args:
        change: The change, by the nodes of the fit.
        places: Position of each of these nodes in the other graph, -1 if it is gone.  [N]
        data: The other graph, valid, on the CPU.
    """
    num_nodes = int(data.num_nodes)
    edges = pair_keys(undirected_pairs(data.edge_index), num_nodes)

    def moved(pairs: Tensor, *, edges_there: bool) -> Tensor:
        placed = places[pairs.cpu()].sort(dim=0).values
        placed = placed[:, placed[0] >= 0]
        there = torch.isin(pair_keys(placed, num_nodes), edges)
        return placed[:, there if edges_there else ~there]

    return GraphChange(
        moved(change.added, edges_there=False), moved(change.removed, edges_there=True)
    )
