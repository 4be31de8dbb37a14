"""Settings of a method as they are given, and as they are shown: those that were changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from gaug.config import Config, assign_settings
from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import ConfigError
from gaug.models.spec import ModelSpec
from gaug.training.config import TrainingConfig


def configs_of_predictors(
    method: str,
    plain: Mapping[str, PredictorConfig],
    given: Mapping[str, PredictorConfig | Mapping[str, Any]],
) -> dict[str, Config]:
    """The settings of a method's predictors: the given ones, or else the defaults.

    Args:
        method: Its name, for errors.
        plain: The defaults by the names of its predictors.
        given: What was given for some of them.
    """
    configs: dict[str, Config] = dict(plain)
    for name, settings in given.items():
        if name not in plain:
            has = ", ".join(plain) or "none"
            raise ConfigError(f"{method} has no predictor {name!r}. Its predictors: {has}.")
        if isinstance(settings, Mapping):
            configs |= assign_settings({name: plain[name]}, settings)
        elif type(settings) is type(plain[name]):
            configs[name] = settings
        else:
            raise ConfigError(
                f"The settings of predictor {name!r} must be a {type(plain[name]).__name__} or a"
                f" mapping, got {settings!r:.80}."
            )
    return configs


def changed_of_model(model: ModelSpec, training: TrainingConfig) -> list[str]:
    """The settings of model and loop that differ from the defaults, and the model if it does."""
    settings = [*changed(model.config), *changed(training)]
    if model.name != "gcn":
        settings.append(f"model={model.name if model.is_custom else repr(model.name)}")
    return settings


def changed(config: Config) -> list[str]:
    """The settings of a part that differ from the defaults, as they are written in Python."""
    plain = type(config)()
    return [
        f"{field.name}={getattr(config, field.name)!r}"
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != getattr(plain, field.name)
    ]
