"""Edge predictors, by name: which pairs of nodes should be joined?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from torch import Tensor

from gaug.edge_predictors.base import EdgePredictor, PredictorConfig
from gaug.edge_predictors.combined import CombinedPredictor
from gaug.edge_predictors.controls import (
    OmniscientConfig,
    OmniscientPredictor,
    RandomConfig,
    RandomPredictor,
)
from gaug.edge_predictors.features import FeatureSimilarity, FeatureSimilarityConfig
from gaug.edge_predictors.gae import GAE, VGAE, GAEConfig, VGAEConfig
from gaug.edge_predictors.local_indices import (
    CAR,
    CARConfig,
    Jaccard,
    JaccardConfig,
    LocalLeichtHolmeNewman,
    LocalLeichtHolmeNewmanConfig,
    LocalNaiveBayes,
    LocalNaiveBayesConfig,
    ResourceAllocation,
    ResourceAllocationConfig,
)
from gaug.edge_predictors.smoothed import SmoothedFeatures, SmoothedFeaturesConfig
from gaug.edge_predictors.structural import StructuralSimilarity, StructuralSimilarityConfig
from gaug.errors import ConfigError, unknown_name

_BUILDERS: dict[type[PredictorConfig], Callable[..., EdgePredictor]] = {
    GAEConfig: GAE,
    VGAEConfig: VGAE,
    JaccardConfig: Jaccard,
    ResourceAllocationConfig: ResourceAllocation,
    LocalLeichtHolmeNewmanConfig: LocalLeichtHolmeNewman,
    CARConfig: CAR,
    LocalNaiveBayesConfig: LocalNaiveBayes,
    FeatureSimilarityConfig: FeatureSimilarity,
    SmoothedFeaturesConfig: SmoothedFeatures,
    StructuralSimilarityConfig: StructuralSimilarity,
    RandomConfig: RandomPredictor,
}

#: The settings of each predictor by its name on the command line.
PREDICTOR_CONFIGS: dict[str, type[PredictorConfig]] = {
    config.name: config for config in _BUILDERS
} | {OmniscientConfig.name: OmniscientConfig}


def parse_predictor(text: str) -> dict[str, float]:
    """The parts of a sum of predictors with their weights.

    >>> parse_predictor("gae")
    {'gae': 1.0}
    >>> parse_predictor("gae+2*features")
    {'gae': 1.0, 'features': 2.0}
    """
    parts: dict[str, float] = {}
    for term in text.split("+"):
        weight, star, name = term.rpartition("*")
        name = name.strip()
        if name not in PREDICTOR_CONFIGS:
            raise unknown_name("predictor", name, PREDICTOR_CONFIGS)
        if name in parts:
            raise ConfigError(f"Predictor {name!r} stands twice in {text!r}.")
        try:
            parts[name] = float(weight) if star else 1.0
        except ValueError:
            raise ConfigError(
                f"The weight of predictor {name!r} must be a number, got {weight!r}."
            ) from None
        if not 0 < parts[name] < math.inf:
            raise ConfigError(
                f"The weight of predictor {name!r} must be above 0 and finite, got {weight}."
            )
    return parts


def predictor_configs(text: str) -> dict[str, PredictorConfig]:
    """The default settings of each part of a sum of predictors."""
    return {name: PREDICTOR_CONFIGS[name]() for name in parse_predictor(text)}


def build_predictor(
    text: str,
    configs: Mapping[str, PredictorConfig] | None = None,
    *,
    scale: str = "standardized",
    labels: Tensor | None = None,
) -> EdgePredictor:
    """A predictor from its name or a sum of names, not fitted yet.

    Args:
        text: For instance ``gae`` or ``gae+2*features``.
        configs: Settings of the parts that have other than the default ones.
        scale: How the parts of a sum are made comparable; see `CombinedPredictor`.
        labels: Classes of all nodes, for ``omniscient`` alone.
    """
    parts = parse_predictor(text)
    settings = predictor_configs(text) | dict(configs or {})
    built: list[EdgePredictor] = []
    for name in parts:
        config = settings[name]
        if isinstance(config, OmniscientConfig):
            if labels is None:
                raise ConfigError(
                    "The omniscient predictor needs the labels of all nodes: pass labels=data.y."
                )
            built.append(OmniscientPredictor(labels, config))
        else:
            built.append(_BUILDERS[type(config)](config))
    if len(built) == 1:
        return built[0]
    return CombinedPredictor(built, list(parts.values()), scale)


__all__ = [
    "CAR",
    "GAE",
    "PREDICTOR_CONFIGS",
    "VGAE",
    "CombinedPredictor",
    "EdgePredictor",
    "FeatureSimilarity",
    "FeatureSimilarityConfig",
    "GAEConfig",
    "Jaccard",
    "LocalLeichtHolmeNewman",
    "LocalNaiveBayes",
    "OmniscientPredictor",
    "PredictorConfig",
    "RandomPredictor",
    "ResourceAllocation",
    "SmoothedFeatures",
    "SmoothedFeaturesConfig",
    "StructuralSimilarity",
    "StructuralSimilarityConfig",
    "VGAEConfig",
    "build_predictor",
    "parse_predictor",
    "predictor_configs",
]
