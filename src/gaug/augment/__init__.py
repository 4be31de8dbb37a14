"""Augmentation methods, by name."""

from __future__ import annotations

from gaug.augment.base import Augmentation, MethodConfig
from gaug.augment.dropedge import DropEdge, DropEdgeConfig
from gaug.augment.none import NoAugmentation, NoAugmentationConfig
from gaug.errors import unknown_name

#: The settings of each method by its name on the command line.
METHOD_CONFIGS: dict[str, type[MethodConfig]] = {
    config.name: config for config in (NoAugmentationConfig, DropEdgeConfig)
}


def method_config(name: str) -> MethodConfig:
    """The default settings of a method."""
    if name not in METHOD_CONFIGS:
        raise unknown_name("method", name, METHOD_CONFIGS)
    return METHOD_CONFIGS[name]()


def build_method(config: MethodConfig) -> Augmentation:
    """The method that these settings belong to, not fitted yet."""
    match config:
        case NoAugmentationConfig():
            return NoAugmentation(config)
        case DropEdgeConfig():
            return DropEdge(config)
    raise unknown_name("method", type(config).__name__, METHOD_CONFIGS)


__all__ = [
    "METHOD_CONFIGS",
    "Augmentation",
    "DropEdge",
    "DropEdgeConfig",
    "MethodConfig",
    "NoAugmentation",
    "NoAugmentationConfig",
    "build_method",
    "method_config",
]
