"""The size of a graph, and of what one step of training holds of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch

from gaug.graph.neighborhood import Neighborhood, Neighborhoods
from gaug.graph.neighborhood_batches import neighborhood_batches
from gaug.graph.sparse import SparseMatrix
from gaug.models.base import Features
from gaug.models.spec import ModelSpec
from gaug.training.batches import hops_of_batches
from gaug.training.config import TrainingConfig
from gaug.training.task import Task

# Batches that are looked at, and how much larger others may be.
_LOOKED_AT = 2
_OTHERS = 1.1


@dataclass(frozen=True)
class GraphSize:
    """The numbers of a graph that decide how much memory a run takes.

    Attributes:
        nodes: Number of nodes.
        pairs: Number of undirected edges.
        features: Stored entries of the features.
        dense: Whether the features are dense.
        step_nodes: Nodes that one training step holds; None: all.
        step_pairs: Undirected edges that one training step holds; None: all.
        hops: Hops around its training nodes that a step holds.
        classes: Number of classes.
        passes: Passes over its nodes that a step holds.
        taught: Whether students learn from a teacher.
    """

    nodes: int
    pairs: int
    features: int
    dense: bool = False
    step_nodes: int | None = None
    step_pairs: int | None = None
    hops: int = 0
    classes: int = 0
    passes: int = 1
    taught: bool = False

    @classmethod
    def of(cls, features: Features, pairs: int, classes: int = 0) -> GraphSize:
        """The size of a graph with these features and so many undirected edges."""
        if isinstance(features, SparseMatrix):
            return cls(features.shape[0], pairs, features.pattern.nnz, classes=classes)
        return cls(features.shape[0], pairs, features.numel(), dense=True, classes=classes)

    @classmethod
    def in_training(cls, task: Task, model: ModelSpec, training: TrainingConfig) -> GraphSize:
        """The size of a graph, and of the batches of its training.

        Some batches are surrounded, and only counted: their features are not copied.

        Args:
            task: The graph with its split.
            model: The model, whose depth decides how far batches reach.
            training: Settings of training.
        """
        whole = cls.of(task.features, task.adjacency.num_pairs, task.num_classes)
        passes = max(1, training.consistency_passes)
        size = dataclasses.replace(whole, passes=passes, taught=training.students > 0)
        if not isinstance(training.batch_size, int):
            return size
        with torch.random.fork_rng(devices=[]):
            network = model.build(task.in_features, task.num_classes)
        hops = hops_of_batches(network, training)
        batches = neighborhood_batches(
            Neighborhoods(task.adjacency.to("cpu")),
            task.train.cpu(),
            _counts,
            batch_size=training.batch_size,
            hops=hops,
            fanout=training.fanout,
            seed=(0, 0),
            ahead=0,
        )
        # The range comes first, so that no batch is made that is not looked at.
        counts = [count for _, count in zip(range(_LOOKED_AT), batches, strict=False)]
        nodes, pairs = (int(_OTHERS * max(part)) for part in zip(*counts, strict=True))
        return dataclasses.replace(
            size,
            step_nodes=min(size.nodes, nodes),
            step_pairs=min(size.pairs, pairs),
            hops=hops,
        )

    def grown(self, share: float) -> GraphSize:
        """The size after a change of the graph to so many times its edges.

        A batch reaches that many times as many nodes with each hop, and all of them at most.

        Args:
            share: Edges after the change for each edge before it.
        """
        grown = dataclasses.replace(self, pairs=int(self.pairs * share))
        if self.step_nodes is None or self.step_pairs is None:
            return grown
        reach = max(1.0, share) ** self.hops
        return dataclasses.replace(
            grown,
            step_nodes=min(self.nodes, int(self.step_nodes * reach)),
            step_pairs=min(grown.pairs, int(self.step_pairs * reach * share)),
        )

    @property
    def entries(self) -> int:
        """Edges in both directions, and self-loops."""
        return 2 * self.pairs + self.nodes

    @property
    def nodes_in_step(self) -> int:
        """Nodes that one training step holds."""
        return self.nodes if self.step_nodes is None else self.step_nodes

    @property
    def pairs_in_step(self) -> int:
        """Undirected edges that one training step holds."""
        return self.pairs if self.step_pairs is None else self.step_pairs

    @property
    def entries_in_step(self) -> int:
        """Edges in both directions, and self-loops, that one training step holds."""
        return 2 * self.pairs_in_step + self.nodes_in_step


def _counts(found: Neighborhood) -> tuple[int, int]:
    return found.adjacency.num_nodes, found.adjacency.num_pairs
