"""Parts of a graph: its largest components, and the graph of some of its nodes."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.graph.matrices import from_scipy, to_scipy, to_scipy_features


def largest_components(data: Data, count: int) -> Data:
    """The subgraph of the ``count`` largest connected components, in the given node order."""
    adjacency = to_scipy(data.edge_index, data.num_nodes)
    _, component = scipy.sparse.csgraph.connected_components(adjacency, directed=False)
    sizes = np.bincount(component)
    largest = np.argsort(-sizes, kind="stable")[:count]
    keep = torch.from_numpy(np.isin(component, largest))
    return induced_subgraph(data, keep)


def induced_subgraph(data: Data, keep: Tensor) -> Data:
    """The graph of the nodes that a boolean mask keeps, renumbered in their order."""
    new_id = keep.cumsum(0) - 1
    both = keep[data.edge_index].all(dim=0)
    kept = Data(num_nodes=int(keep.sum()))
    for key, value in data.to_dict().items():
        if not isinstance(value, Tensor):
            continue
        if key.endswith("edge_index"):
            kept[key] = new_id[value[:, keep[value].all(dim=0)]]
        elif key == "x" and value.layout == torch.sparse_csr:
            kept[key] = from_scipy(to_scipy_features(value)[keep.numpy()])
        elif data.is_node_attr(key):
            kept[key] = value[keep]
        elif data.is_edge_attr(key):
            kept[key] = value[both]
    return kept
