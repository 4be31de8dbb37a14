"""What a graph looks like: sizes, degrees, components, classes, homophily."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse.csgraph
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.graph import (
    edge_homophily,
    feature_density,
    is_multilabel,
    num_classes,
    to_scipy,
    undirected_pairs,
)

#: Edges are homophilous from this adjusted homophily on; 0 is chance, 1 is all within a class.
HOMOPHILOUS = 0.3
#: With fewer edges between nodes of known class, their homophily says nothing.
FEW_EDGES = 20


@dataclass(frozen=True)
class Shape:
    """What a graph looks like without its labels."""

    nodes: int
    edges: int
    weighted: bool
    mean_degree: float
    median_degree: float
    largest_degree: int
    isolated_nodes: int
    components: int
    largest_component: int
    features: int
    feature_density: float


@dataclass(frozen=True)
class Labels:
    """How many nodes each class has.

    Attributes:
        counts: Nodes by the name of their class; where a node may have several labels, in each.
        labelled: Nodes with a label.
        unlabelled: Nodes without.
    """

    counts: dict[str, int]
    labelled: int
    unlabelled: int


@dataclass(frozen=True)
class Homophily:
    """How many edges join two nodes of one class.

    Attributes:
        share: Share of the edges within a class.
        by_chance: The share to expect if the ends of the edges were joined at random.
        num_edges: Number of edges that were counted.
    """

    share: float
    by_chance: float
    num_edges: int

    @property
    def adjusted(self) -> float | None:
        """1 where all edges are within a class, 0 where as many as by chance; None where the two
        are the same (Platonov et al., NeurIPS 2023).
        """
        if self.by_chance >= 1:
            return None
        return (self.share - self.by_chance) / (1 - self.by_chance)

    @property
    def is_high(self) -> bool | None:
        """Whether it is high; None where too little is known."""
        if self.num_edges < FEW_EDGES or self.adjusted is None:
            return None
        return self.adjusted >= HOMOPHILOUS


def describe_shape(data: Data) -> tuple[Shape, list[int]]:
    """Sizes, degrees and components of a valid graph, and how many nodes have each degree."""
    num_nodes = int(data.num_nodes)
    adjacency = to_scipy(data.edge_index, num_nodes)
    degree = np.diff(adjacency.indptr)
    count, component = scipy.sparse.csgraph.connected_components(adjacency, directed=False)
    shape = Shape(
        nodes=num_nodes,
        edges=data.num_edges // 2,
        weighted=data.get("edge_weight") is not None,
        mean_degree=float(degree.mean()),
        median_degree=float(np.median(degree)),
        largest_degree=int(degree.max()),
        isolated_nodes=int((degree == 0).sum()),
        components=int(count),
        largest_component=int(np.bincount(component).max()),
        features=int(data.x.size(1)),
        feature_density=feature_density(data.x),
    )
    return shape, np.bincount(degree).tolist()


def count_labels(loaded: LoadedGraph) -> Labels:
    """How many nodes each class of a graph with labels has."""
    data = loaded.data
    if is_multilabel(data):
        numbers = data.y.sum(dim=0).long()
        labelled = int((data.y > 0).any(dim=1).sum())
    else:
        known = data.y[data.y >= 0]
        numbers, labelled = torch.bincount(known, minlength=num_classes(data)), known.numel()
    counts = dict(zip(loaded.class_names, numbers.tolist(), strict=True))
    return Labels(counts, labelled, int(data.num_nodes) - labelled)


def measure_homophily(data: Data, labels: Tensor) -> Homophily | None:
    """Homophily of the edges between nodes whose label is not -1; None where there is none.

    By chance the ends of the edges are joined at random: a class that holds the share p of all ends
    holds both ends of the share p² of the edges.
    """
    pairs = undirected_pairs(data.edge_index)
    share = edge_homophily(pairs, labels)
    if share is None:
        return None
    ends = labels[pairs]
    ends = ends[:, (ends >= 0).all(dim=0)]
    of_class = torch.bincount(ends.flatten()).double() / ends.numel()
    return Homophily(share, float(of_class.square().sum()), ends.size(1))
