"""What a valid graph is, and the facts about one that the rest of the package asks for.

A valid graph is a PyTorch Geometric `Data` that is undirected (both directions listed), coalesced
and free of self-loops, with finite features ``x`` (dense, or ``torch.sparse_csr`` where they are
mostly zeros) and labels ``y``: class ids of shape [N] with -1 for unknown, or 0/1 of shape [N, C].
"""

from __future__ import annotations

import hashlib

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, contains_self_loops, remove_self_loops, to_undirected

from gaug.errors import DataError
from gaug.sparse import csr_tensor, to_csr

#: Features with a smaller share of non-zeros than this are kept sparse.
SPARSE_BELOW = 0.2


def standardise(data: Data, *, require_features: bool = True) -> tuple[Data, list[str]]:
    """Turn any `Data` into a valid graph, or refuse it.

    Args:
        data: A graph with at least ``edge_index`` and ``x``. It is not changed.
        require_features: Whether a graph without ``x`` is refused.

    Returns:
        A new `Data` and notes, one sentence for each thing that was changed on the way.

    Raises:
        DataError: Where the meaning of the input is not clear, with the place and the rule.
    """
    notes: list[str] = []
    num_nodes = _checked_num_nodes(data, require_features=require_features)
    edge_index, edge_weight = _undirected_edges(data, num_nodes, notes)
    valid = data.clone()
    for key in data.keys():  # noqa: SIM118 - a Data is not a dict
        kept = key in ("edge_weight", "feature_statistics") or key.endswith("edge_index")
        if key == "edge_attr" or (not kept and data.is_edge_attr(key)):
            del valid[key]
            notes.append(f"Left out {key}: of what edges carry, only edge_weight is used.")
    valid.edge_index = edge_index
    if edge_weight is not None:
        valid.edge_weight = edge_weight
    if data.x is not None:
        valid.x = _checked_features(data, num_nodes)
    if data.y is not None:
        valid.y = _checked_labels(data.y, num_nodes)
    valid.num_nodes = num_nodes
    return valid, notes


def undirected_pairs(edge_index: Tensor) -> Tensor:
    """Each undirected edge once, as (smaller id, larger id).  [2, E]"""
    return edge_index[:, edge_index[0] < edge_index[1]]


def num_classes(data: Data) -> int:
    """Number of classes (of labels, in the multi-label case)."""
    labels: Tensor = data.y
    return labels.size(1) if labels.dim() == 2 else int(labels.max()) + 1


def is_multilabel(data: Data) -> bool:
    """Whether a node may have several labels."""
    return bool(data.y.dim() == 2)


def edge_homophily(edge_index: Tensor, labels: Tensor) -> float | None:
    """Share of the edges between labelled nodes that join two nodes of one class.

    None where no edge has two labelled ends, and for multi-label graphs, where it is not defined.
    """
    if labels.dim() == 2:
        return None
    ends = labels[edge_index]  # [2, E]
    known = (ends >= 0).all(dim=0)
    if not known.any():
        return None
    return float((ends[0] == ends[1])[known].double().mean())


def feature_density(x: Tensor) -> float:
    """Share of the features that are not zero."""
    if x.numel() == 0:
        return 0.0
    stored = x.values() if x.layout == torch.sparse_csr else x
    return int(torch.count_nonzero(stored)) / (x.size(0) * x.size(1))


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


def graph_hash(data: Data, *, with_labels: bool = True) -> str:
    """A short fingerprint of nodes, edges, features and, unless left out, labels."""
    digest = hashlib.sha256(str(data.num_nodes).encode())
    parts = [data.edge_index, data.get("edge_weight"), data.y if with_labels else None]
    if data.x is None:
        parts.append(None)
    elif data.x.layout == torch.sparse_csr:
        parts += [data.x.crow_indices(), data.x.col_indices(), data.x.values()]
    else:
        parts.append(data.x)
    for part in parts:
        if part is not None:
            digest.update(str((tuple(part.shape), part.dtype)).encode())
            digest.update(part.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]


