"""GAug-M: change the graph once, then train and predict on the better one."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import as_given
from gaug.classifier.changed_graph import difference
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.build import build_predictor
from gaug.edge_predictors.custom import CustomPredictor, PredictorLike
from gaug.edge_predictors.fitted import RankedPredictor, fit_once
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange
from gaug.graph.sparse import SparseMatrix
from gaug.graph.valid import standardize
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.gaug_m.run import GAugMRun, changed_graph, joined_predictor
from gaug.methods.method import Method
from gaug.methods.trained import Trained
from gaug.pairs.ranking import OnShare, RankedPairs, part_of_work
from gaug.telling import warn
from gaug.training.hooks import AugmentedRun, Visible


@dataclass(frozen=True)
class ScoredChange:
    """What GAug-M adds and removes, with the scores of the edge predictor."""

    added: RankedPairs
    removed: RankedPairs

    @property
    def change(self) -> GraphChange:
        """The change without the scores."""
        return GraphChange(self.added.pairs, self.removed.pairs)


class GAugM(Method[GAugMConfig, MendedGraphClassifier]):
    """GAug-M (the paper's section 4.1): build a better graph once.

    An edge predictor scores all pairs of nodes. The ``floor(add_fraction * |E|)`` best non-edges
    are added and the ``floor(remove_fraction * |E|)`` worst edges are removed; |E| counts
    undirected edges, and a fixed hash of the pair breaks ties. Everything downstream uses the
    result.

    It is a method of the training loop and also a PyTorch Geometric transform: calling it on a
    graph returns a new graph with the added and removed edges and their logits.

    With ``rounds=2``, the class probabilities of the first classifier join the predictor as
    embeddings (`gaug.edge_predictors.classes`). Their sum changes the original graph anew, with
    ``second_remove_fraction``, and a classifier with new weights trains on the result. Of the two
    rounds, the better one on the validation nodes is taken.

    Differs from the paper: any predictor or sum of predictors can be used, and additions can be
    spread over the nodes (``per-node``), because the best of all pairs are in a few dense regions.

    Args:
        config: Settings of the method.
        predictor: The setting of this name, or instead an object with ``fit(data)`` and
            ``edge_logits(pairs)``.
        options: The other arguments of every method; see `gaug.methods.method.Method`.

    Examples:
        >>> from gaug import load_graph
        >>> better = GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1)(
        ...     load_graph("karate")
        ... )
        >>> better.num_edges // 2, better.added_edges.shape[1], better.removed_edges.shape[1]
        (86, 15, 7)
    """

    config_type = GAugMConfig
    classifier_type = MendedGraphClassifier

    def __init__(
        self,
        config: GAugMConfig | None = None,
        *,
        predictor: str | PredictorLike | None = None,
        **options: Any,
    ) -> None:
        self._custom: EdgePredictor | None = None
        if predictor is not None and not isinstance(predictor, str):
            self._custom = (
                predictor if isinstance(predictor, EdgePredictor) else CustomPredictor(predictor)
            )
            predictor = "custom"
        if predictor is not None:
            options["predictor"] = predictor
        super().__init__(config, **options)

    @property
    def is_custom(self) -> bool:
        """Whether its predictor is a user-defined object."""
        return self._custom is not None

    @property
    def looks_at_labels(self) -> bool:
        """Whether its predictor does, which makes it a control, not a method."""
        return super().looks_at_labels or (
            self._custom is not None and self._custom.looks_at_labels
        )

    @property
    def knows_its_graph(self) -> bool:
        """It does, once it is prepared, if there is one round."""
        return self.config.rounds == 1

    def max_epochs(self, training_epochs: int) -> int:
        """Maximum epochs of all rounds."""
        return self.config.rounds * training_epochs

    def __call__(self, data: Data) -> Data:
        """The better graph; the given one is unchanged.

        A graph that is directed or has repeated edges or self-loops is converted to a valid one
        first, with a warning.
        """
        if self.config.rounds > 1:
            raise ConfigError(
                f"rounds={self.config.rounds} needs a classifier, and a transform has none. Fit it:"
                " GAugM(rounds=2).fit(data).augmented(data) is the graph."
            )
        classes = map(PREDICTORS.class_of, self.predictors.values())
        # On the CPU, where the ranking is.
        valid, notes = standardize(
            copy.copy(data).cpu(), require_features=any(cls.looks_at_features for cls in classes)
        )
        if notes:
            warn(" ".join(notes))
        found = self.find_change(valid)
        if self.predictor_.flaw_ is not None:
            warn(self.predictor_.flaw_)
        better = found.change.apply(valid)
        better.added_edges, better.added_logits = found.added.pairs, found.added.logits
        better.removed_edges, better.removed_logits = found.removed.pairs, found.removed.logits
        return better.to(data.edge_index.device) if data.x is None else as_given(better, data)

    def fit_predictor(self, data: Data, *, on_share: OnShare | None = None) -> RankedPredictor:
        """The edge predictor, fitted to a valid graph; reused if it was fitted before."""
        if self._custom is not None:
            return RankedPredictor(self._custom.fit(data, self.seed, on_share=on_share))
        return fit_once(
            self.config.predictor,
            self.predictors,
            data,
            self.seed,
            scale=self.config.combination,
            on_share=on_share,
        )

    def find_change(
        self, data: Data, *, on_fit: OnShare | None = None, on_share: OnShare | None = None
    ) -> ScoredChange:
        """The edges to add to and remove from a valid graph, best first.

        Args:
            data: The graph.
            on_fit: Called with the finished share of the fit of the predictor.
            on_share: Called with the finished share of the ranking of all pairs.
        """
        num_edges = data.num_edges // 2
        predictor = self.fit_predictor(data, on_share=on_fit)
        self.predictor_ = predictor.predictor
        added = predictor.top_non_edges(
            math.floor(self.config.add_fraction * num_edges),
            per_node=self.config.allocation == "per-node",
            on_share=on_share,
        )
        removed = predictor.bottom_edges(math.floor(self.config.removed_in(1) * num_edges))
        return ScoredChange(added, removed)

    def edge_logits(self, data: Data, pairs: Tensor) -> Tensor:
        """The edge predictor's scores for pairs of nodes of this graph.  [2, n] → [n]"""
        return self.fit_predictor(data).predictor.edge_logits(pairs)

    def prepare(self, visible: Visible, seed: int, *, on_share: OnShare | None = None) -> GAugM:
        """Change the graph; all runs share it, and all ranks: the first finds the change."""
        self.seed = seed
        # Only the first rank asks it; there, it is replaced by the fitted one.
        self.predictor_ = self._custom or build_predictor(self.config.predictor, self.predictors)
        change = visible.ranks.of_first(lambda: self._first_change(visible, on_share))
        changed = change.apply(visible.adjacency.to_data().cpu())
        self.adjacency_ = Adjacency.of(changed).to(visible.labels.device)
        return self

    def _first_change(self, visible: Visible, on_share: OnShare | None) -> GraphChange:
        x = visible.features
        data = visible.adjacency.to_data()
        data.x = x.to_torch() if isinstance(x, SparseMatrix) else x
        if self.looks_at_labels:
            data.y = visible.labels
        found = self.find_change(
            data.cpu(), on_fit=part_of_work(on_share, 0, 2), on_share=part_of_work(on_share, 1, 2)
        )
        return found.change

    def _classifier(self, trained: Trained) -> MendedGraphClassifier:
        original, graph = trained.task.adjacency, changed_graph(trained.best.round)
        # A user-defined object may be fitted again, to another graph.
        predictor = self.predictor_ if self._custom is None else copy.deepcopy(self.predictor_)
        change = difference(original, graph)
        if graph is self.adjacency_:
            return MendedGraphClassifier(trained.fitted(), change, predictor)
        first = next(
            result
            for result in trained.result.rounds
            if changed_graph(result.round) is self.adjacency_
        )
        before = MendedGraphClassifier(
            trained.fitted(weights=first.weights), difference(original, self.adjacency_), predictor
        )
        joined = joined_predictor(predictor, first, original, self.config, self.seed)
        return MendedGraphClassifier(trained.fitted(), change, joined, before)

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        run = GAugMRun(visible, generator, self.config, self.adjacency_, self.predictor_, self.seed)
        run.warning = self.predictor_.flaw_
        if self.looks_at_labels:
            run.warning = "A control, not a method: the labels of all nodes chose its edges."
        num_edges, config = visible.adjacency.num_pairs, self.config
        if math.floor(max(config.add_fraction, config.remove_fraction) * num_edges) == 0:
            run.warning = (
                f"GAug-M changed no edge: add_fraction={config.add_fraction:g} and"
                f" remove_fraction={config.remove_fraction:g} of {num_edges} edges are less than"
                " one each. Raise one of them."
            )
        return run
