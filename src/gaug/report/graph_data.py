"""A graph and its change in few characters, for the drawing on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from gaug.drawing.names import printable
from gaug.inspection.augmentation import Augmentation

#: More nodes or edges than this are not put into a page.
MOST_NODES, MOST_EDGES = 20_000, 300_000
# Names are cut at this many characters.
_LONGEST = 200
# A node with more around it within two steps is not the one to begin with.
_READABLE = 150


def graph_data(done: Augmentation, pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """What the drawing needs, and the number of each node in it.

    Of a large graph only the surroundings of the listed pairs are kept.

    Args:
        done: The augmentation.
        pairs: Pairs that the page lists, whose surroundings must be there.

    Returns:
        ``data`` for the page, and ``numbers``: the place of each node in it.
    """
    ends, states, scores = _edges(done)
    num_nodes = int(done.graph.data.num_nodes)
    nodes = np.arange(num_nodes)
    note = ""
    if num_nodes > MOST_NODES or ends.shape[1] > MOST_EDGES:
        start = np.unique(np.array(pairs, dtype=np.int64)) if pairs else nodes[:1]
        nodes = _surroundings(ends, num_nodes, start)
        note = (
            f"Of this large graph, the page has the {len(nodes):,} nodes around the listed"
            " changes; gaug explain answers for every pair."
        )
    place = np.full(num_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    inside = (place[ends] >= 0).all(axis=0)
    ends, states, scores = place[ends[:, inside]], states[inside], scores[inside]
    order = np.lexsort((ends[1], ends[0]))
    ends, states, scores = ends[:, order], states[order], scores[order]
    counts = np.bincount(ends[0], minlength=len(nodes))
    # The end of each edge, as the gap to the one before it at the same node.
    before = np.where(np.r_[True, ends[0][1:] != ends[0][:-1]], ends[0], np.r_[0, ends[1][:-1]])
    ids, y = done.graph.ids, done.graph.data.y
    data: dict[str, Any] = {
        "names": None
        if ids.are_numbers and len(nodes) == num_nodes
        else [printable(ids[int(node)][:_LONGEST]) for node in nodes],
        "counts": counts.tolist(),
        "gaps": (ends[1] - before).tolist() if ends.size else [],
        "states": "".join(map(str, states.tolist())),
        "scores": [float(f"{score:.4g}") for score in scores[states > 0].tolist()],
        "classes": None,
        "classNames": [printable(name[:_LONGEST]) for name in done.graph.class_names],
        "start": _start(ends, states, len(nodes)),
        "note": note,
    }
    if y is not None and y.dim() == 1:
        data["classes"] = y.numpy()[nodes].tolist()
    return {"data": data, "numbers": {int(node): i for i, node in enumerate(nodes)}}


def _edges(done: Augmentation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs that were or are edges, 0 for kept, 1 for added, 2 for removed, and scores."""
    added = done.change.added
    ends = torch.cat([done.edges, added.pairs], dim=1).numpy()
    states = np.r_[np.where(done.kept.numpy(), 0, 2), np.ones(len(added), dtype=np.int64)]
    scores = torch.cat([done.edge_scores.double(), added.logits.double()]).numpy()
    return ends, states, scores


def _surroundings(ends: np.ndarray, num_nodes: int, start: np.ndarray) -> np.ndarray:
    """Nodes within two steps of the start, as many as fit, nearest first."""
    reached = np.zeros(num_nodes, dtype=bool)
    reached[start] = True
    for _ in range(2):
        touching = reached[ends].any(axis=0)
        new = np.setdiff1d(np.unique(ends[:, touching]), np.flatnonzero(reached))
        wider = reached.copy()
        wider[new[: MOST_NODES - int(reached.sum())]] = True
        if wider[ends].all(axis=0).sum() > MOST_EDGES:
            break
        reached = wider
    return np.flatnonzero(reached)


def _start(ends: np.ndarray, states: np.ndarray, count: int) -> int:
    """A node to begin with: most added and removed edges at once, but not too much around it."""
    added, removed, every = (
        np.bincount(ends[:, which].ravel(), minlength=count)
        for which in (states == 1, states == 2, states >= 0)
    )
    # The neighbors' neighbors, those that two of them share counted twice.
    around = every + np.bincount(ends[0], every[ends[1]], count)
    around += np.bincount(ends[1], every[ends[0]], count)
    readable = around <= _READABLE
    return int(np.lexsort((every, added + removed, np.minimum(added, removed), readable))[-1])
