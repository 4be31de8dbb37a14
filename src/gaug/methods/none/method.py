"""Training on the graph as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from gaug.methods.method import Method
from gaug.training.hooks import AugmentedRun, MethodConfig, Visible


@dataclass(frozen=True)
class NoAugmentationConfig(MethodConfig):
    """No settings."""

    name: ClassVar[str] = "none"


class NoAugmentation(Method[NoAugmentationConfig]):
    """The row that a method has to beat: training and inference on the original graph.

    Arguments are those of every method; see `gaug.methods.method.Method`.
    """

    config_type = NoAugmentationConfig

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        return AugmentedRun(visible, generator)
