"""The steps of a run: the losses of a batch, their gradients, and the update of the weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from gaug.errors import TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.graph.homophily import edge_counts
from gaug.models.calling import apply_model
from gaug.training.batch import Batch
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun
from gaug.training.stage import Stage
from gaug.training.step_loss import step_loss
from gaug.training.task import Task


class Steps:
    """Takes the steps of a run.

    Args:
        task: Graph and split.
        config: The consistency of several passes, and the weight of a teacher.
        count_edges: Whether to count the edges that a step trains on.
    """

    def __init__(self, task: Task, config: TrainingConfig, *, count_edges: bool) -> None:
        self._task = task
        self._ranks = task.ranks
        self._config = config
        self._count_edges = count_edges

    def take(
        self,
        run: AugmentedRun,
        stage: Stage,
        model: nn.Module | None,
        batch: Batch,
        epoch: int,
        share: float,
    ) -> tuple[float, float, dict[str, float]]:
        """Take a step; it is left out if a loss is not finite.

        Args:
            run: The method's side.
            stage: The round under way.
            model: The classifier, if there is one yet.
            batch: What the step works on.
            epoch: Number of the epoch.
            share: Share of this rank in the training nodes of the batch.

        Returns:
            The classification loss and that of the method, and the edges that were trained on, if
            they are counted.
        """
        optimizer = stage.optimizer
        parts: list[Tensor] = []
        if optimizer is None:
            adjacency = _training_graph(run, stage, batch, epoch)
        else:
            assert model is not None
            model.train()
            optimizer.zero_grad()
            passes = []
            for _ in range(max(1, self._config.consistency_passes)):
                adjacency = _training_graph(run, stage, batch, epoch)
                passes.append(apply_model(model, batch.features, adjacency))
            teacher = stage.teacher
            if teacher is not None and batch.nodes is not None:
                teacher = teacher[batch.nodes]
            done = epoch / stage.epochs
            parts.append(step_loss(passes, batch, self._config, done, teacher))
        extra = run.extra_loss()
        if extra is not None:
            parts.append(extra)
        if not parts:
            raise TrainingError("A round in which the method trains alone needs its extra_loss.")
        total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        own = [
            0.0 if optimizer is None else parts[0].item(),
            0.0 if extra is None else extra.item(),
        ]
        loss, of_method = self._ranks.mean(own, share)
        if math.isfinite(loss + of_method):
            total.backward()  # type: ignore[no-untyped-call]
            self._ranks.average_gradients(_trained(run, optimizer, model), share)
            if optimizer is not None:
                optimizer.step()
            run.after_step()
        # The graph itself is not handed on: it would be there beside that of the next step.
        counts = self._counted_edges(adjacency, batch) if self._count_edges else {}
        return loss, of_method, counts

    def _counted_edges(self, adjacency: Adjacency, batch: Batch) -> dict[str, float]:
        pairs = adjacency.listed_pairs
        if pairs is None:
            return {}
        if self._task.multilabel:  # there are no edges within a class
            return {"edges": pairs.size(1)}
        labels = self._task.labels
        return dict(edge_counts(pairs, labels if batch.nodes is None else labels[batch.nodes]))


def _training_graph(run: AugmentedRun, stage: Stage, batch: Batch, epoch: int) -> Adjacency:
    adjacency = run.training_graph(stage.round, batch, epoch)
    num_nodes = batch.adjacency.num_nodes
    if adjacency.num_nodes != num_nodes:
        raise TrainingError(
            f"training_graph must return a graph between the {num_nodes:,} nodes of its batch,"
            f" got one of {adjacency.num_nodes:,}. Start from batch.adjacency."
        )
    return adjacency


def _trained(
    run: AugmentedRun, optimizer: torch.optim.Optimizer | None, model: nn.Module | None
) -> Iterator[nn.Parameter]:
    """What a step trains, of the classifier and of the method."""
    if optimizer is not None and model is not None:
        yield from model.parameters()
    yield from run.parameters()
