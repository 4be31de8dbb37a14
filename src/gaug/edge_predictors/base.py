"""The interface of an edge predictor: which pairs of nodes should be joined?"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import ConfigError, DataError, TrainingError
from gaug.graph.edges import undirected_pairs
from gaug.pairs import ranking
from gaug.pairs.ranking import OnShare, RankedPairs


class EdgePredictor(ABC):
    """Base class of the edge predictors: learns from a graph, then scores any pair of its nodes.

    A score is a logit or any other number that is higher for likelier edges; only the order counts.
    Subclasses must define `_learn` and `edge_logits`; `score_rows` uses these unless a class
    overrides it with a faster method. With a slack, `exact_rows` can be overridden, too.

    Args:
        config: Its settings.

    Attributes:
        config_type: The class of its settings.
        slack: See `gaug.pairs.scores.PairScores`.
        block_elements: Scores to compute at a time, if the usual number is not the fastest.
        looks_at_features: Whether the graph must have features.
        flaw_: What is wrong with what it learned; None if nothing is known to be.
    """

    config_type: ClassVar[type[PredictorConfig]] = PredictorConfig
    config: PredictorConfig
    slack: float = 0.0
    block_elements: int | None = None
    looks_at_features: bool = False
    flaw_: str | None = None

    def __init__(self, config: PredictorConfig | None = None) -> None:
        if config is not None and not isinstance(config, self.config_type):
            raise ConfigError(
                f"{type(self).__name__} takes a {self.config_type.__name__}, got {config!r:.80}."
            )
        self.config = config or self.config_type()

    @property
    def looks_at_labels(self) -> bool:
        """Whether it reads the labels of all nodes, which only a control may."""
        return self.config_type.looks_at_labels

    def fit(self, data: Data, seed: int = 0, *, on_share: OnShare | None = None) -> EdgePredictor:
        """Learn from a valid graph, and return self.

        Args:
            data: The graph, with ``x`` if the predictor uses features. Only a control reads ``y``.
            seed: Seed of everything that is random.
            on_share: Called with the share of the work done so far, if it takes long.
        """
        if self.looks_at_features and data.x is None:
            raise DataError(
                f"{type(self).__name__} uses features, but the graph has none (data.x)."
                " Add features, or use a predictor that only needs edges, such as ra."
            )
        self.num_nodes_ = int(data.num_nodes)
        self.edges_ = undirected_pairs(data.edge_index)
        self._learn(data, seed, on_share or _tell_nobody)
        return self

    @abstractmethod
    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        """Learn from a valid graph."""

    @abstractmethod
    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair.  [2, n] → [n]"""

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        rows = torch.arange(start, stop)
        columns = torch.arange(first_column, self.num_nodes_)
        pairs = torch.cartesian_prod(rows, columns).t()
        return self.edge_logits(pairs).view(rows.numel(), columns.numel())

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """The same, equal to the scores of `edge_logits` whatever the slack is."""
        if self.slack == 0:
            return self.score_rows(start, stop, first_column)
        return EdgePredictor.score_rows(self, start, stop, first_column)

    def adapted(self, data: Data) -> EdgePredictor:
        """A copy that scores the pairs of another graph without fitting again.

        Args:
            data: A valid graph with the same features.

        Raises:
            ConfigError: If this predictor does not support it.
        """
        other = copy.copy(self)
        other.num_nodes_ = int(data.num_nodes)
        other.edges_ = undirected_pairs(data.edge_index)
        other._adapt(data)
        return other

    def _adapt(self, data: Data) -> None:
        """Prepare to score the pairs of another graph without learning from it."""
        raise self._cannot_adapt()

    def _cannot_adapt(self) -> ConfigError:
        return ConfigError(
            f"{type(self).__name__} cannot score the nodes of another graph, only those of the"
            " graph of its fit."
        )

    def learned(self) -> dict[str, Tensor]:
        """What `adapted` needs, for saving."""
        return {}

    def restore(self, learned: Mapping[str, Tensor]) -> None:  # noqa: B027 – for those that learn
        """Load what another predictor with the same settings learned, so that `adapted` works."""

    def top_non_edges(
        self,
        count: int,
        *,
        per_node: bool = False,
        among_first: int | None = None,
        on_share: OnShare | None = None,
    ) -> RankedPairs:
        """The best non-edges of all pairs, or spread over the nodes; see `gaug.pairs.ranking`.

        Args:
            count: Number of pairs.
            per_node: Whether to spread them over the nodes.
            among_first: Only rank pairs with an end among this many first nodes; None: all pairs.
            on_share: Called with the share of the work done so far.
        """
        self.check_fitted()
        rank = ranking.top_non_edges_per_node if per_node else ranking.top_non_edges
        return rank(
            self,
            self.edges_,
            self.num_nodes_,
            count,
            among_first=among_first,
            block_elements=self.block_elements,
            on_share=on_share,
        )

    def bottom_edges(self, count: int) -> RankedPairs:
        """The worst edges, worst first."""
        self.check_fitted()
        return ranking.bottom_edges(self, self.edges_, self.num_nodes_, count)

    def check_fitted(self) -> None:
        """Raise if `fit` was not called."""
        if not hasattr(self, "num_nodes_"):
            raise TrainingError(f"{type(self).__name__} is not fitted yet. Call fit(data) first.")

    def check_pairs(self, pairs: Tensor) -> None:
        """Raise unless all pairs are node ids of the fitted graph."""
        self.check_fitted()
        if pairs.dim() != 2 or pairs.size(0) != 2:
            raise DataError(f"pairs must have shape [2, n], got {list(pairs.shape)}.")
        if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < self.num_nodes_:
            bad = int(pairs.min()) if int(pairs.min()) < 0 else int(pairs.max())
            raise DataError(f"pairs must hold node ids from 0 to {self.num_nodes_ - 1}, got {bad}.")


def _tell_nobody(share: float) -> None:
    pass
