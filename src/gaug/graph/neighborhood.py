"""The surroundings of some nodes: what a mini-batch needs of a graph.

The work is proportional to the nodes that are found and their edges, never to the whole graph.
Each step has an eager form in NumPy and one that Numba compiles (`compiled_neighborhood`). Random
choices are hashes of a key, a node and a position, so both forms find the same nodes, in any order
and with any number of threads.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.graph.compiling import compiled_form
from gaug.graph.sparse import Pattern

Ids = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

#: Marks a node that is not part of a neighborhood.
OUTSIDE = -1
#: Odd numbers that tell nodes and positions apart in a hash.
NODE_FACTOR, STEP_FACTOR = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03


@dataclass(frozen=True)
class Neighborhood:
    """Some nodes of a graph, and the edges between them.

    Attributes:
        nodes: Their ids, ascending.  [n]
        seeds: Places of the nodes that it surrounds, among ``nodes``.  [s]
        adjacency: The edges between them; nodes are numbered by their place.
    """

    nodes: Tensor
    seeds: Tensor
    adjacency: Adjacency


class Neighborhoods:
    """Finds neighborhoods in one graph; may be used by several threads at once.

    Args:
        adjacency: The graph, symmetric, on the CPU.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        self._adjacency = adjacency
        self._crow: Ids = adjacency.pattern.crow.numpy()
        self._col: Ids = adjacency.pattern.col.numpy()
        # Place of each node in the neighborhood at hand; one array for each thread at work.
        self._spare: deque[Places] = deque()

    def around(
        self, seeds: Tensor, hops: int, fanout: int | None = None, key: int = 0
    ) -> Neighborhood:
        """The nodes within some hops of the seeds, with all edges between them.

        Without a fanout, a GNN with as many layers as hops computes for the seeds what it computes
        on the whole graph: nodes at the border keep their degree in the whole graph
        (`Adjacency.outside`). With one, the edges between the found nodes stand for the graph.

        Args:
            seeds: Ids of distinct nodes.  [s]
            hops: Number of hops.
            fanout: How many neighbors of each node are followed at most, drawn without
                replacement; None: all.
            key: Decides which ones, in [0, 2^64).
        """
        if hops < 0:
            raise ConfigError(f"hops must be at least 0, got {hops}.")
        if fanout is not None and fanout < 1:
            raise ConfigError(f"fanout must be at least 1, got {fanout}.")
        form = compiled_form("gaug.graph.compiled_neighborhood")
        reach, induce = (reached, induced) if form is None else (form.reached, form.induced)
        wanted = seeds.numpy()
        with self._places() as place:
            nodes = reach(self._crow, self._col, wanted, hops, fanout or 0, key, place)
            try:
                own = place[wanted].astype(np.int64)
                starts, ends, entries = induce(self._crow, self._col, nodes, place)
            finally:
                place[nodes] = OUTSIDE
        pattern = Pattern(
            torch.from_numpy(starts), torch.from_numpy(ends), nodes.size, symmetric=True
        )
        ids, kept = torch.from_numpy(nodes), torch.from_numpy(entries)
        whole = self._adjacency
        weight = None if whole.weight is None else whole.weight[kept]
        outside = None if fanout is not None else self._outside(ids, pattern, weight)
        adjacency = Adjacency(pattern, weight, symmetric=True, outside=outside)
        return Neighborhood(ids, torch.from_numpy(own), adjacency)

    def _outside(self, nodes: Tensor, pattern: Pattern, weight: Tensor | None) -> Tensor | None:
        """For each node, the sum of the weights of its edges that lead out; None if none does."""
        whole = self._adjacency
        leading_out = (
            whole.pattern.crow[nodes + 1] - whole.pattern.crow[nodes] - pattern.crow.diff()
        )
        if not bool(leading_out.any()):
            return None
        if weight is None:
            return leading_out.float()
        within = weight.new_zeros(nodes.numel()).index_add(0, pattern.row, weight)
        difference = whole.strengths[nodes] - within
        # Sums of floating-point numbers that should be equal may differ by rounding.
        return torch.where(leading_out > 0, difference.clamp(min=0), 0.0)

    @contextlib.contextmanager
    def _places(self) -> Iterator[Places]:
        try:
            place = self._spare.pop()
        except IndexError:
            place = np.full(self._crow.size - 1, OUTSIDE, np.int32)
        try:
            yield place
        finally:
            self._spare.append(place)


