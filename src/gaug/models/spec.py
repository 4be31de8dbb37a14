"""Which classifier to train: one of this package by name or by its settings, or a user's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from gaug.config import Config, Range, setting
from gaug.errors import ConfigError
from gaug.models import build_model, model_config
from gaug.models.base import ModelConfig

#: Makes a module with random weights from the width of the features and the number of classes.
ModelFactory = Callable[[int, int], nn.Module]

#: What a user may give for a model.
Model = str | ModelConfig | ModelFactory


@dataclass(frozen=True)
class ModuleConfig(Config):
    """How a module of a user's is optimized."""

    learning_rate: float = setting(0.01, "Adam's step.", within=Range(0, low_open=True))
    weight_decay: float = setting(5e-4, "L2 penalty on every weight.", within=Range(0))


@dataclass(frozen=True)
class ModelChoice:
    """A classifier that can be built and optimized.

    Attributes:
        name: Its name on the command line, or that of the user's class.
        config: Its settings.
        factory: The user's class or function; None for a model of this package.
    """

    name: str
    config: ModelConfig | ModuleConfig
    factory: ModelFactory | None = None

    @classmethod
    def of(cls, model: Model | ModelChoice) -> ModelChoice:
        """The choice that a user made.

        Args:
            model: A name, settings, or a class or function that is called with the width of the
                features and the number of classes and gives a module with
                ``forward(x, edge_index, edge_weight)``.
        """
        if isinstance(model, ModelChoice):
            return model
        if isinstance(model, str):
            return cls(model, model_config(model))
        if isinstance(model, ModelConfig):
            return cls(model.name, model)
        if isinstance(model, nn.Module):
            raise ConfigError(
                f"model must be a class or a function that makes a module, got an instance of"
                f" {type(model).__name__}: each run starts from weights of its own."
            )
        if not callable(model):
            raise ConfigError(
                f"model must be a name, settings, or a class or function that makes a module,"
                f" got {model!r}."
            )
        return cls(getattr(model, "__qualname__", type(model).__name__), ModuleConfig(), model)

    def with_config(self, config: Config) -> ModelChoice:
        """The same choice with other settings."""
        assert isinstance(config, ModelConfig | ModuleConfig)
        return dataclasses.replace(self, config=config)

    @property
    def is_users(self) -> bool:
        """Whether the module is a user's own."""
        return self.factory is not None

    def build(self, in_features: int, num_classes: int) -> nn.Module:
        """A new model with random weights."""
        if self.factory is None:
            assert isinstance(self.config, ModelConfig)
            return build_model(self.config, in_features, num_classes)
        made: Any = self.factory(in_features, num_classes)
        if not isinstance(made, nn.Module):
            raise ConfigError(
                f"The model {self.name} must make a torch.nn.Module, got {type(made).__name__}."
            )
        return made
