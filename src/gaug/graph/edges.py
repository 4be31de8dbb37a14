"""Undirected edges as pairs of node ids, and as single numbers."""

from __future__ import annotations

import torch
from torch import Tensor


def undirected_pairs(edge_index: Tensor) -> Tensor:
    """Each undirected edge once, as (smaller id, larger id).  [2, E]"""
    return edge_index[:, edge_index[0] < edge_index[1]]


def pair_keys(pairs: Tensor, num_nodes: int) -> Tensor:
    """One number for each pair, in the order of the pairs.  [E]"""
    return pairs[0] * num_nodes + pairs[1]


def directed_keys(edges: Tensor, num_nodes: int) -> Tensor:
    """The numbers of both directions of undirected edges, in order.  [2E]

    Args:
        edges: Undirected edges, each once.  [2, E]
        num_nodes: Number of nodes.
    """
    both = torch.cat([edges, edges.flip(0)], dim=1)
    return pair_keys(both, num_nodes).sort().values


def keys_to_pairs(keys: Tensor, num_nodes: int) -> Tensor:
    """The pairs that `pair_keys` made numbers of.  [E] → [2, E]

    >>> keys_to_pairs(pair_keys(torch.tensor([[0, 1], [2, 3]]), 4), 4).tolist()
    [[0, 1], [2, 3]]
    """
    return torch.stack([keys // num_nodes, keys % num_nodes])
