"""What predictors share that score a pair by two embeddings."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.pairs.distance import DistanceScores
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.ranking import OnShare


class EmbeddingPredictor(EdgePredictor):
    """Base of the predictors that embed nodes by their features and the graph.

    Attributes:
        embeddings_: What was learned.  [N, d]
        scoring: How two embeddings give a score.
    """

    looks_at_features = True
    scoring: type[InnerProductScores | DistanceScores] = InnerProductScores

    @abstractmethod
    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        """Embeddings of the nodes of a valid graph.  [N, d]"""

    @abstractmethod
    def _embed_again(self, data: Data) -> Tensor:
        """Embeddings of the nodes of another graph by what was learned.  [N, d]"""

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self._place(self._embed(data, seed, on_share))

    def _adapt(self, data: Data) -> None:
        self._place(self._embed_again(data))

    def _place(self, embeddings: Tensor) -> None:
        self.embeddings_ = embeddings
        self._scores = self.scoring(embeddings)
        self.slack = self._scores.slack

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of the two embeddings.  [2, n] → [n]"""
        self.check_pairs(pairs)
        return self._scores.edge_logits(pairs)

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with nodes from first_column on.  [stop - start, …]"""
        return self._scores.score_rows(start, stop, first_column)
