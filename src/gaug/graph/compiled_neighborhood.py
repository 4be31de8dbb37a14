"""The loops of `gaug.graph.neighborhood`, compiled by Numba: the same results, faster."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaug.graph.compiling import compiled
from gaug.graph.neighborhood import NODE_FACTOR, OUTSIDE, STEP_FACTOR, Ids, Places

_U = np.uint64
_NODE, _STEP = _U(NODE_FACTOR), _U(STEP_FACTOR)
_ONE, _FIRST, _SECOND = _U(1), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_30, _27, _31 = _U(30), _U(27), _U(31)


def reached(
    crow: Ids, col: Ids, seeds: Ids, hops: int, fanout: int, key: int, place: Places
) -> Ids:
    """See `gaug.graph.neighborhood.reached`."""
    nodes: Ids = _reached(crow, col, seeds, hops, fanout, _U(key), place)
    return nodes


def induced(crow: Ids, col: Ids, nodes: Ids, place: Places) -> tuple[Ids, Ids, Ids]:
    """See `gaug.graph.neighborhood.induced`."""
    starts, total = _counted(crow, col, nodes, place)
    ends, entries = np.empty(total, np.int64), np.empty(total, np.int64)
    _fill(crow, col, nodes, place, ends, entries)
    return starts, ends, entries


@compiled()
def _reached(crow: Any, col: Any, seeds: Any, hops: Any, fanout: Any, key: Any, place: Any) -> Any:
    found = np.empty(max(64, 2 * seeds.size), np.int64)
    picks = np.empty(max(fanout, 1), np.int64)
    count = 0
    for k in range(seeds.size):
        place[seeds[k]] = 0
        found[count] = seeds[k]
        count += 1
    start = 0
    for _ in range(hops):
        stop = count
        for k in range(start, stop):
            node = found[k]
            first, degree = crow[node], crow[node + 1] - crow[node]
            follow = degree
            if 0 < fanout < degree:
                follow = fanout
                own = key + _U(node) * _NODE
                for step in range(fanout):
                    last = degree - fanout + step
                    bits = own + _U(step) * _STEP
                    bits = (bits ^ (bits >> _30)) * _FIRST
                    bits = (bits ^ (bits >> _27)) * _SECOND
                    bits = bits ^ (bits >> _31)
                    pick = np.int64(bits % (_U(last) + _ONE))
                    for earlier in range(step):
                        if picks[earlier] == pick:
                            pick = last
                            break
                    picks[step] = pick
            if count + follow > found.size:
                larger = np.empty(2 * (count + follow), np.int64)
                larger[:count] = found[:count]
                found = larger
            for position in range(follow):
                at = picks[position] if follow < degree else position
                other = col[first + at]
                if place[other] == OUTSIDE:
                    place[other] = 0
                    found[count] = other
                    count += 1
        start = stop
    nodes = np.sort(found[:count])
    for k in range(count):
        place[nodes[k]] = k
    return nodes


@compiled()
def _counted(crow: Any, col: Any, nodes: Any, place: Any) -> Any:
    starts = np.zeros(nodes.size + 1, np.int64)
    total = 0
    for k in range(nodes.size):
        for entry in range(crow[nodes[k]], crow[nodes[k] + 1]):
            total += place[col[entry]] != OUTSIDE
        starts[k + 1] = total
    return starts, total


@compiled()
def _fill(crow: Any, col: Any, nodes: Any, place: Any, ends: Any, entries: Any) -> None:
    total = 0
    for k in range(nodes.size):
        for entry in range(crow[nodes[k]], crow[nodes[k] + 1]):
            other = place[col[entry]]
            if other != OUTSIDE:
                ends[total] = other
                entries[total] = entry
                total += 1
