"""What one step of training works on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.models.base import Features


@dataclass(frozen=True)
class Batch:
    """The whole graph, or the surroundings of some training nodes.

    Attributes:
        features: Features of its nodes.  [n, F]
        adjacency: The graph of the round between its nodes.
        seeds: Places of the training nodes that the loss counts, among its nodes.  [s]
        labels: Their labels.  [s] or [s, C]
        nodes: Ids of its nodes, ascending; None if it is the whole graph.  [n]
    """

    features: Features
    adjacency: Adjacency
    seeds: Tensor
    labels: Tensor
    nodes: Tensor | None = None

    @property
    def work(self) -> int:
        """A measure of the work: its nodes and the entries of its adjacency."""
        return work_on(self.adjacency)


def work_on(adjacency: Adjacency) -> int:
    """A measure of the work of a pass over a graph: its nodes and entries."""
    return adjacency.num_nodes + adjacency.pattern.nnz
