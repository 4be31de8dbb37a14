"""Description of a graph: sizes, degrees, components, classes, homophily."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse.csgraph
import torch
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.graph.labels import is_multilabel, num_classes
from gaug.graph.matrices import feature_density, to_scipy


@dataclass(frozen=True)
class Shape:
    """Description of a graph without its labels."""

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
        counts: Number of nodes by class name; a node with several labels counts in each.
        labeled: Nodes with a label.
        unlabeled: Nodes without a label.
    """

    counts: dict[str, int]
    labeled: int
    unlabeled: int


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
        labeled = int((data.y > 0).any(dim=1).sum())
    else:
        known = data.y[data.y >= 0]
        numbers, labeled = torch.bincount(known, minlength=num_classes(data)), known.numel()
    counts = dict(zip(loaded.class_names, numbers.tolist(), strict=True))
    return Labels(counts, labeled, int(data.num_nodes) - labeled)
