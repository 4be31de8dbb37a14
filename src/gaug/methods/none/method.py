"""Training on the unchanged graph."""

from __future__ import annotations

import torch

from gaug.methods.method import Method
from gaug.methods.none.config import NoAugmentationConfig
from gaug.training.hooks import AugmentedRun, Visible


class NoAugmentation(Method[NoAugmentationConfig]):
    """The baseline to beat: training and inference on the original graph.

    Arguments are those of every method; see `gaug.methods.method.Method`.
    """

    config_type = NoAugmentationConfig

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        return AugmentedRun(visible, generator)
