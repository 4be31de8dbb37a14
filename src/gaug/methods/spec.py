"""Which method to train with: a registered one by name or settings, or a user-defined one."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.models.spec import Model, ModelSpec
from gaug.training.config import MethodConfig, TrainingConfig

if TYPE_CHECKING:
    from gaug.methods.method import Method

#: What users may pass as a method.
MethodLike = Union[str, MethodConfig, "Method[Any, Any]", "MethodSpec"]


@dataclass(frozen=True)
class MethodSpec:
    """A method that can be built; creating one does not import PyTorch.

    Attributes:
        config: Its settings.
        predictors: Settings of its edge predictors by name.
        instance: A user-defined method, or one with a user-defined predictor; None if the registry
            can build it from its settings.
    """

    config: MethodConfig
    predictors: dict[str, PredictorConfig] = field(default_factory=dict)
    instance: Method[Any, Any] | None = None

    @classmethod
    def of(cls, method: MethodLike) -> MethodSpec:
        """The method that a user asks for.

        Args:
            method: A name, settings, or a method with its settings.
        """
        if isinstance(method, MethodSpec):
            return method
        if isinstance(method, str):
            method = METHODS.config_type(method)()
        if isinstance(method, MethodConfig):
            METHODS.config_type(method.name)  # raises if it cannot be built
            return cls(method, method.predictor_configs())
        from gaug.methods.method import Method  # imports PyTorch, as the caller already has

        if not isinstance(method, Method):
            raise ConfigError(
                "method must be a name, settings or a method, such as GAugO(alpha=0.3), got"
                f" {method!r:.80}."
            )
        registered = method.config.name in METHODS and not method.is_custom
        if registered and type(method) is METHODS.class_of(method.config.name):
            return cls(method.config, dict(method.predictors))
        return cls(method.config, dict(method.predictors), method)

    @property
    def name(self) -> str:
        """Its name in records and saved models."""
        return self.config.name

    @property
    def title(self) -> str:
        """Its name in tables and figures."""
        return getattr(self.config, "title", self.name)

    @property
    def looks_at_labels(self) -> bool:
        """Whether it sees the labels of all nodes, which makes it a control, not a method."""
        if self.instance is not None:
            return self.instance.looks_at_labels
        return any(config.looks_at_labels for config in self.predictors.values())

    def build(
        self,
        *,
        model: Model | None = None,
        training: TrainingConfig | None = None,
        seed: int = 0,
    ) -> Method[Any, Any]:
        """The method, not prepared yet.

        Args:
            model: The classifier; None: that of the instance, or else the default.
            training: Settings of the loop; None: likewise.
            seed: Seed of everything that is random.
        """
        if self.instance is None:
            return METHODS.class_of(self.config).built(
                self.config,
                model="gcn" if model is None else model,
                training=training,
                seed=seed,
                predictors=self.predictors,
            )
        method = copy.copy(self.instance)
        method.config, method.predictors = self.config, dict(self.predictors)
        method.model = method.model if model is None else ModelSpec.of(model)
        method.training = training or method.training
        method.seed = seed
        return method
