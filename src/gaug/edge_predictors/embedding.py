"""The base of predictors that score a pair by two embeddings."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.errors import unknown_name
from gaug.pairs.distance import DistanceScores
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.ranking import OnShare

_SCORINGS: dict[str, type[InnerProductScores | DistanceScores]] = {
    "inner-product": InnerProductScores,
    "distance": DistanceScores,
}


class EmbeddingPredictor(EdgePredictor):
    """Base class of the predictors that embed nodes by their features and the graph.

    Subclasses must define `_embed`; if they define `_embed_again`, a fitted GAug-M can offer edges
    to new nodes. All pairs are ranked exactly, by matrix products.

    Args:
        config: Its settings.

    Attributes:
        embeddings_: What was learned.  [N, d]
        scoring: How two embeddings give a score: ``inner-product``, or ``distance`` for the
            negative squared distance.
    """

    looks_at_features = True
    scoring: str = "inner-product"

    @abstractmethod
    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        """Embeddings of the nodes of a valid graph.  [N, d]"""

    def _embed_again(self, data: Data) -> Tensor:
        """Embeddings of the nodes of another graph, without learning from it.  [N, d]"""
        raise self._cannot_adapt()

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self._place(self._embed(data, seed, on_share))

    def _adapt(self, data: Data) -> None:
        self._place(self._embed_again(data))

    def _place(self, embeddings: Tensor) -> None:
        self.embeddings_ = embeddings
        self._scores = embedding_scores(embeddings, self.scoring)
        self.slack = self._scores.slack

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of the two embeddings.  [2, n] → [n]"""
        self.check_pairs(pairs)
        return self._scores.edge_logits(pairs)

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        return self._scores.score_rows(start, stop, first_column)

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """The same, equal to the scores of `edge_logits`.  [stop - start, …]"""
        return self._scores.exact_rows(start, stop, first_column)


def embedding_scores(embeddings: Tensor, scoring: str) -> InnerProductScores | DistanceScores:
    """Scores of all pairs of embeddings, computed on demand.

    Args:
        embeddings: One row per node.  [N, d]
        scoring: ``inner-product`` or ``distance``.
    """
    if scoring not in _SCORINGS:
        raise unknown_name("scoring", scoring, _SCORINGS)
    return _SCORINGS[scoring](embeddings)
