"""What each node offers where most pairs score 0: from a list of those that do not."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from torch import Tensor

from gaug.graph.edges import directed_keys
from gaug.pairs.best_pairs import is_contained
from gaug.pairs.hashing import pair_hash
from gaug.pairs.offers import best_of_rows, first_offers, undirected_keys
from gaug.pairs.scores import NonzeroScores

_LAST = np.uint64(2**64 - 1)
# Hashes that are looked at together.
_HASHES = 1 << 20


class ListedOffers:
    """The same as `gaug.pairs.offers.Offers`, looking only at pairs that do not score 0.

    A node that has too few of them goes on with pairs that score 0, in the order of their hashes.

    Args:
        scores: Scores of all pairs.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        num_nodes: Number of nodes.
        rounds: Number of rounds.
    """

    def __init__(self, scores: NonzeroScores, edges: Tensor, num_nodes: int, rounds: int) -> None:
        self._scores = scores
        self._num_nodes = num_nodes
        self._rounds = rounds
        self._edges = directed_keys(edges, num_nodes).numpy()
        self._found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def visit(self, start: int, stop: int) -> None:
        """Find the offers of nodes start to stop."""
        listed = self._scores.nonzero_rows(start, stop)
        row, column = np.repeat(np.arange(stop - start), np.diff(listed.indptr)), listed.indices
        place = (row + start) * self._num_nodes + column
        free = (listed.data != 0) & (row + start != column) & ~is_contained(place, self._edges)
        row, column, values = row[free], column[free], listed.data[free]
        positive = np.bincount(row[values > 0], minlength=stop - start)
        few = np.flatnonzero(positive < self._rounds)
        useful = (values > 0) | (positive[row] < self._rounds)
        zero_row, zero_column = self._best_zeros(few + start, listed[few])
        row = np.concatenate([row[useful], few[zero_row]])
        column = np.concatenate([column[useful], zero_column])
        values = np.concatenate([values[useful], np.zeros(zero_row.size, dtype=np.float32)])
        keys = undirected_keys(row + start, column, self._num_nodes)
        self._found.append(best_of_rows(row, keys, values, self._num_nodes, self._rounds))

    def collected(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The round in which each pair is first offered, its score and its key."""
        return first_offers(self._found)

    def _best_zeros(self, nodes: np.ndarray, listed: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        """The first non-edges of nodes that score 0, as places in ``nodes`` and columns."""
        height = max(1, _HASHES // self._num_nodes)
        rows, columns = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for begin in range(0, nodes.size, height):
            some, scores = nodes[begin : begin + height], listed[begin : begin + height]
            hashes = pair_hash(some[:, None], np.arange(self._num_nodes))
            hashes[self._taken(some, scores)] = _LAST
            count = min(self._rounds, self._num_nodes)
            chosen = np.argpartition(hashes, count - 1, axis=1)[:, :count]
            row = np.repeat(np.arange(some.size), count)
            free = hashes[row, chosen.ravel()] != _LAST
            rows.append(row[free] + begin)
            columns.append(chosen.ravel()[free])
        return np.concatenate(rows), np.concatenate(columns)

    def _taken(self, nodes: np.ndarray, listed: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        """Where pairs of nodes are edges, do not score 0, or are no pairs."""
        first = np.searchsorted(self._edges, nodes * self._num_nodes)
        last = np.searchsorted(self._edges, (nodes + 1) * self._num_nodes)
        degrees = last - first
        places = np.arange(degrees.sum()) + np.repeat(first - (degrees.cumsum() - degrees), degrees)
        scored = listed.data != 0
        row = np.repeat(np.arange(nodes.size), np.diff(listed.indptr))[scored]
        own = np.arange(nodes.size)
        return (
            np.concatenate([np.repeat(own, degrees), row, own]),
            np.concatenate([self._edges[places] % self._num_nodes, listed.indices[scored], nodes]),
        )
