"""All nodes of a list in batches, each with its surroundings, in a new random order each time."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from gaug.graph.neighborhood import Neighborhood, Neighborhoods

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def neighborhood_batches(
    neighborhoods: Neighborhoods,
    nodes: Tensor,
    make: Callable[[Neighborhood], _Made],
    *,
    batch_size: int,
    hops: int,
    fanout: int | None,
    seed: Sequence[int],
    ahead: int = 1,
    part_of: Callable[[Tensor], Tensor] = lambda centers: centers,
) -> Iterator[_Made]:
    """What is made of the surroundings of each batch, one after the other.

    The seed alone decides which nodes come together and which neighbors are followed, so batches
    can be made in any order and ahead of time.

    Args:
        neighborhoods: Finds surroundings in the graph.
        nodes: The nodes at the centers, each once.
        make: Makes something of a neighborhood, in the background.
        batch_size: Nodes at the center of a batch.
        hops: Hops around them.
        fanout: Neighbors of a node that are followed at most; None: all.
        seed: Whole numbers, not negative.
        ahead: Batches that are made while one is in use; changes nothing but time.
        part_of: Those of the centers of a batch that are wanted; by default all.
    """
    random = np.random.default_rng(list(seed))
    order = torch.from_numpy(random.permutation(nodes.numel()))
    parts = torch.split(nodes[order], batch_size)
    keys = random.integers(2**63, size=len(parts)).tolist()

    def surround(part: tuple[Tensor, int]) -> _Made:
        centers, key = part
        # In ascending order, a batch that holds the whole graph is the whole graph.
        wanted = part_of(centers).sort().values
        return make(neighborhoods.around(wanted, hops, fanout, key))

    yield from made_ahead(surround, zip(parts, keys, strict=True), ahead)


def made_ahead(
    make: Callable[[_Given], _Made], given: Iterable[_Given], ahead: int
) -> Iterator[_Made]:
    """Make things one by one in the background, some ahead of the one in use, in their order.

    Args:
        make: Makes one; must not depend on the others.
        given: What it is made from.
        ahead: How many are made ahead, each in a thread of its own; 0: none.
    """
    if ahead == 0:
        yield from map(make, given)
        return
    waiting = iter(given)
    with ThreadPoolExecutor(ahead, "gaug-batches") as pool:
        made: deque[Future[_Made]] = deque()
        try:
            made.extend(pool.submit(make, one) for one in itertools.islice(waiting, ahead))
            while made:
                ready = made.popleft().result()
                made.extend(pool.submit(make, one) for one in itertools.islice(waiting, 1))
                yield ready
        finally:
            for future in made:
                future.cancel()
