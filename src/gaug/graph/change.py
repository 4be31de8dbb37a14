"""A change of a graph: undirected edges added and removed, and how to draw them by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.errors import DataError
from gaug.graph.edges import keys_to_pairs, pair_keys, undirected_pairs
from gaug.graph.labels import is_multilabel

# Up to this many pairs of nodes are listed outright when non-edges are drawn: 10 MB of work.
_LISTED_PAIRS = 100_000


@dataclass(frozen=True)
class GraphChange:
    """Undirected edges added and removed, each once as (smaller id, larger id).

    Attributes:
        added: Pairs that were no edges.  [2, a]
        removed: Pairs that were edges.  [2, r]
    """

    added: Tensor
    removed: Tensor

    def apply(self, data: Data) -> Data:
        """A copy of a valid graph with the change made; an added edge has weight 1."""
        num_nodes = int(data.num_nodes)
        upper = data.edge_index[0] < data.edge_index[1]
        pairs = data.edge_index[:, upper]
        kept = ~torch.isin(pair_keys(pairs, num_nodes), pair_keys(self.removed, num_nodes))
        keys = pair_keys(torch.cat([pairs[:, kept], self.added], dim=1), num_nodes)
        reverse = pair_keys(keys_to_pairs(keys, num_nodes).flip(0), num_nodes)
        both, order = torch.cat([keys, reverse]).sort()
        changed = data.clone()
        changed.edge_index = keys_to_pairs(both, num_nodes)
        weight = data.get("edge_weight")
        if weight is not None:
            once = torch.cat([weight[upper][kept], weight.new_ones(self.added.size(1))])
            changed.edge_weight = once.repeat(2)[order]
        return changed


def random_change(
    data: Data, num_added: int, num_removed: int, generator: torch.Generator
) -> GraphChange:
    """Non-edges to add and edges to remove, each drawn uniformly without replacement."""
    edges = undirected_pairs(data.edge_index)
    num_nodes = int(data.num_nodes)
    free = num_nodes * (num_nodes - 1) // 2 - edges.size(1)
    _check_count("remove", num_removed, edges.size(1))
    _check_count("add", num_added, free)
    one_group = torch.zeros(num_nodes, dtype=torch.long)
    return GraphChange(
        added=_draw_non_edges(edges, one_group, num_added, generator),
        removed=_draw_some(edges, num_removed, generator),
    )


def omniscient_change(
    data: Data, num_added: int, num_removed: int, generator: torch.Generator
) -> GraphChange:
    """A change with knowledge of every label: adds within a class, removes between classes.

    An upper bound for figures, not a method: it looks at the labels of all nodes. Where there are
    fewer pairs of the right kind than asked, it takes all of them. Nodes without a label are left
    alone.
    """
    if data.y is None or is_multilabel(data):
        raise DataError("An omniscient change needs exactly one class per node.")
    labels: Tensor = data.y
    edges = undirected_pairs(data.edge_index)
    ends = labels[edges]
    between = (ends[0] != ends[1]) & (ends >= 0).all(dim=0)
    _check_count("remove", num_removed, edges.size(1))
    _check_count("add", num_added, int(data.num_nodes) ** 2)
    return GraphChange(
        added=_draw_non_edges(edges, labels, num_added, generator),
        removed=_draw_some(edges[:, between], num_removed, generator),
    )


def _check_count(verb: str, count: int, largest: int) -> None:
    if not 0 <= count <= largest:
        raise DataError(f"The number of edges to {verb} must be from 0 to {largest}, got {count}.")


def _draw_some(pairs: Tensor, count: int, generator: torch.Generator) -> Tensor:
    order = torch.randperm(pairs.size(1), generator=generator)
    return pairs[:, order[:count]]


def _draw_non_edges(edges: Tensor, group: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Up to ``count`` non-edges within a group; nodes of a negative group take no part."""
    num_nodes = group.numel()
    members = [(group == g).nonzero().flatten() for g in range(int(group.max()) + 1)]
    members = [nodes for nodes in members if nodes.numel() > 1]
    sizes = torch.tensor([nodes.numel() * (nodes.numel() - 1) // 2 for nodes in members])
    inside = (group[edges[0]] == group[edges[1]]) & (group[edges[0]] >= 0)
    edge_keys = pair_keys(edges[:, inside], num_nodes)
    total = int(sizes.sum()) if members else 0
    count = min(count, total - edge_keys.numel())
    # Drawing anew until all are distinct is fast only while most pairs are still free.
    if total <= max(_LISTED_PAIRS, 2 * (count + edge_keys.numel())):
        listed = [
            nodes[torch.triu_indices(nodes.numel(), nodes.numel(), offset=1)] for nodes in members
        ]
        every = torch.cat([torch.empty(2, 0, dtype=torch.long), *listed], dim=1)
        free = every[:, ~torch.isin(pair_keys(every, num_nodes), edge_keys)]
        return _draw_some(free, count, generator)
    keys = torch.empty(0, dtype=torch.long)
    ordered = torch.cat(members)
    starts = torch.tensor([0, *[nodes.numel() for nodes in members]]).cumsum(0)
    while keys.numel() < count:
        size = 2 * (count - keys.numel()) + 16
        # By n², the number of ordered draws, so that every pair is as likely in any group.
        chosen = torch.multinomial(starts.diff().double() ** 2, size, True, generator=generator)
        width = starts.diff()[chosen]
        spots = torch.rand((2, size), generator=generator, dtype=torch.float64) * width
        pair = ordered[starts[chosen] + spots.long().clamp_(max=width - 1)].sort(dim=0).values
        fresh = pair_keys(pair[:, pair[0] < pair[1]], num_nodes)
        merged = torch.cat([keys, fresh[~torch.isin(fresh, edge_keys)]])
        # Repeats go, and the order drawn stays, so that cutting off the end is not biased.
        first = np.unique(merged.numpy(), return_index=True)[1]
        keys = merged[torch.from_numpy(np.sort(first))]
    keys = keys[:count]
    return keys_to_pairs(keys, num_nodes)
