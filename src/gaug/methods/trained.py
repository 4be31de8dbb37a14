"""One run of a method with its training data, from which a classifier is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import Fitted
from gaug.classifier.fit_summary import FitSummary
from gaug.classifier.graph_info import GraphInfo
from gaug.graph.fingerprint import graph_hash
from gaug.training.hooks import RoundResult, best_round
from gaug.training.loop import RunResult
from gaug.training.task import Task

if TYPE_CHECKING:
    from gaug.methods.method import Method


@dataclass(frozen=True)
class Trained:
    """One run with its training data, from which a classifier is made.

    Attributes:
        task: The graph with its split, prepared for training.
        method: The method, prepared for the graph.
        result: The result of the run.
        summary: What the classifier will know about the graph.
    """

    task: Task
    method: Method[Any, Any]
    result: RunResult
    summary: FitSummary

    @property
    def best(self) -> RoundResult:
        """The best round."""
        return best_round(self.result.rounds)

    def fitted(
        self, *, with_network: bool = True, weights: Mapping[str, Tensor] | None = None
    ) -> Fitted:
        """What all classifiers have.

        Args:
            with_network: Whether it predicts with a network.
            weights: Those of the network; None: those of the best round.
        """
        method, network = self.method, None
        if with_network:
            with torch.random.fork_rng(devices=[]):
                network = method.model.build(self.task.in_features, self.task.num_classes)
            network.load_state_dict(dict(self.best.weights if weights is None else weights))
            network.to(self.task.labels.device).eval()
        return Fitted(
            model=method.model,
            network=network,
            method=method.config,
            training=method.training,
            summary=self.summary,
            predictors=method.predictors,
        )


def summary_of(
    valid: Data, task: Task, result: RunResult, info: GraphInfo, seed: int
) -> FitSummary:
    """What a run was fitted to, and how well."""
    statistics = valid.get("feature_statistics")
    classes = info.class_names or [str(number) for number in range(task.num_classes)]
    return FitSummary(
        in_features=task.in_features,
        num_classes=task.num_classes,
        multilabel=task.multilabel,
        num_nodes=task.adjacency.num_nodes,
        graph_hash=graph_hash(valid, with_labels=False),
        seed=seed,
        best_epoch=result.best_epoch,
        epochs=result.epochs,
        val_score=result.val_score,
        test_score=result.test_score if task.test.numel() else None,
        warning=result.warning,
        class_names=list(classes),
        node_ids=None if info.node_ids is None else list(info.node_ids),
        feature_names=None if info.feature_names is None else list(info.feature_names),
        feature_scaling="columns" if statistics is not None else info.feature_scaling,
        feature_statistics=None if statistics is None else statistics.tolist(),
        column_means=None if info.column_means is None else dict(info.column_means),
    )
