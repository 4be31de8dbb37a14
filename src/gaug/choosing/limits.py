"""What a choice may be asked for, checked without PyTorch."""

from __future__ import annotations

import math

from gaug.config import searched_settings
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.training.config import MethodConfig

#: Seconds for all trials of `gaug.auto`, where nobody says otherwise.
TIME_BUDGET = 300.0
#: Trials of `gaug.search`, where nobody says otherwise.
TRIALS = 30
#: Runs of each trial, where nobody says otherwise.
TRIAL_RUNS = 3


def check_auto(model: str, time_budget: float) -> None:
    """Raise if no method can be chosen like that."""
    if model == "mlp":
        raise ConfigError("auto changes edges, and an mlp looks at none. Choose a GNN as model.")
    if not 0 < time_budget < math.inf:
        raise ConfigError(f"time_budget must be above 0 and finite, got {time_budget:g}.")


def check_search(
    method: MethodConfig, trials: int, trial_runs: int, timeout: float | None = None
) -> None:
    """Raise if no settings can be searched like that."""
    if not searched_settings(type(method)):
        raise no_settings(method.name)
    for name, count in (("trials", trials), ("trial_runs", trial_runs)):
        if count < 1:
            raise ConfigError(f"{name} must be at least 1, got {count}.")
    if timeout is not None and not 0 < timeout < math.inf:
        raise ConfigError(f"timeout must be above 0 and finite, got {timeout:g}.")


def no_settings(method: str) -> ConfigError:
    """The error for a method that has no settings to search."""
    others = [name for name, config in METHODS.config_types().items() if searched_settings(config)]
    return ConfigError(
        f"Method {method} has no settings to search. Choose from: {', '.join(sorted(others))}."
    )
