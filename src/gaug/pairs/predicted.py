"""The node pairs that a classifier most confidently predicts to share a class, or to differ.

Ties go to the smaller node ids.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gaug.graph.edges import keys_to_pairs, pair_keys


@dataclass(frozen=True)
class Predicted:
    r"""The predicted class of each node and its confidence.

    $$
    \hat y_u = \arg\max_c p_{uc}, \qquad q_u = \max_c p_{uc}, \qquad q_{uv} = \min(q_u, q_v)
    $$

    In a multi-label graph the predicted class is the most probable label.

    Attributes:
        label: The most probable class of each node.  [N]
        confidence: Its probability q.  [N]
    """

    label: Tensor
    confidence: Tensor

    @classmethod
    def of(cls, probabilities: Tensor) -> Predicted:
        """The prediction from class probabilities.  [N, C]"""
        confidence, label = probabilities.max(dim=1)
        return cls(label, confidence)


def pairs_to_remove(
    predicted: Predicted, edges: Tensor, least_confidence: float, count: int
) -> Tensor:
    """The most confident edges between different predicted classes, at most ``count``.  [2, r]

    Args:
        predicted: Class and confidence of each node.
        edges: Undirected edges, each once as (smaller id, larger id), in that order.  [2, E]
        least_confidence: Pairs below it are ignored.
        count: Maximum number of edges.
    """
    label, confidence = predicted.label[edges], predicted.confidence[edges].amin(dim=0)
    chosen = (label[0] != label[1]) & (confidence >= least_confidence)
    return _by_confidence(predicted, edges[:, chosen])[:, :count]


def pairs_to_add(
    predicted: Predicted, edges: Tensor, least_confidence: float, count: int
) -> Tensor:
    """The most confident non-edges within a predicted class, at most ``count``.  [2, a]

    Exact, in memory proportional to N + |E| + count and the time to sort as much. A pair is as
    confident as its less confident node. Going through the nodes from the most confident down, each
    node adds one pair of its own confidence per earlier node of its class, except its edges. The
    node at which the sum reaches ``count`` gives the confidence of the last pair: all pairs above
    it are taken, and of the pairs that tie with it, the first by ids.

    Args:
        predicted: Class and confidence of each node.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        least_confidence: Pairs below it are ignored.
        count: Maximum number of pairs.
    """
    confidence, num_nodes = predicted.confidence, predicted.label.numel()
    order = confidence.argsort(descending=True, stable=True)
    order = order[confidence[order] >= least_confidence]
    if order.numel() == 0:
        return edges[:, :0]
    found = _num_brought(predicted.label, order, edges).cumsum(0)
    last = int(torch.searchsorted(found, count).clamp(max=order.numel() - 1))
    limit = confidence[order[last]]
    taken = pair_keys(edges, num_nodes)
    above = _first_within_class(predicted.label, confidence > limit, taken, count)
    taken = torch.cat([taken, above])
    tied = _first_within_class(predicted.label, confidence >= limit, taken, count - above.numel())
    keys = torch.cat([above, tied])
    return _by_confidence(predicted, keys_to_pairs(keys, num_nodes))


def _num_brought(label: Tensor, order: Tensor, edges: Tensor) -> Tensor:
    """Number of non-edges from each node to earlier nodes of its class, in a given order.  [n]"""
    n = order.numel()
    place = torch.full_like(label, -1)
    place[order] = torch.arange(n, device=label.device)
    sizes = torch.bincount(label[order])
    starts = sizes.cumsum(0) - sizes
    by_class = order[label[order].argsort(stable=True)]
    num_before = torch.empty_like(order)
    num_before[place[by_class]] = torch.arange(n, device=label.device) - starts[label[by_class]]
    places = place[edges]
    inside = (places >= 0).all(dim=0) & (label[edges[0]] == label[edges[1]])
    return num_before - torch.bincount(places[:, inside].amax(dim=0), minlength=n)


def _first_within_class(label: Tensor, chosen: Tensor, taken: Tensor, count: int) -> Tensor:
    """Keys of the first pairs, by ids, of chosen nodes of one class, except those taken.  [n]

    Only as many rows (smaller ids) are listed as needed: at most ``count`` pairs, those taken and
    one row.

    Args:
        label: Class of each node.  [N]
        chosen: Whether to include each node.  [N]
        taken: Keys of pairs to leave out.  [t]
        count: Maximum number of keys.
    """
    num_nodes = label.numel()
    nodes = chosen.nonzero().flatten()
    # Sorted by class, then id: the possible partners of a node follow it until its class ends.
    members = nodes[label[nodes].argsort(stable=True)]
    place = torch.empty_like(label)
    place[members] = torch.arange(members.numel(), device=label.device)
    first = place[nodes] + 1
    length = torch.bincount(label[nodes]).cumsum(0)[label[nodes]] - first
    smaller, larger = keys_to_pairs(taken, num_nodes)
    inside = chosen[smaller] & chosen[larger] & (label[smaller] == label[larger])
    num_taken = torch.bincount(smaller[inside], minlength=num_nodes)[nodes]
    num_rows = int(torch.searchsorted((length - num_taken).cumsum(0), count)) + 1
    first, length = first[:num_rows], length[:num_rows]
    shift = first - (length.cumsum(0) - length)  # from list position to partner position
    listed = torch.arange(int(length.sum()), device=label.device)
    partner = members[listed + shift.repeat_interleave(length)]
    keys = nodes[:num_rows].repeat_interleave(length) * num_nodes + partner
    return keys[~torch.isin(keys, taken)][:count]


def _by_confidence(predicted: Predicted, pairs: Tensor) -> Tensor:
    """Pairs with the most confident first; ties stay in their order."""
    confidence = predicted.confidence[pairs].amin(dim=0)
    return pairs[:, confidence.argsort(descending=True, stable=True)]
