"""The batches of an epoch: the whole graph at once, or the surroundings of some training nodes.

Mini-batches follow the paper's appendix C (after Hamilton et al., NeurIPS 2017): some training
nodes, the union of their neighborhoods of as many hops as the GNN has layers, and the edges between
all of these. The loss is that of the training nodes at the center. Which nodes come together is
decided by the seed, the round and the epoch, so batches can be prepared in any order and ahead of
time.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.graph.neighborhood import Neighborhood, Neighborhoods
from gaug.graph.neighborhood_batches import neighborhood_batches
from gaug.models.base import rows_of
from gaug.models.calling import hops_of
from gaug.training.batch import Batch
from gaug.training.config import TrainingConfig
from gaug.training.task import Task


def hops_of_batches(model: nn.Module, config: TrainingConfig) -> int:
    """Hops around the training nodes of a batch; raises if the depth of a model is not known."""
    hops = hops_of(model) if config.batch_hops is None else config.batch_hops
    if hops is None:
        raise ConfigError(
            f"The number of layers of {type(model).__name__} cannot be told, and mini-batches"
            " need it. Set batch_hops."
        )
    return hops


class WholeGraph:
    """One batch per epoch, which is the whole graph.

    Args:
        task: The task.
        adjacency: The graph to train on.

    Attributes:
        sizes: Training nodes of each batch.
    """

    def __init__(self, task: Task, adjacency: Adjacency) -> None:
        self._batch = Batch(task.features, adjacency, task.train, task.labels[task.train])
        self.sizes = [task.train.numel()]

    def __len__(self) -> int:
        return len(self.sizes)

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch."""
        yield self._batch


class MiniBatches:
    """Several batches per epoch, in a new random order each time.

    If several ranks train together, each has a part of the training nodes of each batch.

    Args:
        task: The task.
        adjacency: The graph to train on.
        batch_size: Training nodes per batch, on all ranks together.
        hops: Hops around them.
        fanout: Neighbors of a node that are followed at most; None: all.
        seed: Seed of the order and of the fanout.
        ahead: Batches that are prepared while one trains; changes nothing but time.

    Attributes:
        sizes: Training nodes of each batch, on all ranks together.
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
        self.sizes = [part.numel() for part in torch.split(self._train, batch_size)]

    def __len__(self) -> int:
        return len(self.sizes)

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch."""
        yield from neighborhood_batches(
            self._neighborhoods,
            self._train,
            self._batch,
            batch_size=self._batch_size,
            hops=self._hops,
            fanout=self._fanout,
            seed=(*self._seed, number),
            ahead=self._ahead,
            part_of=self._task.ranks.part,
        )

    def _batch(self, found: Neighborhood) -> Batch:
        labels = self._task.labels
        ids, seeds = found.nodes.to(labels.device), found.seeds.to(labels.device)
        features = rows_of(self._task.features, ids)
        return Batch(features, found.adjacency.to(labels.device), seeds, labels[ids[seeds]], ids)
