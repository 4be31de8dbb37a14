"""A change of a graph: undirected edges added and removed, and how to draw them by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.errors import DataError
from gaug.graph import undirected_pairs

# Up to so many pairs of nodes are listed outright when non-edges are drawn.
_LISTED_PAIRS = 4_000_000


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
        """A copy of a valid graph with the change made."""
        num_nodes = int(data.num_nodes)
        pairs = undirected_pairs(data.edge_index)
        kept = pairs[
            :, ~torch.isin(pair_keys(pairs, num_nodes), pair_keys(self.removed, num_nodes))
        ]
        keys = pair_keys(torch.cat([kept, self.added], dim=1), num_nodes)
        smaller, larger = keys // num_nodes, keys % num_nodes
        both = torch.cat([keys, larger * num_nodes + smaller]).sort().values
        changed = data.clone()
        changed.edge_index = torch.stack([both // num_nodes, both % num_nodes])
        return changed


def pair_keys(pairs: Tensor, num_nodes: int) -> Tensor:
    """One number for each pair, in the order of the pairs.  [E]"""
    return pairs[0] * num_nodes + pairs[1]


def random_change(
    data: Data, num_added: int, num_removed: int, generator: torch.Generator
) -> GraphChange:
    """Non-edges to add and edges to remove, each drawn uniformly without replacement."""
    return _draw(data, num_added, num_removed, generator, lambda pairs: None)


def omniscient_change(
    data: Data, num_added: int, num_removed: int, generator: torch.Generator
) -> GraphChange:
    """The change of somebody who knows every label: adds within a class, removes between classes.

    An upper bound for figures, not a method: it looks at the labels of all nodes. Where there are
    fewer pairs of the right kind than asked, it takes all of them.
    """
    labels: Tensor = data.y

    def same_class(pairs: Tensor) -> Tensor:
        return (labels[pairs[0]] == labels[pairs[1]]) & (labels[pairs[0]] >= 0)

    return _draw(data, num_added, num_removed, generator, same_class)


def _draw(
    data: Data,
    num_added: int,
    num_removed: int,
    generator: torch.Generator,
    same_class: Callable[[Tensor], Tensor | None],
) -> GraphChange:
    edges = undirected_pairs(data.edge_index)
    same = same_class(edges)
    removable = edges if same is None else edges[:, ~same]
    if num_removed > edges.size(1):
        raise DataError(
            f"The number of edges to remove must be at most {edges.size(1)}, got {num_removed}."
        )
    order = torch.randperm(removable.size(1), generator=generator)
    return GraphChange(
        added=_draw_non_edges(data, num_added, generator, same_class),
        removed=removable[:, order[:num_removed]],
    )


def _draw_non_edges(
    data: Data,
    count: int,
    generator: torch.Generator,
    same_class: Callable[[Tensor], Tensor | None],
) -> Tensor:
    num_nodes = int(data.num_nodes)
    total = num_nodes * (num_nodes - 1) // 2
    edge_keys = pair_keys(undirected_pairs(data.edge_index), num_nodes)
    free = total - edge_keys.numel()
    if count > free:
        raise DataError(
            f"The number of edges to add must be at most the number of non-edges ({free}),"
            f" got {count}."
        )

    def allowed(pairs: Tensor) -> Tensor:
        fits = ~torch.isin(pair_keys(pairs, num_nodes), edge_keys)
        same = same_class(pairs)
        return pairs[:, fits if same is None else fits & same]

    if total <= _LISTED_PAIRS:
        listed = allowed(torch.triu_indices(num_nodes, num_nodes, offset=1))
        order = torch.randperm(listed.size(1), generator=generator)
        return listed[:, order[:count]]
    keys = torch.empty(0, dtype=torch.long)
    while keys.numel() < count:
        drawn = torch.randint(num_nodes, (2, 2 * (count - keys.numel()) + 16), generator=generator)
        drawn = drawn.sort(dim=0).values
        fresh = pair_keys(allowed(drawn[:, drawn[0] < drawn[1]]), num_nodes)
        merged = torch.cat([keys, fresh])
        # Repeats go, and the order drawn stays, so that cutting off the end is not biased.
        first = np.unique(merged.numpy(), return_index=True)[1]
        keys = merged[torch.from_numpy(np.sort(first))]
    keys = keys[:count]
    return torch.stack([keys // num_nodes, keys % num_nodes])
