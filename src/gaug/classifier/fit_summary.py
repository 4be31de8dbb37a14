"""What a fitted classifier knows about its graph besides the weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gaug.classifier.graph_info import GraphInfo
from gaug.data.scaling import scale_columns, scale_features
from gaug.errors import DataError


@dataclass(frozen=True)
class FitSummary:
    """The graph that a classifier was fitted to, and its scores.

    Attributes:
        in_features: Width of the features.
        num_classes: Number of classes.
        multilabel: Whether nodes can have several labels.
        num_nodes: Nodes of the graph.
        graph_hash: Fingerprint of its nodes, edges and features.
        seed: Seed of the fit.
        best_epoch: The chosen epoch, counted within the best round of training.
        epochs: Epochs trained in all rounds.
        val_score: Micro-F1 in percent on the validation nodes, if any.
        test_score: The same on the test nodes.
        warning: What users should know about the fit, if something is wrong.
        class_names: The name of each class.
        node_ids: The name of each node; None if they are numbered.
        feature_names: The name of each feature, if they have names.
        feature_scaling: How the features were scaled, if known.
        feature_statistics: Mean and standard deviation of each feature, if columns were scaled.
        column_means: Mean of each numeric column, which replaces missing values.
    """

    in_features: int
    num_classes: int
    multilabel: bool
    num_nodes: int
    graph_hash: str
    seed: int
    best_epoch: int
    epochs: int
    val_score: float | None
    test_score: float | None
    warning: str | None
    class_names: list[str]
    node_ids: list[str] | None = None
    feature_names: list[str] | None = None
    feature_scaling: str | None = None
    feature_statistics: list[list[float]] | None = None
    column_means: dict[str, float] | None = None

    def __post_init__(self) -> None:
        given = GraphInfo(self.node_ids, self.class_names, self.feature_names)
        given.check(self.num_nodes, self.num_classes, self.in_features)

    def check_features(self, width: int, info: GraphInfo) -> None:
        """Raise if the features of a graph differ from those of the fit."""
        names, theirs = self.feature_names, info.feature_names
        if names is not None and theirs is not None and list(theirs) != names:
            raise DataError(_different_names(names, list(theirs)))
        if width != self.in_features:
            raise DataError(
                f"The model was fitted to {self.in_features} features per node, and this graph has"
                f" {width}. Give the same features in the same order."
            )

    def scaled_features(self, x: Tensor, statistics: Tensor | None) -> Tensor:
        """Features of a graph scaled as those of the fit were.  [N, F]

        Args:
            x: The features.
            statistics: The statistics that their columns were already scaled by, if any.

        Raises:
            DataError: If they were scaled in another way.
        """
        if self.feature_statistics is None:
            if statistics is not None:
                raise DataError(
                    "The model was fitted to features whose columns were not scaled, but those of"
                    " this graph are. Load it with feature scaling 'as-is'."
                )
            return scale_features(x, "rows") if self.feature_scaling == "rows" else x
        fitted = torch.tensor(self.feature_statistics, dtype=torch.float64)
        if statistics is None:
            return scale_columns(x, fitted)
        if statistics.shape != fitted.shape or not torch.allclose(statistics.double(), fitted):
            raise DataError(
                "The features of this graph are scaled by its own means and deviations, not by"
                " those of the fit. Load it with feature scaling 'as-is': the model scales it."
            )
        return x

    def places(self, num_nodes: int, info: GraphInfo) -> Tensor:
        """Positions of the fitted nodes in another graph, -1 for those that are gone.  [N]

        Matched by node ids if both graphs have them, otherwise by number.
        """
        if self.node_ids is None and info.node_ids is None:
            node = torch.arange(self.num_nodes)
            return torch.where(node < num_nodes, node, -1)
        if self.node_ids is None or info.node_ids is None:
            which = "this graph" if info.node_ids is None else "the graph of the fit"
            raise DataError(
                f"The nodes of {which} have no ids, so they cannot be matched with those of the"
                " other graph. Give info=GraphInfo(node_ids=…) for both graphs or for neither."
            )
        if len(info.node_ids) != num_nodes:
            raise DataError(f"node_ids must have {num_nodes} names, got {len(info.node_ids)}.")
        place_of = {name: place for place, name in enumerate(info.node_ids)}
        return torch.tensor([place_of.get(name, -1) for name in self.node_ids])

    def score_text(self) -> str:
        """The scores as readable text."""
        parts = [("validation", self.val_score), ("test", self.test_score)]
        return ", ".join(f"{part} {score:.1f}" for part, score in parts if score is not None)


def _different_names(fitted: list[str], given: list[str]) -> str:
    missing = sorted(set(fitted) - set(given))
    extra = sorted(set(given) - set(fitted))
    if not missing and not extra:
        place = next(i for i, (a, b) in enumerate(zip(fitted, given, strict=False)) if a != b)
        return (
            f"The features are in a different order than in the fit: feature {place} is"
            f" {given[place]!r}, but was {fitted[place]!r}. Put the columns in the same order."
        )
    parts = [
        f"{len(names)} {what} ({', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''})"
        for what, names in (("missing", missing), ("unknown", extra))
        if names
    ]
    return f"The features are not those of the fit: {', '.join(parts)}."
