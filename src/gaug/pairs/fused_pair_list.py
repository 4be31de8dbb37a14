"""The list of `gaug.pairs.pair_list` in two passes over the pairs, compiled by Numba.

In the second pass, each thread goes through all pairs and writes rows of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numba import njit

from gaug.graph.compiling import compiled
from gaug.pairs.pair_list import ABSENT_EDGE, ADDED, Array
from gaug.pairs.sharing import share_out

_CPU = torch.device("cpu")


def list_pairs(edges: Array, present: Array, added: Array, num_nodes: int) -> tuple[Array, ...]:
    """See `gaug.pairs.pair_list.list_pairs`."""
    crow, drawn_crow = _starts(edges[0], edges[1], present, added, num_nodes)
    col, kind = np.empty(crow[-1], np.int64), np.empty(crow[-1], np.int8)
    drawn_col = np.empty(drawn_crow[-1], np.int64)
    pairs = edges[0], edges[1], present, added, num_nodes
    shares = torch.get_num_threads()
    even = np.linspace(0, crow[-1], shares + 1)[1:-1]
    bounds = [0, *np.searchsorted(crow, even).tolist(), num_nodes]

    def fill(rows: Iterator[tuple[int, int]]) -> None:
        for first, end in rows:
            at, drawn_at = crow[first:end].copy(), drawn_crow[first:end].copy()
            _fill(*pairs, first, at, col, kind, drawn_at, drawn_col)

    share_out(fill, lambda: itertools.pairwise(bounds), shares, _CPU)
    return crow, col, kind, drawn_crow, drawn_col


@compiled()
def _starts(small: Any, large: Any, present: Any, added: Any, num_nodes: Any) -> Any:
    crow = np.zeros(num_nodes + 1, np.int64)
    drawn = np.zeros(num_nodes + 1, np.int64)
    for k in range(small.size):
        for node in (small[k], large[k]):
            crow[node + 1] += 1
            drawn[node + 1] += present[k]
    row = first = 0
    for k in range(added.size):
        while added[k] >= first + num_nodes:  # faster than a division
            row += 1
            first += num_nodes
        for node in (row, added[k] - first):
            crow[node + 1] += 1
            drawn[node + 1] += 1
    return np.cumsum(crow), np.cumsum(drawn)


@compiled()
def _fill(
    small: Any,
    large: Any,
    present: Any,
    added: Any,
    num_nodes: Any,
    first_row: Any,
    at: Any,
    col: Any,
    kind: Any,
    drawn_at: Any,
    drawn_col: Any,
) -> None:
    """Write each pair to both of its rows, as far as they are among some rows.

    Pairs come in ascending order. So all smaller neighbors of a node come before the larger ones,
    and each row is filled in ascending order.

    Args:
        small: The smaller end of each edge.
        large: The larger end of each edge.
        present: Which edges were drawn.
        added: Numbers of the other drawn pairs.
        num_nodes: Number of nodes.
        first_row: First of the rows.
        at: Where to write the next entry of each of them; overwritten.
        col: Columns of all entries, written to.
        kind: Kinds of all entries, written to.
        drawn_at: As ``at``, among the drawn ones.
        drawn_col: Columns of the drawn entries, written to.
    """
    edge, row, first = 0, np.int64(0), np.int64(0)
    for k in range(added.size + 1):
        last = k == added.size
        key = np.int64(num_nodes) * num_nodes if last else added[k]
        while key >= first + num_nodes:
            row += 1
            first += num_nodes
        column = key - first
        while edge < small.size and (
            small[edge] < row or (small[edge] == row and large[edge] < column)
        ):
            _write(small[edge], large[edge], present[edge], first_row, at, col, kind)
            if present[edge] != ABSENT_EDGE:
                _write_drawn(small[edge], large[edge], first_row, drawn_at, drawn_col)
            edge += 1
        if not last:
            _write(row, column, ADDED, first_row, at, col, kind)
            _write_drawn(row, column, first_row, drawn_at, drawn_col)


@njit(inline="always")
def _write(
    small: Any, large: Any, kind_of: Any, first_row: Any, at: Any, col: Any, kind: Any
) -> None:
    for i, j in ((small, large), (large, small)):
        own = i - first_row
        if 0 <= own < at.size:
            col[at[own]] = j
            kind[at[own]] = kind_of
            at[own] += 1


@njit(inline="always")
def _write_drawn(small: Any, large: Any, first_row: Any, at: Any, col: Any) -> None:
    for i, j in ((small, large), (large, small)):
        own = i - first_row
        if 0 <= own < at.size:
            col[at[own]] = j
            at[own] += 1