def to_scipy(edge_index: Tensor, num_nodes: int) -> scipy.sparse.csr_matrix:
    """The adjacency as a SciPy matrix of ones."""
    row, col = edge_index.cpu().numpy()
    ones = np.ones(row.shape[0], dtype=np.float32)
    return scipy.sparse.csr_matrix((ones, (row, col)), shape=(num_nodes, num_nodes))


def to_scipy_features(x: Tensor) -> scipy.sparse.csr_matrix:
    """``torch.sparse_csr`` features as a SciPy matrix, without a copy."""
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return scipy.sparse.csr_matrix(parts, shape=(x.size(0), x.size(1)))


def from_scipy(matrix: scipy.sparse.csr_matrix) -> Tensor:
    """A SciPy matrix as ``torch.sparse_csr`` in float32, its columns sorted."""
    csr = matrix.copy()
    csr.sum_duplicates()
    return sparse_features(
        torch.from_numpy(csr.indptr.astype(np.int64)),
        torch.from_numpy(csr.indices.astype(np.int64)),
        torch.from_numpy(csr.data.astype(np.float32)),
        (csr.shape[0], csr.shape[1]),
    )


def sparse_features(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A ``torch.sparse_csr`` matrix from its parts, which are checked."""
    try:
        return csr_tensor(crow, col, values, shape, check=True)
    except RuntimeError as error:
        raise DataError(f"x is not a valid sparse matrix: {error}") from error


def compact_features(x: Tensor) -> Tensor:
    """Features as ``torch.sparse_csr`` if they are mostly zeros, else dense."""
    if x.layout == torch.strided and feature_density(x) < SPARSE_BELOW:
        return from_scipy(scipy.sparse.csr_matrix(x.cpu().numpy())).to(x.device)
    return x


def _checked_num_nodes(data: Data, *, require_features: bool) -> int:
    if data.edge_index is None:
        raise DataError("The graph has no edge_index: it must be a tensor of shape [2, E].")
    if data.x is None and require_features:
        raise DataError(
            "The graph has no features x. Give a matrix of shape [N, F], for instance one-hot"
            " degrees by torch_geometric.transforms.OneHotDegree."
        )
    edge_index = data.edge_index
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.dtype != torch.long:
        raise DataError(
            "edge_index must be a tensor of 64-bit integers of shape [2, E],"
            f" got {edge_index.dtype} of shape {list(edge_index.shape)}."
        )
    if data.x is not None and data.x.dim() != 2:
        raise DataError(f"x must be a matrix of shape [N, F], got shape {list(data.x.shape)}.")
    num_nodes = int(data.num_nodes if data.x is None else data.x.size(0))
    if data.num_nodes != num_nodes:
        raise DataError(f"x must have one row a node ({data.num_nodes}), got {num_nodes}.")
    if num_nodes == 0:
        raise DataError("The graph has no nodes.")
    if edge_index.numel() == 0:
        raise DataError(
            "The graph has no edges: nothing can be learned from its structure."
            " Check the edge file, or classify the nodes by their features alone."
        )
    low, high = int(edge_index.min()), int(edge_index.max())
    if low < 0 or high >= num_nodes:
        bad = low if low < 0 else high
        raise DataError(f"edge_index must hold node ids from 0 to {num_nodes - 1}, got {bad}.")
    return num_nodes


def _undirected_edges(data: Data, num_nodes: int, notes: list[str]) -> tuple[Tensor, Tensor | None]:
    edge_index: Tensor = data.edge_index
    weight: Tensor | None = data.get("edge_weight")
    if weight is not None:
        if weight.shape != edge_index.shape[1:]:
            raise DataError(
                f"edge_weight must have one number an edge ({edge_index.size(1)}),"
                f" got shape {list(weight.shape)}."
            )
        if not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
            raise DataError("edge_weight must be finite and not negative.")
        weight = weight.float()
    if contains_self_loops(edge_index):
        loops = int((edge_index[0] == edge_index[1]).sum())
        notes.append(f"Left out self-loops ({loops:,}); each layer adds its own.")
        edge_index, weight = remove_self_loops(edge_index, weight)
        if edge_index.numel() == 0:
            raise DataError("The graph has no edges but self-loops.")
    before = edge_index.size(1)
    if weight is None:
        edge_index = coalesce(edge_index, num_nodes=num_nodes)
    else:
        edge_index, weight = coalesce(edge_index, weight, num_nodes=num_nodes, reduce="mean")
    if edge_index.size(1) < before:
        merged = before - edge_index.size(1)
        notes.append(f"Merged {merged:,} repeated edges, their weights averaged if they had any.")
    before = edge_index.size(1)
    if weight is None:
        edge_index = to_undirected(edge_index, num_nodes=num_nodes)
    else:
        one_way, one_way_weight = edge_index, weight
        edge_index, weight = to_undirected(edge_index, weight, num_nodes=num_nodes, reduce="mean")
        differing = _changed_weights(one_way, one_way_weight, edge_index, weight, num_nodes)
        if differing:
            notes.append(f"Averaged the weights of {differing:,} pairs of opposite edges.")
    if edge_index.size(1) > before:
        reversed_edges = edge_index.size(1) - before
        notes.append(f"Made the graph undirected: added {reversed_edges:,} reverse edges.")
    return edge_index, weight


def _changed_weights(
    before: Tensor, old: Tensor, after: Tensor, new: Tensor, num_nodes: int
) -> int:
    """How many pairs had two different weights, one for each direction."""
    keys = after[0] * num_nodes + after[1]  # sorted, as coalesced edges are
    place = torch.searchsorted(keys, before[0] * num_nodes + before[1])
    changed = ~torch.isclose(new[place], old, rtol=1e-5, atol=0.0)
    return int(changed.sum()) // 2


def _checked_features(data: Data, num_nodes: int) -> Tensor:
    x: Tensor = data.x
    x = to_csr(x)
    values = (x.values() if x.layout == torch.sparse_csr else x).float()
    if not bool(torch.isfinite(values).all()):
        where = (~torch.isfinite(values)).nonzero()[0]
        if x.layout == torch.sparse_csr:
            entry = int(where[0])
            column = int(x.col_indices()[entry])
            node = int(torch.searchsorted(x.crow_indices(), entry, right=True)) - 1
            value = float(values[entry])
        else:
            node, column = where.tolist()
            value = float(values[node, column])
        raise DataError(
            f"x must be finite, got {value} at node {node}, feature {column}."
            " Replace missing values before training."
        )
    if x.layout == torch.sparse_csr:
        return sparse_features(
            x.crow_indices(), x.col_indices(), values, (num_nodes, int(x.size(1)))
        )
    return compact_features(values)


def _checked_labels(y: Tensor, num_nodes: int) -> Tensor:
    if y.dim() not in (1, 2) or y.size(0) != num_nodes or y.numel() == 0:
        raise DataError(
            f"y must have shape [{num_nodes}] or [{num_nodes}, C], got {list(y.shape)}."
        )
    if y.dim() == 2 and y.size(1) > 1:
        if not bool(((y == 0) | (y == 1)).all()):
            raise DataError("y of shape [N, C] must hold only 0 and 1.")
        return y.float()
    labels = y.flatten()
    if labels.is_floating_point():
        if not bool((labels == labels.round()).all()):
            raise DataError("y must hold class ids (whole numbers).")
        labels = labels.long()
    labels = labels.long()
    low, high = int(labels.min()), int(labels.max())
    if low < -1 or high >= num_nodes:
        bad = low if low < -1 else high
        node = int((labels == bad).nonzero()[0])
        raise DataError(
            f"y must hold class ids from 0 to {num_nodes - 1}, or -1 for unknown,"
            f" got {bad} at node {node}."
        )
    if high < 0:
        raise DataError("y holds no known label: all are -1.")
    return labels
