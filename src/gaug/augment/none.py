"""Training on the graph as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from gaug.training.hooks import Augmentation, AugmentedRun, MethodConfig, Visible


@dataclass(frozen=True)
class NoAugmentationConfig(MethodConfig):
    """No settings."""

    name: ClassVar[str] = "none"


class NoAugmentation(Augmentation):
    """The row that a method has to beat: training and inference on the original graph."""

    def __init__(self, config: NoAugmentationConfig | None = None) -> None:
        self.config: NoAugmentationConfig = config or NoAugmentationConfig()

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        return AugmentedRun(visible, generator)
