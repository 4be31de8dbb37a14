"""Which settings a search tries on a graph, and the name under which its trials are kept."""

from __future__ import annotations

from collections.abc import Collection

from gaug.choosing.candidates import compares_nodes
from gaug.choosing.limits import CONCURRENT_TRIALS
from gaug.choosing.optuna_study import digest_of
from gaug.config import Searched, searched_settings
from gaug.errors import ConfigError
from gaug.runs.graphs import PlacedPlan

# Changes when trials are ranked in another way: studies of before are not continued.
_RULES = 2


def search_space(placed: PlacedPlan, fixed: Collection[str] = ()) -> dict[str, Searched]:
    """The search space of a method on a graph."""
    config = placed.plan.method.config
    fixed = {config.spelled(name).rpartition(".")[2] for name in fixed}
    searched = searched_settings(type(config))
    if getattr(config, "predictor", None) == "custom":
        searched.pop("predictor")  # a user-defined one has no name to search for
    predictors = searched.get("predictor")
    if isinstance(predictors, tuple) and not compares_nodes(placed.task.features):
        searched["predictor"] = tuple(name for name in predictors if name != "features")
    if placed.plan.training.selection == "last":
        searched.pop("pretrain_weights", None)  # the best ones are best on validation nodes
    found = {name: values for name, values in searched.items() if name not in fixed}
    if not found:
        raise ConfigError("Every searchable setting is fixed. Leave some open.")
    return found


def study_name(
    placed: PlacedPlan,
    space: dict[str, Searched],
    trial_runs: int,
    concurrent_trials: int = CONCURRENT_TRIALS,
    *,
    drawn: bool = False,
) -> str:
    """Name of the study: graph, model and method, and a fingerprint of the rest.

    Args:
        placed: The plan.
        space: The search space.
        trial_runs: Runs of each trial.
        concurrent_trials: Trials that are proposed together.
        drawn: Whether runs draw their own nodes.
    """
    plan = placed.plan
    deciding: list[object] = [
        _RULES,
        placed.identity(0),
        {name: str(space[name]) for name in space},
        trial_runs,
    ]
    if concurrent_trials != CONCURRENT_TRIALS:
        deciding.append(concurrent_trials)
    if drawn:
        deciding.append("drawn nodes")
    digest = digest_of(deciding)
    return f"{placed.loaded.name}, {plan.model.name}, {plan.method.name}, {digest}"
