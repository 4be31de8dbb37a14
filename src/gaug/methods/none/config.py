"""The settings of training without augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.training.config import MethodConfig


@dataclass(frozen=True)
class NoAugmentationConfig(MethodConfig):
    """No settings."""

    name: ClassVar[str] = "none"
    title: ClassVar[str] = "original"
    on_ranks: ClassVar[bool] = True
