"""One run of GAug-M: training on the better graph, and again on one that knows the first result."""

from __future__ import annotations

import math
from typing import Any

import torch

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.classes import JoinedPredictor
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.training.hooks import AugmentedRun, Round, RoundResult, Visible


class GAugMRun(AugmentedRun):
    """A run on the changed graph, and with ``rounds=2`` another one on a second change.

    Args:
        visible: What the method may see.
        generator: Unused: nothing is drawn.
        config: The settings.
        modified: The graph after the first change.
        predictor: The predictor that chose it, fitted to the original graph.
        seed: Seed of the pairs that make scores comparable.
    """

    def __init__(
        self,
        visible: Visible,
        generator: torch.Generator,
        config: GAugMConfig,
        modified: Adjacency,
        predictor: EdgePredictor,
        seed: int,
    ) -> None:
        super().__init__(visible, generator)
        self.config = config
        self.modified = modified
        self.predictor = predictor
        self.seed = seed

    def next_round(self, previous: RoundResult | None) -> Round | None:
        """The first change, then a second one if asked."""
        if previous is None:
            return self._on(self.modified)
        if self.config.rounds == 1 or changed_graph(previous.round) is not self.modified:
            return None
        return self._on(self._changed_again(previous))

    def state(self) -> dict[str, Any]:
        """Nothing: the rounds say it all."""
        return {}

    @property
    def known_graphs(self) -> dict[str, Adjacency]:
        """The original graph and the first changed one."""
        return {**super().known_graphs, "modified": self.modified}

    def _on(self, graph: Adjacency) -> Round:
        on_modified = self.config.inference == "modified"
        return Round(graph if on_modified else self.visible.adjacency, graph)

    def _changed_again(self, first: RoundResult) -> Adjacency:
        original = self.visible.adjacency
        change = self.visible.ranks.of_first(lambda: self._second_change(first))
        changed = Adjacency.of(change.apply(original.to_data().cpu()))
        return changed.to(self.visible.labels.device)

    def _second_change(self, first: RoundResult) -> GraphChange:
        original = self.visible.adjacency
        joined = joined_predictor(self.predictor, first, original, self.config, self.seed)
        added = joined.top_non_edges(
            math.floor(self.config.add_fraction * original.num_pairs),
            per_node=self.config.allocation == "per-node",
        )
        removed = joined.bottom_edges(math.floor(self.config.removed_in(2) * original.num_pairs))
        return GraphChange(added.pairs, removed.pairs)


def changed_graph(current: Round) -> Adjacency:
    """The changed graph of a round, which may not be the one for inference."""
    return current.adjacency if current.trained_on is None else current.trained_on


def joined_predictor(
    predictor: EdgePredictor,
    first: RoundResult,
    original: Adjacency,
    config: GAugMConfig,
    seed: int,
) -> JoinedPredictor:
    """The predictor of the second round.

    Args:
        predictor: The predictor of the first round.
        first: The result of the first round, whose predicted classes count.
        original: The original graph.
        config: The settings.
        seed: Seed of the pairs that make scores comparable.
    """
    probabilities = first.predict(first.round.adjacency).cpu()
    joined = JoinedPredictor(predictor, probabilities, config.class_weight, config.combination)
    joined.fit(original.to_data().cpu(), seed)
    return joined
