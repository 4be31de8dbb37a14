"""User-defined objects as edge predictors."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.embedding import embedding_scores
from gaug.edge_predictors.evaluation import random_pairs
from gaug.errors import ConfigError, DataError
from gaug.pairs.ranking import OnShare
from gaug.pairs.scores import PairScores

# Random pairs on which the embeddings must give the same scores as the object.
_COMPARED_PAIRS = 100


class PredictorLike(Protocol):
    """What a user-defined predictor must define; see `CustomPredictor` for optional attributes."""

    def fit(self, data: Data) -> object:
        """Learn from a graph."""
        ...

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair, higher for likelier edges.  [2, n] → [n]"""
        ...


class CustomPredictor(EdgePredictor):
    """Any object with ``fit(data)`` and ``edge_logits(pairs)`` as an edge predictor.

    If the object has ``embeddings_`` after its fit, one row per node, all pairs are ranked by
    matrix products of these instead of calls to ``edge_logits``. Its ``scoring`` says how two
    embeddings give a score: ``inner-product`` (the default) or ``distance``. A sample of pairs is
    checked for agreement with ``edge_logits``.

    Args:
        wrapped: The object.
    """

    def __init__(self, wrapped: PredictorLike) -> None:
        if isinstance(wrapped, type):
            raise ConfigError(f"predictor must be an object, got the class {wrapped.__name__}.")
        for name in ("fit", "edge_logits"):
            if not callable(getattr(wrapped, name, None)):
                raise ConfigError(
                    f"predictor must be a name or have fit(data) and edge_logits(pairs);"
                    f" {type(wrapped).__name__} has no {name}."
                )
        self.wrapped = wrapped
        self._scores: PairScores | None = None

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self.wrapped.fit(data)
        self._place()

    def _adapt(self, data: Data) -> None:
        adapted = getattr(self.wrapped, "adapted", None)
        if not callable(adapted):
            raise ConfigError(
                f"{type(self.wrapped).__name__} cannot score the nodes of another graph: it has no"
                " method adapted(data) that returns a predictor for it without refitting."
            )
        self.wrapped = adapted(data)
        self._place()

    def _place(self) -> None:
        """Use the embeddings, if any, and check their scores."""
        self._scores, self.slack = None, 0.0
        found = getattr(self.wrapped, "embeddings_", None)
        if found is None:
            return
        name = type(self.wrapped).__name__
        embeddings = torch.as_tensor(found).detach().cpu()
        if embeddings.dim() != 2 or embeddings.size(0) != self.num_nodes_:
            raise DataError(
                f"embeddings_ of {name} must have one row per node ({self.num_nodes_}), got shape"
                f" {list(embeddings.shape)}."
            )
        scoring = getattr(self.wrapped, "scoring", "inner-product")
        scores = embedding_scores(embeddings, scoring)
        generator = torch.Generator().manual_seed(0)
        pairs = random_pairs(self.num_nodes_, _COMPARED_PAIRS, generator)
        own, theirs = scores.edge_logits(pairs), self.edge_logits(pairs)
        if not torch.allclose(own, theirs, rtol=1e-4, atol=max(scores.slack, 1e-6)):
            worst = int((own - theirs).abs().argmax())
            raise DataError(
                f"edge_logits of {name} must be the {scoring} of its embeddings_, got"
                f" {float(theirs[worst]):g} instead of {float(own[worst]):g} for the pair"
                f" {pairs[:, worst].tolist()}. Set scoring, or give embeddings_ another name."
            )
        self._scores, self.slack = scores, scores.slack

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair.  [2, n] → [n]"""
        self.check_pairs(pairs)
        if self._scores is not None:
            return self._scores.edge_logits(pairs)
        scores = torch.as_tensor(self.wrapped.edge_logits(pairs)).detach().cpu()
        if scores.shape != pairs.shape[1:]:
            raise DataError(
                f"edge_logits of {type(self.wrapped).__name__} must return one score per pair"
                f" ({pairs.size(1)}), got shape {list(scores.shape)}."
            )
        return scores.float()

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        if self._scores is not None:
            return self._scores.score_rows(start, stop, first_column)
        return super().score_rows(start, stop, first_column)

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """The same, equal to the scores of `edge_logits`.  [stop - start, …]"""
        if self._scores is not None:
            return self._scores.exact_rows(start, stop, first_column)
        return super().exact_rows(start, stop, first_column)