def reached(
    crow: Ids, col: Ids, seeds: Ids, hops: int, fanout: int, key: int, place: Places
) -> Ids:
    """The nodes within some hops of the seeds, ascending; their places are written to ``place``.

    Args:
        crow: Start of each node's neighbors in ``col``.  [N + 1]
        col: The neighbors.
        seeds: Where to start.
        hops: Number of hops.
        fanout: How many neighbors of a node are followed at most; 0: all.
        key: Decides which ones.
        place: `OUTSIDE` for every node.  [N]
    """
    place[seeds] = 0
    layers, frontier = [seeds], seeds
    for _ in range(hops):
        followed = col[_entries_followed(crow, frontier, fanout, key)]
        frontier = np.unique(followed[place[followed] == OUTSIDE])
        if frontier.size == 0:
            break
        place[frontier] = 0
        layers.append(frontier)
    nodes = np.sort(np.concatenate(layers))
    place[nodes] = np.arange(nodes.size, dtype=np.int32)
    return nodes


def induced(crow: Ids, col: Ids, nodes: Ids, place: Places) -> tuple[Ids, Ids, Ids]:
    """The edges between some nodes, by their places: row starts, columns, and entries of ``col``.

    Args:
        crow: Start of each node's neighbors in ``col``.  [N + 1]
        col: The neighbors.
        nodes: The nodes, ascending.  [n]
        place: Their places, and `OUTSIDE` for all others.  [N]
    """
    entries = _all_entries(crow, nodes)
    places = place[col[entries]]
    within = places != OUTSIDE
    row = np.repeat(np.arange(nodes.size), crow[nodes + 1] - crow[nodes])
    counts = np.bincount(row[within], minlength=nodes.size)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return starts, places[within].astype(np.int64), entries[within]


def chosen(key: int, nodes: Ids, degrees: Ids, fanout: int) -> Ids:
    """Distinct positions below each degree, drawn by Robert Floyd's algorithm.  [n, fanout]

    It takes as many steps as positions are drawn, however large the degree.

    Args:
        key: Decides which ones.
        nodes: The nodes.  [n]
        degrees: Their degrees, above the fanout.  [n]
        fanout: Number of positions.
    """
    picks = np.empty((nodes.size, fanout), np.int64)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is intended
        own = np.uint64(key) + nodes.astype(np.uint64) * np.uint64(NODE_FACTOR)
        for step in range(fanout):
            last = degrees - fanout + step
            bits = _mixed(own + np.uint64(step) * np.uint64(STEP_FACTOR))
            pick = (bits % (last + 1).astype(np.uint64)).astype(np.int64)
            taken = (picks[:, :step] == pick[:, None]).any(axis=1)
            picks[:, step] = np.where(taken, last, pick)
    return picks


def _entries_followed(crow: Ids, frontier: Ids, fanout: int, key: int) -> Ids:
    degrees = crow[frontier + 1] - crow[frontier]
    if fanout == 0:
        return _all_entries(crow, frontier)
    many = degrees > fanout
    picks = chosen(key, frontier[many], degrees[many], fanout)
    drawn = (crow[frontier[many], None] + picks).ravel()
    return np.concatenate([_all_entries(crow, frontier[~many]), drawn])


def _all_entries(crow: Ids, nodes: Ids) -> Ids:
    """The entries of the rows of some nodes, one row after the other."""
    counts = crow[nodes + 1] - crow[nodes]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(crow[nodes] - (ends - counts), counts) + np.arange(total)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of Sebastiano Vigna's splitmix64 (public domain)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return mixed
