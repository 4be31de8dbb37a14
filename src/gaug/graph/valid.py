"""What a valid graph is, and how any `Data` becomes one.

A valid graph is a PyTorch Geometric `Data` that is undirected (both directions listed), coalesced
and free of self-loops, with finite features ``x`` (dense, or ``torch.sparse_csr`` where they are
mostly zeros) and labels ``y``: class ids of shape [N] with -1 for unknown, or 0/1 of shape [N, C].
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, contains_self_loops, remove_self_loops, to_undirected

from gaug.errors import DataError
from gaug.graph.edges import pair_keys
from gaug.graph.matrices import compact_features, sparse_features
from gaug.graph.sparse import to_csr
from gaug.memory import check_fits

# Measured: both directions of each edge, with keys, sorted keys and their order.
_BYTES_PER_EDGE = 160
_MANY_EDGES = 100_000  # fewer fit anywhere


def standardize(data: Data, *, require_features: bool = True) -> tuple[Data, list[str]]:
    """Turn any `Data` into a valid graph, or refuse it.

    Args:
        data: A graph with at least ``edge_index`` and ``x``. It is not changed.
        require_features: Whether a graph without ``x`` is refused.

    Returns:
        A new `Data` and notes, one sentence for each thing that was changed on the way.

    Raises:
        DataError: Where the meaning of the input is not clear, with the place and the rule.
        ConfigError: If there is not enough memory for it.
    """
    notes: list[str] = []
    num_nodes = _checked_num_nodes(data, require_features=require_features)
    if data.edge_index.size(1) > _MANY_EDGES:
        check_fits(
            _BYTES_PER_EDGE * data.edge_index.size(1),
            "Sorting the edges of the graph",
            "Use a smaller graph or a machine with more memory.",
            num_nodes=num_nodes,
        )
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
        raise DataError(f"x must have one row per node ({data.num_nodes}), got {num_nodes}.")
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
                f"edge_weight must have one number per edge ({edge_index.size(1)}),"
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
    keys = pair_keys(after, num_nodes)  # sorted, as coalesced edges are
    place = torch.searchsorted(keys, pair_keys(before, num_nodes))
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
