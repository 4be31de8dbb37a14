"""The node pairs that a classifier most confidently predicts to share a class, or to differ.

Ties go to the pair with the lowest `gaug.pairs.hashing.pair_hash`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gaug.graph.edges import keys_to_pairs, pair_keys
from gaug.pairs.hashing import key_hash, pair_hash

# Of more tied pairs than this, only those of some nodes are compared.
_MOST_TIED = 1 << 24
# Tied pairs listed at a time.
_LISTED = 1 << 20


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

    In memory proportional to N + |E| + count and the time to sort as much. A pair is as confident
    as its less confident node. Going through the nodes from the most confident down, each node adds
    one pair of its own confidence per earlier node of its class, except its edges. The node at
    which the sum reaches ``count`` gives the confidence of the last pair: all pairs above it are
    taken, and of the pairs that tie with it, those with the lowest hashes. If all nodes tie, these
    are nearly all pairs: of more than 16 million, only those among the first nodes in the order of
    a hash of the node take part, as many nodes as have that many pairs.

    Args:
        predicted: Class and confidence of each node.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        least_confidence: Pairs below it are ignored.
        count: Maximum number of pairs.
    """
    confidence = predicted.confidence
    order = confidence.argsort(descending=True, stable=True)
    order = order[confidence[order] >= least_confidence]
    if order.numel() == 0:
        return edges[:, :0]
    found = _num_brought(predicted.label, order, edges).cumsum(0)
    last = int(torch.searchsorted(found, count).clamp(max=order.numel() - 1))
    limit = confidence[order[last]]
    above = _above(predicted, limit, edges)
    taken = torch.cat([edges, above], dim=1)
    tied = _lowest_tied(predicted, limit, taken, count - above.size(1))
    return _by_confidence(predicted, torch.cat([above, tied], dim=1))


def _above(predicted: Predicted, limit: Tensor, edges: Tensor) -> Tensor:
    """All non-edges within a predicted class whose confidence is above a limit.  [2, n]"""
    num_nodes = predicted.label.numel()
    members = (predicted.confidence > limit).nonzero().flatten()
    taken = pair_keys(edges, num_nodes)
    found = [keys[~torch.isin(keys, taken)] for keys in _within_class(predicted.label, members)]
    return keys_to_pairs(torch.cat([taken[:0], *found]), num_nodes)


def _lowest_tied(predicted: Predicted, limit: Tensor, taken: Tensor, count: int) -> Tensor:
    """Of the pairs within a predicted class with just this confidence, those with the lowest hash.

    Args:
        predicted: Class and confidence of each node.
        limit: The confidence.
        taken: Pairs to leave out, among them all of a higher confidence.  [2, t]
        count: Maximum number of pairs.
    """
    label, num_nodes = predicted.label, predicted.label.numel()
    members = (predicted.confidence >= limit).nonzero().flatten()
    ids = members.cpu().numpy()
    members = members[torch.from_numpy(np.argsort(pair_hash(ids, ids))).to(members.device)]
    found = _num_brought(label, members, taken).cumsum(0)
    enough = max(_MOST_TIED, count)
    members = members[: int(torch.searchsorted(found, enough)) + 1].sort().values
    left_out = pair_keys(taken, num_nodes).cpu().numpy()
    best, hashes = left_out[:0], np.empty(0, dtype=np.uint64)
    for listed in _within_class(label, members):
        keys = listed.cpu().numpy()
        new = key_hash(keys, num_nodes)
        if best.size == count > 0:
            lower = new < hashes.max()
            keys, new = keys[lower], new[lower]
        free = ~np.isin(keys, left_out)
        best, hashes = np.append(best, keys[free]), np.append(hashes, new[free])
        if best.size > count:
            lowest = np.argpartition(hashes, count)[:count]
            best, hashes = best[lowest], hashes[lowest]
    return keys_to_pairs(torch.from_numpy(best).to(label.device), num_nodes)


def _within_class(label: Tensor, members: Tensor) -> Iterator[Tensor]:
    """Keys of all pairs of members of one class, about a million at a time.

    Args:
        label: Class of each node.  [N]
        members: Node ids, ascending.  [n]
    """
    # Sorted by class, then id: the partners of a node follow it until its class ends.
    members = members[label[members].argsort(stable=True)]
    first = torch.arange(1, members.numel() + 1, device=label.device)
    length = torch.bincount(label[members]).cumsum(0)[label[members]] - first
    part = length.cumsum(0) // _LISTED
    for number in sorted(set(part.tolist())):
        rows = part == number
        count, start = length[rows], first[rows]
        shift = start - (count.cumsum(0) - count)  # from list position to partner position
        place = torch.arange(int(count.sum()), device=label.device)
        partner = members[place + shift.repeat_interleave(count)]
        yield members[rows].repeat_interleave(count) * label.numel() + partner


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


def _by_confidence(predicted: Predicted, pairs: Tensor) -> Tensor:
    """Pairs with the most confident first, and of those that tie the lowest hash."""
    confidence = predicted.confidence[pairs].amin(dim=0).cpu().numpy()
    u, v = pairs.cpu().numpy()
    order = np.lexsort((pair_hash(u, v), -confidence))
    return pairs[:, torch.from_numpy(order).to(pairs.device)]
