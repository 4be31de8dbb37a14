"""The augmentation methods by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaug.registry import Registry
from gaug.training.config import MethodConfig

if TYPE_CHECKING:
    from gaug.methods.method import Method

#: The methods by name: settings and class of each.
METHODS: Registry[MethodConfig, Method[Any, Any]] = Registry(
    "method",
    "gaug.methods",
    (
        (
            "gaug.methods.none.config:NoAugmentationConfig",
            "gaug.methods.none.method:NoAugmentation",
        ),
        ("gaug.methods.dropedge.config:DropEdgeConfig", "gaug.methods.dropedge.method:DropEdge"),
        ("gaug.methods.adaedge.config:AdaEdgeConfig", "gaug.methods.adaedge.method:AdaEdge"),
        ("gaug.methods.bgcn.config:BGCNConfig", "gaug.methods.bgcn.method:BGCN"),
        ("gaug.methods.gaug_m.config:GAugMConfig", "gaug.methods.gaug_m.method:GAugM"),
        ("gaug.methods.gaug_o.config:GAugOConfig", "gaug.methods.gaug_o.method:GAugO"),
    ),
)
