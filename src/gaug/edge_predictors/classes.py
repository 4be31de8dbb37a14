"""Predicted classes beside another predictor, for a second round that knows a first classifier."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.combined import CombinedPredictor
from gaug.edge_predictors.embedding import EmbeddingPredictor
from gaug.pairs.ranking import OnShare


class ClassSimilarity(EmbeddingPredictor):
    r"""The probability that two nodes are in the same class, $\sum_c p_{uc}\, p_{vc}$.

    Args:
        probabilities: Class probabilities of every node.  [N, C]
    """

    looks_at_features = False

    def __init__(self, probabilities: Tensor) -> None:
        super().__init__()
        self.probabilities = probabilities

    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        return self.probabilities

    def _embed_again(self, data: Data) -> Tensor:
        return self.probabilities


class JoinedPredictor(CombinedPredictor):
    """The sum of a fitted predictor and the similarity of predicted classes.

    Args:
        predictor: The predictor, fitted to the graph.
        probabilities: Class probabilities of every node.  [N, C]
        weight: How much the classes count, beside 1 for the predictor.
        scale: How both are made comparable; see `CombinedPredictor`.
    """

    def __init__(
        self, predictor: EdgePredictor, probabilities: Tensor, weight: float, scale: str
    ) -> None:
        super().__init__(
            [predictor, ClassSimilarity(probabilities)], [1.0, weight], scale, fitted=True
        )

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self.predictors[1].fit(data, seed)
        super()._learn(data, seed, on_share)

    def of_nodes(self, probabilities: Tensor) -> JoinedPredictor:
        """A copy for the nodes of another graph, to be adapted to it.

        Args:
            probabilities: Class probabilities of its nodes.  [N, C]
        """
        other = copy.copy(self)
        other.predictors = [self.predictors[0], ClassSimilarity(probabilities)]
        return other

    def learned(self) -> dict[str, Tensor]:
        """The scale of both; what the predictor learned is not repeated."""
        return {f"scale{place}": scale.numbers for place, scale in enumerate(self._scales)}

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load the scale of both."""
        self._scales = [self._scale_type(learned[f"scale{place}"]) for place in range(2)]
