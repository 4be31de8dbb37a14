"""Defaults and checks of auto and search, without PyTorch."""

from __future__ import annotations

import math

from gaug.config import searched_settings
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.training.config import MethodConfig

#: Default time budget of `gaug.auto` in seconds, for all trials.
TIME_BUDGET = 300.0
#: Default number of trials of `gaug.search`.
TRIALS = 30
#: Default number of runs per trial.
TRIAL_RUNS = 3
#: Default number of trials that a search proposes together.
CONCURRENT_TRIALS = 4
#: Default number of trials of a search that run again with new seeds.
SEARCH_FINALISTS = 10


def check_auto(model: str, time_budget: float) -> None:
    """Raise if the arguments of auto are invalid."""
    if model == "mlp":
        raise ConfigError("auto changes edges, which an mlp does not use. Choose a GNN as model.")
    if not 0 < time_budget < math.inf:
        raise ConfigError(f"time_budget must be above 0 and finite, got {time_budget:g}.")


def check_search(
    method: MethodConfig,
    trials: int,
    trial_runs: int,
    timeout: float | None = None,
    finalists: int = SEARCH_FINALISTS,
    concurrent_trials: int = CONCURRENT_TRIALS,
) -> None:
    """Raise if the arguments of a search are invalid."""
    if not searched_settings(type(method)):
        raise no_settings(method.name)
    counts = {"trials": trials, "trial_runs": trial_runs, "concurrent_trials": concurrent_trials}
    for name, count in counts.items():
        if count < 1:
            raise ConfigError(f"{name} must be at least 1, got {count}.")
    if finalists < 0:
        raise ConfigError(f"finalists must be at least 0, got {finalists}.")
    if timeout is not None and not 0 < timeout < math.inf:
        raise ConfigError(f"timeout must be above 0 and finite, got {timeout:g}.")


def no_settings(method: str) -> ConfigError:
    """The error for a method that has no settings to search."""
    others = [name for name, config in METHODS.config_types().items() if searched_settings(config)]
    return ConfigError(
        f"Method {method} has no settings to search. Choose from: {', '.join(sorted(others))}."
    )
