r"""Random pairs, each with the inner product of its embeddings as probability, at a linear cost.

A pair is drawn if at least one event of a Poisson process falls on it. At the rate
$\lambda = -\log(1 - p)$ that happens with probability p, independently of all other pairs. With
$p_{ij} = a \langle z_i, z_j \rangle$ and no negative number in z, events of rate $c\,p$ are drawn
term by term, one term per dimension of the embeddings, both ends in proportion to $z_{\cdot k}$.
Each is kept with probability $\lambda / (c\,p)$.

The factor c must be at least $\lambda / p$, which grows with p without limit. By the Cauchy-Schwarz
inequality $p_{ij} \le a \|z_i\| \|z_j\|$, so large probabilities are between long embeddings alone.
Nodes have levels by their length: the factor of a pair is that of the lower level of its two nodes,
and each level adds a process of its own among its nodes and those of higher levels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gaug.graph.sparse import Pattern
from gaug.pairs.sharing import share_out
from gaug.pairs.tile_work import compiled_form

Array = npt.NDArray[Any]

#: Larger probabilities are drawn as this one, so that rates are finite.
LARGEST = 1 - 1e-6

# Level l has the pairs whose probability may be above 1 - 2^-l.
_LEVELS = 8
# Events drawn at a time: few enough for a core's own cache.
_EVENTS_AT_A_TIME = 1 << 16
# Zeros at the end of a seed do not count: without it, one stream would be that of the seed alone.
_STREAM = 2


@dataclass(frozen=True)
class Events:
    """What decides which events are kept.

    Attributes:
        z: Embeddings, none negative.  [N, d]
        scale: What inner products are multiplied by, a.
        level: Level of each node.  [N]
        factor: The factor c of each level.
        crow: Where the row of each node begins among the excluded pairs, in both directions.
        col: Columns of the excluded pairs, ascending in each row.
    """

    z: Array
    scale: float
    level: Array
    factor: Array
    crow: Array
    col: Array

    @functools.cached_property
    def excluded(self) -> Array:
        """The excluded pairs as numbers, ascending."""
        degree = np.diff(self.crow)
        return np.asarray(np.repeat(np.arange(degree.size), degree) * degree.size + self.col)


def draw_pairs(z: Tensor, scale: float, seed: int, excluded: Pattern) -> Tensor:
    """Pairs (i, j), i < j, each independently with probability ``scale * <z_i, z_j>``.

    The cost grows with the nodes and the pairs drawn, about 1.4 events per pair if no probability
    exceeds one half. The result depends on the seed and not on the threads.

    Args:
        z: Embeddings, none negative.  [N, d]
        scale: What inner products are multiplied by, at least 0; none must exceed 1.
        seed: Seed of the draw.
        excluded: Pairs never to be drawn, in both directions.

    Returns:
        ``i * N + j`` of each drawn pair, in ascending order, on the CPU.  [n]
    """
    z = z.detach().cpu()
    if scale <= 0 or not bool(torch.isfinite(z).all()):
        return torch.empty(0, dtype=torch.long)
    columns = z.t().contiguous().numpy()
    level, factor = _levels(columns, scale)
    crow, col = excluded.crow.cpu().numpy(), excluded.col.cpu().numpy()
    events = Events(z.contiguous().numpy(), scale, level, factor, crow, col)
    tasks = [(at, term) for at in range(factor.size) for term in range(z.size(1)) if factor[at] > 0]
    members = [np.flatnonzero(level >= at).astype(np.int32) for at in range(factor.size)]
    compiled = compiled_form(z) is not None

    def draw(share: Iterator[tuple[int, int]]) -> list[Array]:
        drawn = []
        for at, term in share:
            added = factor[at] - (factor[at - 1] if at else 0)
            nodes = members[at]
            weight = columns[term] if nodes.size == z.size(0) else columns[term][nodes]
            stream = np.random.default_rng([seed % (1 << 64), _STREAM, at, term])
            drawn += _draw_term(events, nodes, weight, added * scale, stream, compiled)
        return drawn

    parts = share_out(draw, lambda: tasks, len(tasks), z.device)
    keys = np.concatenate([np.empty(0, np.int64), *(keys for part in parts for keys in part)])
    keys.sort()
    return torch.from_numpy(keys[np.diff(keys, prepend=-1) > 0])


def _levels(columns: Array, scale: float) -> tuple[Array, Array]:
    """The level of each node, and the factor of each level.  [N], [L]"""
    norm = np.zeros(columns.shape[1])
    for column in columns:  # one at a time: a copy of all in double precision is large
        norm += np.square(column, dtype=np.float64)
    norm = np.sqrt(norm, out=norm)
    top = np.sort(np.partition(norm, -2)[-2:]) if norm.size > 1 else np.zeros(2)
    # A little more than the bound, which rounding may exceed.
    largest = min(scale * float(top[0] * top[1]) * (1 + 1e-9), LARGEST)
    level, factor = np.zeros(norm.size, np.int8), []
    for at in range(_LEVELS):
        bound = min(1 - 2.0 ** -(at + 1), largest) if at + 1 < _LEVELS else largest
        factor.append(-math.log1p(-bound) / bound if bound > 0 else 0.0)
        if bound == largest:
            break
        level[norm * (scale * float(top[1]) * (1 + 1e-9)) > bound] = at + 1
    return level, np.array(factor)


def _draw_term(
    events: Events,
    nodes: Array,
    weight: Array,
    rate: float,
    stream: np.random.Generator,
    compiled: bool,
) -> list[Array]:
    """The kept events of one term among some nodes, as numbers of pairs, with repetitions."""
    below = np.cumsum(weight, dtype=np.float64)
    mass = float(below[-1]) if below.size else 0.0
    if mass == 0:
        return []
    # Divided by two, because a pair is hit in either order of its ends.
    count = int(stream.poisson(rate / 2 * mass**2))
    keep: Callable[[Array], Array] = _Keeper(events, nodes, below)
    if compiled:
        from gaug.pairs import fused_draws

        keep = fused_draws.Keeper(events, nodes, below)
    return [
        keep(stream.random((3, min(_EVENTS_AT_A_TIME, count - done))))
        for done in range(0, count, _EVENTS_AT_A_TIME)
    ]


class _Keeper:
    """Keeps some of the events of a term.

    Args:
        events: What decides.
        nodes: The nodes of this term.  [n]
        below: Running sum of their weights.  [n]
    """

    def __init__(self, events: Events, nodes: Array, below: Array) -> None:
        self.events, self.nodes, self.below = events, nodes, below

    def __call__(self, draws: Array) -> Array:
        """Pairs of kept events from uniform numbers for both ends and the choice.  [3, n]"""
        events, mass = self.events, self.below[-1]
        spots = np.minimum(draws[:2] * mass, np.nextafter(mass, 0))
        pair = np.sort(self.nodes[np.searchsorted(self.below, spots, side="right")], axis=0)
        i, j = pair.astype(np.int64)
        factor = events.factor[np.minimum(events.level[i], events.level[j])]
        products = (events.z[i].astype(np.float64) * events.z[j]).sum(axis=1)
        p = np.minimum(events.scale * products, LARGEST)
        # The rate is at least p, so these need no closer look.
        kept = (draws[2] * factor < 1) | (draws[2] * factor * p < -np.log1p(-p))
        keys = (i * events.z.shape[0] + j)[kept & (i != j)]
        return np.asarray(keys[~_contained(keys, events.excluded)])


def _contained(values: Array, ascending: Array) -> Array:
    """Which values occur in an ascending list."""
    if ascending.size == 0:
        return np.zeros(values.shape, bool)
    places = np.minimum(np.searchsorted(ascending, values), ascending.size - 1)
    return np.asarray(ascending[places] == values)
