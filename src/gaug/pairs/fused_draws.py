"""The choice of `gaug.pairs.product_draws` in one pass over the events, compiled by Numba."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gaug.graph.compiling import compiled
from gaug.pairs.fused import EXACT, Array
from gaug.pairs.product_draws import LARGEST

if TYPE_CHECKING:
    from gaug.pairs.product_draws import Events


class Keeper:
    """Keeps the same events as the form in NumPy.

    Args:
        events: What decides.
        nodes: The nodes of this term.  [n]
        below: Running sum of their weights.  [n]
    """

    def __init__(self, events: Events, nodes: Array, below: Array) -> None:
        self.events, self.nodes, self.below = events, nodes, below
        self.guide = _guide(below)

    def __call__(self, draws: Array) -> Array:
        """Pairs of kept events from uniform numbers for both ends and the choice.  [3, n]"""
        given, keys = self.events, np.empty(draws.shape[1], np.int64)
        kept = _keep(
            draws,
            self.nodes,
            self.below,
            self.guide,
            given.z,
            given.scale,
            given.level,
            given.factor,
            given.crow,
            given.col,
            keys,
        )
        return np.array(keys[:kept])


@compiled(fastmath=EXACT)
def _guide(below: Any) -> Any:
    """For each of n equal parts of the range of a running sum, where to begin to look."""
    size = below.size
    guide = np.empty(size + 1, np.int32)
    at = 0
    for part in range(size + 1):
        start = below[-1] * (part / size)
        while at < size - 1 and below[at] <= start:
            at += 1
        guide[part] = at
    return guide


@compiled(fastmath=EXACT)
def _find(spot: Any, below: Any, guide: Any) -> Any:
    """The first place whose running sum is above a number, as a binary search gives it."""
    size = below.size
    at = guide[min(int(spot / below[-1] * size), size)]
    while at > 0 and below[at - 1] > spot:  # rounding may have begun too far
        at -= 1
    while below[at] <= spot:
        at += 1
    return at


@compiled(fastmath=EXACT)
def _contains(col: Any, first: Any, end: Any, wanted: Any) -> Any:
    while first < end:
        middle = (first + end) // 2
        if col[middle] < wanted:
            first = middle + 1
        elif col[middle] > wanted:
            end = middle
        else:
            return True
    return False


@compiled(fastmath=EXACT)
def _keep(
    draws: Any,
    nodes: Any,
    below: Any,
    guide: Any,
    z: Any,
    scale: Any,
    level: Any,
    factor: Any,
    crow: Any,
    col: Any,
    keys: Any,
) -> Any:
    mass = below[-1]
    last = np.nextafter(mass, 0.0)
    kept = 0
    for event in range(draws.shape[1]):
        i = np.int64(nodes[_find(min(draws[0, event] * mass, last), below, guide)])
        j = np.int64(nodes[_find(min(draws[1, event] * mass, last), below, guide)])
        if i == j:
            continue
        chance = draws[2, event] * factor[min(level[i], level[j])]
        if chance >= 1:
            product = 0.0
            for k in range(z.shape[1]):
                product += np.float64(z[i, k]) * np.float64(z[j, k])
            p = min(scale * product, LARGEST)
            if chance * p >= -math.log1p(-p):
                continue
        if _contains(col, crow[i], crow[i + 1], j):
            continue
        keys[kept] = min(i, j) * z.shape[0] + max(i, j)
        kept += 1
    return kept
