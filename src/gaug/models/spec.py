"""Which classifier to train: a registered one by name or settings, or a user-defined one."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from gaug.config import Config
from gaug.errors import ConfigError
from gaug.models.config import ModelConfig, ModuleConfig
from gaug.models.registry import MODELS

if TYPE_CHECKING:
    from torch import nn

#: Builds a module with random weights from the number of features and the number of classes.
ModelFactory = Callable[[int, int], "nn.Module"]

#: What users may pass as a model.
Model = Union[str, ModelConfig, ModelFactory, "ModelSpec"]


@dataclass(frozen=True)
class ModelSpec:
    """A classifier that can be built and optimized; creating one does not import PyTorch.

    Attributes:
        name: Its name in the registry, or that of the user-defined class.
        config: Its settings.
        factory: The user-defined class or function; None for a registered model.
    """

    name: str
    config: ModelConfig | ModuleConfig
    factory: ModelFactory | None = None

    @classmethod
    def of(cls, model: Model) -> ModelSpec:
        """The model that a user asks for.

        Args:
            model: A name, settings, or a class or function that is called with the number of
                features and the number of classes and returns a module with
                ``forward(x, edge_index, edge_weight)``.
        """
        if isinstance(model, ModelSpec):
            return model
        if isinstance(model, str):
            return cls(model, MODELS.config_type(model)())
        if isinstance(model, ModelConfig):
            return cls(model.name, model)
        if _is_module(model):
            raise ConfigError(
                f"model must be a class or a function that makes a module, got an instance of"
                f" {type(model).__name__}: each run starts from its own weights."
            )
        if not callable(model):
            raise ConfigError(
                f"model must be a name, settings, or a class or function that makes a module,"
                f" got {model!r}."
            )
        return cls(getattr(model, "__qualname__", type(model).__name__), ModuleConfig(), model)

    def with_config(self, config: Config) -> ModelSpec:
        """The same model with other settings."""
        assert isinstance(config, ModelConfig | ModuleConfig)
        return dataclasses.replace(self, config=config)

    @property
    def is_custom(self) -> bool:
        """Whether the module is user-defined."""
        return self.factory is not None

    @property
    def title(self) -> str:
        """What tables call it."""
        return self.name if isinstance(self.config, ModuleConfig) else self.config.title

    def build(self, in_features: int, num_classes: int) -> nn.Module:
        """A new model with random weights."""
        if self.factory is None:
            assert isinstance(self.config, ModelConfig)
            build: Any = MODELS.class_of(self.config)
            made: nn.Module = build(in_features, num_classes, self.config)
            return made
        made = self.factory(in_features, num_classes)
        if not _is_module(made):
            raise ConfigError(
                f"The model {self.name} must make a torch.nn.Module, got {type(made).__name__}."
            )
        return made


def _is_module(value: object) -> bool:
    torch = sys.modules.get("torch")  # if it is not imported, there is no module
    return torch is not None and isinstance(value, torch.nn.Module)
