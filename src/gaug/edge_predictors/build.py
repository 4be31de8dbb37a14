"""Edge predictors from their names."""

from __future__ import annotations

from collections.abc import Mapping

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.combined import CombinedPredictor
from gaug.edge_predictors.config import PredictorConfig
from gaug.edge_predictors.registry import PREDICTORS
from gaug.edge_predictors.terms import parse_predictor, predictor_configs


def build_predictor(
    text: str,
    configs: Mapping[str, PredictorConfig] | None = None,
    *,
    scale: str = "standardized",
) -> EdgePredictor:
    """An unfitted predictor from its name or a sum of names.

    Args:
        text: For instance ``gae`` or ``gae+2*features``.
        configs: Settings of the terms, where they differ from the defaults.
        scale: How the terms of a sum are made comparable; see `CombinedPredictor`.
    """
    weights = parse_predictor(text)
    settings = predictor_configs(text) | dict(configs or {})
    built = [PREDICTORS.class_of(settings[name])(settings[name]) for name in weights]
    if len(built) == 1:
        return built[0]
    return CombinedPredictor(built, list(weights.values()), scale)
