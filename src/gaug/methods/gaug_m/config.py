"""The settings of GAug-M."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Range, Span, setting
from gaug.edge_predictors.config import SCALES, PredictorConfig
from gaug.edge_predictors.terms import parse_predictor, predictor_configs
from gaug.training.config import MethodConfig

_FRACTION = Range(0, 1)


@dataclass(frozen=True)
class GAugMConfig(MethodConfig):
    """Settings of `GAugM`."""

    name: ClassVar[str] = "gaug-m"
    title: ClassVar[str] = "GAug-M"
    changes: ClassVar[str | None] = "once"

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predictor != "custom":
            parse_predictor(self.predictor)

    def predictor_configs(self) -> dict[str, PredictorConfig]:
        """The default settings of the predictors in ``predictor``; none for a user-defined one."""
        return {} if self.predictor == "custom" else predictor_configs(self.predictor)
