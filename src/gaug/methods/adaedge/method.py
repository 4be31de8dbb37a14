"""AdaEdge: join nodes predicted alike, separate the others, and train again while it helps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gaug.classifier.changed_graph import ChangedGraphClassifier, difference
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange
from gaug.methods.adaedge.config import AdaEdgeConfig
from gaug.methods.method import Method
from gaug.methods.trained import Trained
from gaug.pairs.predicted import Predicted, pairs_to_add, pairs_to_remove
from gaug.training.hooks import AugmentedRun, Predict, Round, RoundResult, Visible


class AdaEdge(Method[AdaEdgeConfig, ChangedGraphClassifier]):
    """AdaEdge (Chen et al., AAAI 2020): change the graph based on its predictions.

    The first round trains on the original graph. Each change then adds up to
    ``floor(add_fraction * |E|)`` edges between nodes predicted to be in the same class and removes
    up to ``floor(remove_fraction * |E|)`` edges between nodes predicted to be in different classes,
    and a round with new weights trains on the changed graph. Each change starts from the
    predictions and the graph of the previous round. Changes continue while the validation score
    improves; ties go to the lower validation loss. The best round is the result, on its own graph.
    A fitted classifier keeps its change: on a grown graph it adds and removes the edges of the fit
    again, and new nodes keep the edges that they have.

    A pair is as confident as the less confident of its two nodes (`Predicted`). The most confident
    pairs come first; a fixed hash of the pair breaks ties. |E| counts the undirected edges of the
    original graph. An edge removed in a change is not added in the same change, nor the reverse.
    With ``selection=last``, all changes are made and the last one counts.

    Differs from the paper: the numbers of edges are shares of |E|, so one setting fits any graph;
    the augmentation paper searched 0 to |E| - 1 edges and confidences of 0.5 to 1 (its appendix
    C). If there are more pairs than requested, the most confident are taken, where that paper's
    program takes the first by node ids. The second half of a change predicts again on the graph of
    the first half. With the same predictions the order would not matter, because additions join
    one class and removals two.

    Arguments are those of every method; see `gaug.methods.method.Method`.
    """

    config_type = AdaEdgeConfig
    classifier_type = ChangedGraphClassifier

    def max_epochs(self, training_epochs: int) -> int:
        """Maximum epochs of all rounds: one on the original graph and one per change."""
        return (self.config.rounds + 1) * training_epochs

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        return _AdaEdgeRun(visible, generator, self.config)

    def _classifier(self, trained: Trained) -> ChangedGraphClassifier:
        change = difference(trained.task.adjacency, trained.best.round.adjacency)
        return ChangedGraphClassifier(trained.fitted(), change)


class _AdaEdgeRun(AugmentedRun):
    def __init__(self, visible: Visible, generator: torch.Generator, config: AdaEdgeConfig) -> None:
        super().__init__(visible, generator)
        self.config = config
        self.best: RoundResult | None = None
        self.num_accepted = 0  # rounds up to the best, which is the last accepted one
        self.changes: list[GraphChange] = []

    def next_round(self, previous: RoundResult | None) -> Round | None:
        if previous is None:
            return Round(self.visible.adjacency)
        improved = self.best is None or previous.improves_on(self.best)
        if not improved or len(self.changes) == self.config.rounds:
            return None
        self.best = previous
        self.num_accepted += 1
        before = previous.round.adjacency
        num_edges = self.visible.adjacency.num_pairs
        change = self.visible.ranks.of_first(
            lambda: find_change(previous.predict, before, num_edges, self.config)
        )
        if change.added.numel() + change.removed.numel() == 0:
            if not self.changes:
                self.warning = self._nothing_changed()
            return None
        self.changes.append(change)
        return Round(_changed(before, change))

    def log(self) -> dict[str, float]:
        return {
            "num_added": sum(change.added.size(1) for change in self.changes),
            "num_removed": sum(change.removed.size(1) for change in self.changes),
        }

    def state(self) -> dict[str, Any]:
        return {
            "num_accepted": self.num_accepted,
            "changes": [[change.added, change.removed] for change in self.changes],
        }

    def restore(self, state: dict[str, Any], results: Sequence[RoundResult]) -> None:
        self.num_accepted = state["num_accepted"]
        self.best = results[self.num_accepted - 1] if self.num_accepted else None
        self.changes = [GraphChange(*pairs) for pairs in state["changes"]]

    def _nothing_changed(self) -> str:
        config = self.config
        return (
            f"AdaEdge changed no edge: add_fraction={config.add_fraction:g} and"
            f" remove_fraction={config.remove_fraction:g} of {self.visible.adjacency.num_pairs}"
            f" edges, at add_confidence={config.add_confidence:g} and"
            f" remove_confidence={config.remove_confidence:g}, leave nothing to change."
            " Raise a fraction or lower a confidence."
        )


def find_change(
    predict: Predict, adjacency: Adjacency, num_edges: int, config: AdaEdgeConfig
) -> GraphChange:
    """The edges to add to and remove from a graph, most confident pairs first.

    Args:
        predict: Class probabilities of every node on a graph.
        adjacency: The graph before the change; both halves use its edges.
        num_edges: The |E| that the fractions refer to.
        config: The settings.
    """
    edges = adjacency.pairs
    none = edges[:, :0]

    def add(graph: Adjacency) -> Tensor:
        count = math.floor(config.add_fraction * num_edges)
        return pairs_to_add(Predicted.of(predict(graph)), edges, config.add_confidence, count)

    def remove(graph: Adjacency) -> Tensor:
        count = math.floor(config.remove_fraction * num_edges)
        return pairs_to_remove(Predicted.of(predict(graph)), edges, config.remove_confidence, count)

    if config.order == "add-first":
        added = add(adjacency)
        return GraphChange(added, remove(_changed(adjacency, GraphChange(added, none))))
    removed = remove(adjacency)
    return GraphChange(add(_changed(adjacency, GraphChange(none, removed))), removed)


def _changed(adjacency: Adjacency, change: GraphChange) -> Adjacency:
    return Adjacency.of(change.apply(adjacency.to_data()))
