"""The settings of GAug-M."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Range, Span, setting
from gaug.edge_predictors.config import SCALES, PredictorConfig
from gaug.edge_predictors.terms import parse_predictor, predictor_configs
from gaug.errors import ConfigError
from gaug.training.config import MethodConfig

_FRACTION = Range(0, 1)


@dataclass(frozen=True)
class GAugMConfig(MethodConfig):
    """Settings of `GAugM`."""

    name: ClassVar[str] = "gaug-m"
    title: ClassVar[str] = "GAug-M"
    changes: ClassVar[str | None] = "once"
    on_ranks: ClassVar[bool] = True

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
        "global: the best of all pairs; per-node: each node's best, then each second best.",
        choices=("global", "per-node"),
        search=("global", "per-node"),
    )
    inference: str = setting(
        "modified", "Graph to predict on: modified or original.", choices=("modified", "original")
    )
    combination: str = setting(
        "standardized", "How the predictors of a sum are made comparable.", choices=SCALES
    )

    rounds: int = setting(
        1,
        "2: a second change, by the predictor and the classes that the first classifier predicts.",
        within=Range(1, 2),
        later=True,
    )
    class_weight: float = setting(
        1.0,
        "Weight of the predicted classes in the second round, beside 1 for the predictor.",
        within=Range(0, low_open=True),
        later=True,
    )
    second_remove_fraction: float | None = setting(
        None,
        "Edges to remove in the second round, as a share of |E|; none: as in the first.",
        within=_FRACTION,
        later=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predictor != "custom":
            parse_predictor(self.predictor)
        for name in ("class_weight", "second_remove_fraction"):
            given = getattr(self, name)
            if self.rounds == 1 and given != getattr(type(self), name):
                raise ConfigError(f"{name}={given:g} is a setting of a second round: set rounds=2.")

    def removed_in(self, number: int) -> float:
        """The share of edges to remove in a round, counted from 1."""
        if number == 1 or self.second_remove_fraction is None:
            return self.remove_fraction
        return self.second_remove_fraction

    def predictor_configs(self) -> dict[str, PredictorConfig]:
        """The default settings of the predictors in ``predictor``; none for a user-defined one."""
        return {} if self.predictor == "custom" else predictor_configs(self.predictor)
