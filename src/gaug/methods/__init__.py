"""Augmentation methods, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from gaug.edge_predictors import PredictorConfig, predictor_configs
from gaug.errors import unknown_name
from gaug.methods.adaedge.method import AdaEdge, AdaEdgeConfig
from gaug.methods.bgcn.method import BGCN, BGCNConfig
from gaug.methods.dropedge.method import DropEdge, DropEdgeConfig
from gaug.methods.gaug_m.method import GAugM, GAugMConfig
from gaug.methods.gaug_o import GAugO, GAugOConfig
from gaug.methods.method import Method
from gaug.methods.none.method import NoAugmentation, NoAugmentationConfig
from gaug.models.spec import Model, ModelChoice
from gaug.training.hooks import Augmentation, MethodConfig
from gaug.training.loop import TrainingConfig

#: The settings of each method by its name on the command line.
METHOD_CONFIGS: dict[str, type[MethodConfig]] = {
    config.name: config
    for config in (
        NoAugmentationConfig,
        DropEdgeConfig,
        AdaEdgeConfig,
        BGCNConfig,
        GAugMConfig,
        GAugOConfig,
    )
}


def method_config(name: str) -> MethodConfig:
    """The default settings of a method."""
    if name not in METHOD_CONFIGS:
        raise unknown_name("method", name, METHOD_CONFIGS)
    return METHOD_CONFIGS[name]()


def part_configs(config: MethodConfig) -> dict[str, PredictorConfig]:
    """The default settings of the predictors that a method's settings name."""
    return predictor_configs(config.predictor) if isinstance(config, GAugMConfig) else {}


def build_method(
    config: MethodConfig,
    parts: Mapping[str, PredictorConfig] | None = None,
    *,
    labels: Tensor | None = None,
    model: Model | ModelChoice = "gcn",
    training: TrainingConfig | None = None,
    seed: int = 0,
) -> Method[Any]:
    """The method that these settings belong to, not prepared yet.

    Args:
        config: Its settings.
        parts: Settings of its predictors by name.
        labels: Classes of all nodes, for the omniscient control alone.
        model: The classifier.
        training: Settings of the loop, for `Method.fit`.
        seed: Seed, for `Method.fit`.
    """
    options: dict[str, Any] = {"model": model, "training": training, "seed": seed}
    match config:
        case NoAugmentationConfig():
            return NoAugmentation(config, **options)
        case DropEdgeConfig():
            return DropEdge(config, **options)
        case AdaEdgeConfig():
            return AdaEdge(config, **options)
        case GAugMConfig():
            return GAugM(**config.to_dict(), predictor_settings=parts, labels=labels, **options)
        case GAugOConfig():
            return GAugO(config, **options)
        case BGCNConfig():
            return BGCN(config, **options)
    raise unknown_name("method", type(config).__name__, METHOD_CONFIGS)


__all__ = [
    "BGCN",
    "METHOD_CONFIGS",
    "AdaEdge",
    "AdaEdgeConfig",
    "Augmentation",
    "BGCNConfig",
    "DropEdge",
    "DropEdgeConfig",
    "GAugM",
    "GAugMConfig",
    "GAugO",
    "GAugOConfig",
    "Method",
    "MethodConfig",
    "NoAugmentation",
    "NoAugmentationConfig",
    "build_method",
    "method_config",
    "part_configs",
]
