"""GAug-M: change the graph once, train and predict on the better one."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import as_given
from gaug.classifier.changed_graph import difference
from gaug.classifier.facts import GraphInfo
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.config import Range, Span, setting
from gaug.edge_predictors import PREDICTOR_CONFIGS, parse_predictor, predictor_configs
from gaug.edge_predictors.base import EdgePredictor, PredictorConfig
from gaug.edge_predictors.combined import SCALES
from gaug.edge_predictors.fitted import (
    FitsAndScores,
    RankedPredictor,
    UserPredictor,
    fit_once,
)
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange
from gaug.graph.sparse import SparseMatrix
from gaug.graph.valid import standardize
from gaug.methods.method import Method, Trained
from gaug.models.spec import Model, ModelChoice
from gaug.pairs.ranking import OnShare, RankedPairs
from gaug.training.hooks import (
    AugmentedRun,
    MethodConfig,
    Round,
    RoundResult,
    Visible,
)
from gaug.training.loop import OnEpoch, TrainingConfig

_FRACTION = Range(0, 1)
_LOOK_AT_FEATURES = {"gae", "vgae", "features", "smoothed"}


@dataclass(frozen=True)
class GAugMConfig(MethodConfig):
    """Settings of `GAugM`."""

    name: ClassVar[str] = "gaug-m"

    predictor: str = setting(
        "gae",
        "Edge predictor, or a sum such as gae+features or gae+2*features.",
        search=("gae", "features", "smoothed", "structure", "ra", "jaccard"),
    )
    add_fraction: float = setting(
        0.3, "Edges to add, as a share of |E|.", within=_FRACTION, search=Span(0, 1, 0.05)
    )
    remove_fraction: float = setting(
        0.05, "Edges to remove, as a share of |E|.", within=_FRACTION, search=Span(0, 0.8, 0.05)
    )
    allocation: str = setting(
        "global",
        "global: the best pairs of all; per-node: each node's best, then each one's second best.",
        choices=("global", "per-node"),
        search=("global", "per-node"),
    )
    inference: str = setting(
        "modified", "Graph to predict on: modified or original.", choices=("modified", "original")
    )
    combination: str = setting(
        "standardized", "How the parts of a sum of predictors are compared.", choices=SCALES
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predictor != "custom":
            parse_predictor(self.predictor)


@dataclass(frozen=True)
class ScoredChange:
    """What GAug-M adds and removes, with the scores of the edge predictor."""

    added: RankedPairs
    removed: RankedPairs

    @property
    def change(self) -> GraphChange:
        """The change without the scores."""
        return GraphChange(self.added.pairs, self.removed.pairs)


class GAugM(Method[GAugMConfig]):
    """GAug-M (the paper's section 4.1): a better graph, made once.

    An edge predictor scores all pairs of nodes. The ``floor(add_fraction * |E|)`` best non-edges
    are added and the ``floor(remove_fraction * |E|)`` worst edges are removed; |E| counts
    undirected edges, and ties go to the smaller node ids. Everything downstream uses the result.

    It is a method of the training loop and a transform in the sense of PyTorch Geometric: calling
    it on a graph gives a new graph, which carries what was added and removed with the logits.

    Differs from the paper: any predictor or sum of predictors; additions may be spread over the
    nodes (``per-node``), because the best pairs of all crowd into a few dense regions.

    Args:
        predictor: Name of a predictor, a sum of names, or any object with ``fit(data)`` and
            ``edge_logits(pairs)``.
        add_fraction: Share of |E| to add, in [0, 1].
        remove_fraction: Share of |E| to remove, in [0, 1].
        allocation: ``global`` or ``per-node``.
        inference: ``modified``, or ``original`` for the paper's GAug-M-O.
        combination: ``standardized`` or ``ranks``, for sums of predictors.
        predictor_settings: Settings of the predictors by name, where they are not the default, for
            instance ``{"gae": {"predictor_epochs": 50}}``.
        labels: Classes of all nodes, for the predictor ``omniscient`` alone.
        model: The classifier, for `fit`; see `gaug.methods.method.Method`.
        training: Settings of the loop.
        seed: Seed of the predictor and of training.
        settings: Single settings of the model or of the loop by name.

    Examples:
        >>> from gaug.data.catalog.loading import load_graph
        >>> better = GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1)(
        ...     load_graph("karate")
        ... )
        >>> better.num_edges // 2, better.added_edges.shape[1], better.removed_edges.shape[1]
        (86, 15, 7)
    """

    config_type = GAugMConfig

    def __init__(
        self,
        predictor: str | EdgePredictor | FitsAndScores = "gae",
        add_fraction: float = 0.3,
        remove_fraction: float = 0.05,
        *,
        allocation: str = "global",
        inference: str = "modified",
        combination: str = "standardized",
        predictor_settings: Mapping[str, PredictorConfig | Mapping[str, Any]] | None = None,
        labels: Tensor | None = None,
        model: Model | ModelChoice = "gcn",
        training: TrainingConfig | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        name = predictor if isinstance(predictor, str) else "custom"
        config = GAugMConfig(
            predictor=name,
            add_fraction=add_fraction,
            remove_fraction=remove_fraction,
            allocation=allocation,
            inference=inference,
            combination=combination,
        )
        super().__init__(config, model=model, training=training, seed=seed, **settings)
        self.predictor_settings = _as_configs(name, predictor_settings or {})
        self._custom: EdgePredictor | None = None
        if isinstance(predictor, str):
            self.predictor_settings = predictor_configs(predictor) | self.predictor_settings
        elif isinstance(predictor, EdgePredictor):
            self._custom = predictor
        else:
            self._custom = UserPredictor(predictor)
        self.labels = labels

    def __call__(self, data: Data) -> Data:
        """The better graph; the given one is unchanged.

        A graph that is directed or has repeated edges or self-loops is made a valid one first,
        with a warning that says so.
        """
        parts = set(self.predictor_settings)
        # On the CPU, where the ranking is.
        valid, notes = standardize(
            copy.copy(data).cpu(), require_features=bool(parts & _LOOK_AT_FEATURES)
        )
        if notes:
            warnings.warn(" ".join(notes), stacklevel=2)
        found = self.find_change(valid)
        better = found.change.apply(valid)
        better.added_edges, better.added_logits = found.added.pairs, found.added.logits
        better.removed_edges, better.removed_logits = found.removed.pairs, found.removed.logits
        return better.to(data.edge_index.device) if data.x is None else as_given(better, data)

    def fit_predictor(self, data: Data, *, on_share: OnShare | None = None) -> RankedPredictor:
        """The edge predictor, fitted to a valid graph; taken over if it was fitted before."""
        if self._custom is not None:
            return RankedPredictor(self._custom.fit(data, self.seed, on_share=on_share))
        return fit_once(
            self.config.predictor,
            self.predictor_settings,
            data,
            self.seed,
            scale=self.config.combination,
            labels=self.labels,
            on_share=on_share,
        )

    def find_change(self, data: Data, *, on_share: OnShare | None = None) -> ScoredChange:
        """What to add to a valid graph and what to remove, best first."""
        num_edges = data.num_edges // 2
        predictor = self.fit_predictor(data)
        self.predictor_ = predictor.predictor
        added = predictor.top_non_edges(
            math.floor(self.config.add_fraction * num_edges),
            per_node=self.config.allocation == "per-node",
            on_share=on_share,
        )
        removed = predictor.bottom_edges(math.floor(self.config.remove_fraction * num_edges))
        return ScoredChange(added, removed)

    def edge_logits(self, data: Data, pairs: Tensor) -> Tensor:
        """Scores of pairs of nodes of this graph by the edge predictor.  [2, n] → [n]"""
        return self.fit_predictor(data).predictor.edge_logits(pairs)

    def prepare(self, visible: Visible, seed: int) -> GAugM:
        """Change the graph; all runs share it."""
        self.seed = seed
        x = visible.features
        data = visible.adjacency.to_data()
        data.x = x.to_torch() if isinstance(x, SparseMatrix) else x
        device = visible.labels.device
        self.adjacency_ = Adjacency.of(self(data.cpu())).to(device)
        return self

    def fit(
        self,
        data: Data,
        *,
        info: GraphInfo | None = None,
        threads: int = 1,
        on_epoch: OnEpoch | None = None,
    ) -> MendedGraphClassifier:
        """Change the graph and train once on the better one. See `Method.fit`."""
        return self._classifier(self._train(data, info or GraphInfo(), threads, on_epoch))

    def _classifier(self, trained: Trained) -> MendedGraphClassifier:
        method = trained.method
        assert isinstance(method, GAugM)
        parts = {name: part.to_dict() for name, part in self.predictor_settings.items()}
        return MendedGraphClassifier(
            trained.fitted(parts=parts),
            difference(trained.task.adjacency, method.adjacency_),
            # A user's object may be fitted again, to another graph.
            method.predictor_ if self._custom is None else copy.deepcopy(method.predictor_),
        )

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        run = _GAugMRun(visible, generator, self.adjacency_, self.config.inference)
        if "omniscient" in self.predictor_settings:
            run.warning = "A control, no method: its edges were chosen by the labels of all nodes."
        num_edges, config = visible.adjacency.num_pairs, self.config
        if math.floor(max(config.add_fraction, config.remove_fraction) * num_edges) == 0:
            run.warning = (
                f"GAug-M changed no edge: add_fraction={config.add_fraction:g} and"
                f" remove_fraction={config.remove_fraction:g} of {num_edges} edges are less than"
                " one each. Raise one of them."
            )
        return run


def _as_configs(
    predictor: str, given: Mapping[str, PredictorConfig | Mapping[str, Any]]
) -> dict[str, PredictorConfig]:
    parts = {} if predictor == "custom" else parse_predictor(predictor)
    for name in given:
        if name not in parts:
            raise ConfigError(
                f"predictor_settings has {name!r}, but the predictor is {predictor!r}."
            )
    return {
        name: value if isinstance(value, PredictorConfig) else PREDICTOR_CONFIGS[name](**value)
        for name, value in given.items()
    }


class _GAugMRun(AugmentedRun):
    def __init__(
        self,
        visible: Visible,
        generator: torch.Generator,
        modified: Adjacency,
        inference: str,
    ) -> None:
        super().__init__(visible, generator)
        self.modified = modified
        self.inference = inference

    def next_round(self, previous: RoundResult | None) -> Round | None:
        if previous is not None:
            return None
        on_modified = self.inference == "modified"
        return Round(self.modified if on_modified else self.visible.adjacency)

    def training_graph(self, current: Round, epoch: int) -> Adjacency:
        return self.modified
