"""The work on the pairs of a sparse sample in one pass, compiled by Numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from gaug.graph.compiling import compiled
from gaug.pairs.fused import FAST, Array, bits_of
from gaug.pairs.mean_slope import FIRST, SHIFT
from gaug.pairs.tile_work import PROBABILITY_MARGIN

_F = np.float32
_I = np.int32

_MARGIN = _F(PROBABILITY_MARGIN)
_FIRST = _I(FIRST)
_SHIFT = _I(SHIFT)
_MASK = _I((1 << SHIFT) - 1)
_STEP = _F(2.0**-SHIFT)


def multiply_by_mean_slopes(values: Array, p: Array, undrawn: Array, drawn: Array) -> None:
    """See `gaug.pairs.mean_slope.MeanSlopes.multiply_undrawn`."""
    _multiply(values.reshape(-1), p.reshape(-1), undrawn, drawn)


@njit(inline="always", fastmath=FAST)
def _mean_slope(p: Any, joined: Any, undrawn: Any, drawn: Any) -> Any:
    small = p <= _F(0.5)
    near = p if small else _F(1) - p
    if near < _MARGIN:
        return _F(0)
    bits = bits_of(near)
    place = (bits >> _SHIFT) - _FIRST
    rest = _F(bits & _MASK) * _STEP
    if small != joined:  # the likelier outcome
        return undrawn[place] + rest * (undrawn[place + 1] - undrawn[place])
    return (drawn[place] + rest * (drawn[place + 1] - drawn[place])) / near


@compiled(fastmath=FAST)
def _multiply(values: Any, p: Any, undrawn: Any, drawn: Any) -> None:
    for k in range(values.size):
        values[k] *= _mean_slope(p[k], False, undrawn, drawn)


@compiled(fastmath=FAST)
def clear_entries(
    tile: Any, first_row: int, first_place: int, place: Any, crow: Any, col: Any
) -> None:
    """See `gaug.pairs.random_columns.RandomColumns.clear_entries`.

    Args:
        tile: The tile.
        first_row: Its first row.
        first_place: Place of its first column in the random order of the nodes.
        place: Place of each node in that order.
        crow: Where each row begins among the entries.
        col: Column of each entry.
    """
    for row in range(tile.shape[0]):
        node = first_row + row
        for entry in range(crow[node], crow[node + 1] + 1):
            other = col[entry] if entry < crow[node + 1] else node
            at = place[other] - first_place
            if at < 0:
                at += place.size
            if at < tile.shape[1]:
                tile[row, at] = _F(0)


@njit(inline="always", fastmath=FAST)
def _dot(left: Any, right: Any) -> Any:
    total = _F(0)
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@compiled(fastmath=FAST)
def add_pairs(
    first_row: int,
    last_row: int,
    crow: Any,
    col: Any,
    kind: Any,
    base: Any,
    scale: Any,
    z: Any,
    grad: Any,
    value: Any,
    undrawn: Any,
    drawn: Any,
    total: Any,
) -> None:
    """Add the gradient of the listed pairs of some rows; see `gaug.methods.gaug_o.drawn_pairs`.

    Args:
        first_row: First row.
        last_row: Row after the last one.
        crow: Where each row begins among the pairs, listed in both directions.
        col: Column of each entry.
        kind: Kind of each entry.
        base: Constant part of the probability of each kind.
        scale: What inner products are multiplied by, for each kind.
        z: Embeddings.
        grad: One factor of the gradient of the pairs.
        value: The other factor.
        undrawn: Table of `MeanSlopes`.
        drawn: Table of `MeanSlopes`.
        total: What to add to.
    """
    for i in range(first_row, last_row):
        for entry in range(crow[i], crow[i + 1]):
            j = col[entry]
            if j <= i:
                continue
            of = kind[entry]
            p = base[of] + scale[of] * _dot(z[i], z[j])
            slope = _mean_slope(p, of != 0, undrawn, drawn)
            weight = scale[of] * slope * (_dot(grad[i], value[j]) + _dot(value[i], grad[j]))
            for k in range(z.shape[1]):
                total[i, k] += weight * z[j, k]
                total[j, k] += weight * z[i, k]
