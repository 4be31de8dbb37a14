"""The fitted classifier of GAug-O, which predicts edges as well as classes."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import Fitted, NodeClassifier
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.gaug_o.learned_edges import LearnedEdges
from gaug.seeding import draw_seed


class LearnedEdgesClassifier(NodeClassifier):
    """Predicts on the unchanged graph, and knows how likely the edges of the fit are.

    Args:
        fitted: The trained model with its settings.
        edges: What was learned about the edges of the fitted graph.
    """

    def __init__(self, fitted: Fitted, edges: LearnedEdges) -> None:
        super().__init__(fitted)
        self.edges = edges
        self._generator = torch.Generator().manual_seed(fitted.summary.seed)

    @classmethod
    def restored(cls, fitted: Fitted, tensors: Mapping[str, Tensor]) -> LearnedEdgesClassifier:
        """The classifier from its parts, as `save` wrote them."""
        original = Adjacency.of_pairs(tensors["edges"], fitted.summary.num_nodes)
        assert isinstance(fitted.method, GAugOConfig)
        return cls(fitted, LearnedEdges.of(fitted.method, tensors["prepared"], original))

    def edge_probabilities(self, pairs: Tensor) -> Tensor:
        """The probability that each pair of nodes of the fitted graph is an edge of a drawn graph.

        Args:
            pairs: Node numbers.  [2, n]

        Returns:
            One probability per pair.  [n]
        """
        return self.edges.probabilities(pairs)

    def sample_graph(self, seed: int | None = None) -> Data:
        """A graph drawn from the probabilities: its edges, without features and labels.

        With ``variant=no-sampling`` it has all pairs, with their probabilities as ``edge_weight``.

        Args:
            seed: Seed of the draw; by default each call draws a new graph.
        """
        if seed is None:
            seed = draw_seed(self._generator)
        try:
            number = operator.index(seed)
        except TypeError as error:
            raise ConfigError(f"seed must be a whole number, got {seed!r:.80}.") from error
        return self.edges.sample_graph(number)

    def _tensors(self) -> dict[str, Tensor]:
        return {
            "prepared": self.edges.prepared,
            "edges": self.edges.original.pairs,
        }
