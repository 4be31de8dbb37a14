"""Common neighbors of pairs, the links among them, and triangles: sparse, a few pairs at a time.

Sums run over the common neighbors in the order of their ids, in double precision, so the result is
the same to the bit whether single pairs or whole rows are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]

#: Entries of an intermediate sparse matrix; changes memory and speed, never a score.
CHUNK_ENTRIES = 1 << 22


def common_neighbors(
    adjacency: csr_matrix, pairs: np.ndarray
) -> Iterator[tuple[slice, csr_matrix]]:
    """The common neighbors of both ends, for successive parts of the pairs.

    Args:
        adjacency: Ones where there is an edge, sorted.  [N, M]
        pairs: Node ids.  [2, n]

    Yields:
        A slice of the pairs, and ones at their common neighbors.  [size of the slice, M]
    """
    first, second = pairs
    degrees = np.diff(adjacency.indptr)
    for part in _parts(degrees[first] + degrees[second]):
        yield part, adjacency[first[part]].multiply(adjacency[second[part]]).tocsr()


def shared_weight_of_pairs(adjacency: csr_matrix, weights: Floats, pairs: np.ndarray) -> Floats:
    """Sum of the weights of the common neighbors of each pair.  [2, n] → [n]"""
    sums = np.zeros(pairs.shape[1])
    for part, common in common_neighbors(adjacency, pairs):
        sums[part] = common @ weights
    return sums


def shared_weight_of_rows(
    adjacency: csr_matrix, weights: Floats, start: int, stop: int, first_column: int
) -> Floats:
    """The same for nodes start to stop with all nodes from first_column.  [stop - start, …]"""
    later = adjacency[:, first_column:]
    return np.asarray(nonzero_shared_weight(adjacency[start:stop], weights, later).toarray())


def nonzero_shared_weight(rows: csr_matrix, weights: Floats, adjacency: csr_matrix) -> csr_matrix:
    """The same for the pairs of rows and columns of the adjacency that have a common neighbor."""
    spread = np.repeat(weights, np.diff(adjacency.indptr))
    weighted = csr_matrix((spread, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    # SciPy sums a product along the left row, here the neighbors of a node in ascending order.
    return rows @ weighted


def shared_links_of_pairs(adjacency: csr_matrix, pairs: np.ndarray) -> Floats:
    """Number of edges among the common neighbors of each pair.  [2, n] → [n]"""
    num_nodes = adjacency.shape[0]
    degrees = np.diff(adjacency.indptr)
    # Each edge once, starting from the end with the smaller degree, so even hubs start few edges.
    rank = np.empty(num_nodes, dtype=np.int64)
    rank[np.argsort(degrees, kind="stable")] = np.arange(num_nodes)
    tail, head = adjacency.nonzero()
    out = rank[tail] < rank[head]
    ones = np.ones(int(out.sum()))
    outgoing = csr_matrix((ones, (tail[out], head[out])), shape=adjacency.shape)
    out_degrees = np.diff(outgoing.indptr)

    links = np.zeros(pairs.shape[1])
    for part, common in common_neighbors(adjacency, pairs):
        found = links[part]  # a view
        for piece in _parts(common @ out_degrees):
            found[piece] = common[piece].multiply(common[piece] @ outgoing) @ np.ones(num_nodes)
    return links


def shared_links_of_rows(adjacency: csr_matrix, start: int, stop: int, first_column: int) -> Floats:
    r"""The same for nodes start to stop with all nodes from first_column.  [stop - start, …]

    An edge counts for (u, v) if it forms a triangle with u and one with v: with P the incidence of
    edges and the third corners of their triangles, the counts are $P^\top P$. The cost is the sum
    over the edges of the squared number of triangles that each is in. P is built for a few edges
    at a time, and only for those that can form a triangle with the requested rows.
    """
    lowest = min(start, first_column)
    later = adjacency[:, lowest:]
    links = np.zeros((stop - start, adjacency.shape[0] - first_column))
    edges = _edges_among(adjacency, np.unique(adjacency[start:stop].indices))
    for _, corners in common_neighbors(later, edges):
        of_rows = corners[:, start - lowest : stop - lowest].T.tocsr()  # [stop - start, edges]
        of_columns = corners[:, first_column - lowest :]  # [edges, N - first_column]
        found = (of_rows @ of_columns).tocoo()
        links[found.row, found.col] += found.data
    return links


def num_triangles(adjacency: csr_matrix) -> NDArray[np.int64]:
    """Number of triangles at each node.  [N]"""
    num_nodes = adjacency.shape[0]
    counts = np.zeros(num_nodes, dtype=np.int64)
    for _, corners in common_neighbors(adjacency, _edges_among(adjacency, np.arange(num_nodes))):
        counts += np.bincount(corners.indices, minlength=num_nodes)
    return counts


def _edges_among(adjacency: csr_matrix, nodes: np.ndarray) -> np.ndarray:
    """Each edge with both ends among the nodes, once.  [2, n]"""
    chosen = np.zeros(adjacency.shape[0], dtype=bool)
    chosen[nodes] = True
    rows = adjacency[nodes]
    first, second = np.repeat(nodes, np.diff(rows.indptr)), rows.indices
    kept = (first < second) & chosen[second]
    return np.stack([first[kept], second[kept]])


def _parts(costs: np.ndarray) -> Iterator[slice]:
    """Successive slices that cost about ``CHUNK_ENTRIES`` each, or are a single element."""
    filled = np.cumsum(costs) // CHUNK_ENTRIES
    cuts = np.flatnonzero(np.diff(filled)) + 1
    for start, stop in pairwise([0, *cuts.tolist(), len(costs)]):
        if start < stop:
            yield slice(start, stop)
