"""The batches of an epoch: the whole graph at once, or the surroundings of some training nodes.

Mini-batches follow the paper's appendix C (after Hamilton et al., NeurIPS 2017): some training
nodes, the union of their neighborhoods of as many hops as the GNN has layers, and the edges between
all of these. The loss is that of the training nodes at the center. Which nodes come together is
decided by the seed, the round and the epoch, so batches can be prepared in any order and ahead of
time.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.graph.neighborhood import Neighborhoods
from gaug.graph.sparse import SparseMatrix
from gaug.training.batch import Batch
from gaug.training.task import Task

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class WholeGraph:
    """One batch per epoch, which is the whole graph.

    Args:
        task: The task.
        adjacency: The graph to train on.
    """

    def __init__(self, task: Task, adjacency: Adjacency) -> None:
        self._batch = Batch(task.features, adjacency, task.train, task.labels[task.train])

    def __len__(self) -> int:
        return 1

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch."""
        yield self._batch


class MiniBatches:
    """Several batches per epoch, in a new random order each time.

    Args:
        task: The task.
        adjacency: The graph to train on.
        batch_size: Training nodes per batch.
        hops: Hops around them.
        fanout: Neighbors of a node that are followed at most; None: all.
        seed: Seed of the order and of the fanout.
        ahead: Batches that are prepared while one trains; changes nothing but time.
    """

    def __init__(
        self,
        task: Task,
        adjacency: Adjacency,
        *,
        batch_size: int,
        hops: int,
        fanout: int | None,
        seed: tuple[int, ...],
        ahead: int = 1,
    ) -> None:
        self._task = task
        self._batch_size = batch_size
        self._hops = hops
        self._fanout = fanout
        self._seed = seed
        self._ahead = ahead
        self._train = task.train.cpu()
        self._neighborhoods = Neighborhoods(adjacency.to("cpu"))

    def __len__(self) -> int:
        return -(-self._train.numel() // self._batch_size)

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch."""
        random = np.random.default_rng([*self._seed, number])
        order = torch.from_numpy(random.permutation(self._train.numel()))
        parts = torch.split(self._train[order], self._batch_size)
        keys = random.integers(2**63, size=len(parts)).tolist()
        yield from made_ahead(self._make, zip(parts, keys, strict=True), self._ahead)

    def _make(self, part: tuple[Tensor, int]) -> Batch:
        nodes, key = part
        # In ascending order, a batch that holds the whole graph is the whole graph.
        found = self._neighborhoods.around(nodes.sort().values, self._hops, self._fanout, key)
        features, labels = self._task.features, self._task.labels
        ids = found.nodes.to(labels.device)
        rows = features.rows(ids) if isinstance(features, SparseMatrix) else features[ids]
        seeds = found.seeds.to(labels.device)
        return Batch(rows, found.adjacency.to(labels.device), seeds, labels[ids[seeds]], ids)


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
