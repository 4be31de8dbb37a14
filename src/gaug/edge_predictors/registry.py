"""The edge predictors by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaug.edge_predictors.config import PredictorConfig
from gaug.registry import Registry

if TYPE_CHECKING:
    from gaug.edge_predictors.base import EdgePredictor

#: The predictors by name: settings and class of each.
PREDICTORS: Registry[PredictorConfig, EdgePredictor] = Registry(
    "predictor",
    "gaug.predictors",
    (
        ("gaug.edge_predictors.config:GAEConfig", "gaug.edge_predictors.gae:GAE"),
        ("gaug.edge_predictors.config:VGAEConfig", "gaug.edge_predictors.gae:VGAE"),
        ("gaug.edge_predictors.config:JaccardConfig", "gaug.edge_predictors.local_indices:Jaccard"),
        (
            "gaug.edge_predictors.config:ResourceAllocationConfig",
            "gaug.edge_predictors.local_indices:ResourceAllocation",
        ),
        (
            "gaug.edge_predictors.config:LocalLeichtHolmeNewmanConfig",
            "gaug.edge_predictors.local_indices:LocalLeichtHolmeNewman",
        ),
        ("gaug.edge_predictors.config:CARConfig", "gaug.edge_predictors.local_indices:CAR"),
        (
            "gaug.edge_predictors.config:LocalNaiveBayesConfig",
            "gaug.edge_predictors.local_indices:LocalNaiveBayes",
        ),
        (
            "gaug.edge_predictors.config:FeatureSimilarityConfig",
            "gaug.edge_predictors.features:FeatureSimilarity",
        ),
        (
            "gaug.edge_predictors.config:SmoothedFeaturesConfig",
            "gaug.edge_predictors.smoothed:SmoothedFeatures",
        ),
        (
            "gaug.edge_predictors.config:StructuralSimilarityConfig",
            "gaug.edge_predictors.structural:StructuralSimilarity",
        ),
        (
            "gaug.edge_predictors.config:RandomConfig",
            "gaug.edge_predictors.controls:RandomPredictor",
        ),
        (
            "gaug.edge_predictors.config:OmniscientConfig",
            "gaug.edge_predictors.controls:OmniscientPredictor",
        ),
    ),
)
