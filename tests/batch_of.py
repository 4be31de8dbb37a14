"""What a step of full-batch training works on, for tests that call a method's hooks themselves."""

from __future__ import annotations

from gaug.graph.adjacency import Adjacency
from gaug.training.batch import Batch
from gaug.training.batches import WholeGraph
from gaug.training.task import Task


def whole_batch(task: Task, adjacency: Adjacency | None = None) -> Batch:
    """The whole graph as a batch."""
    (batch,) = WholeGraph(task, adjacency or task.adjacency).epoch(1)
    return batch
