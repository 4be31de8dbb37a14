"""--method auto: the commands that train choose a method first."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from gaug.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from gaug.choosing.trial import MethodChoice
    from gaug.runs.plan import Experiment

#: What --method takes besides the names of methods.
AUTO = "auto"

TimeBudget = Annotated[
    float | None,
    typer.Option(help="Seconds for the trials of --method auto; 300 by default."),
]


def method_to_begin_with(method: str, model: str, time_budget: float | None) -> str:
    """The method to describe an experiment with: no augmentation, until one is chosen."""
    if method != AUTO:
        if time_budget is not None:
            raise ConfigError("--time-budget goes with --method auto.")
        from gaug.methods.registry import METHODS

        if method not in METHODS:
            raise unknown_name("method", method, [*METHODS, AUTO])
        return method
    from gaug.choosing.auto import TIME_BUDGET, check_auto

    check_auto(model, TIME_BUDGET if time_budget is None else time_budget)
    return "none"


def choose(
    experiment: Experiment,
    data: Data,
    time_budget: float | None,
    what: str,
    *,
    quiet: bool,
) -> tuple[Experiment, MethodChoice]:
    """The experiment with the method that validation nodes choose, and what it was chosen from.

    Args:
        experiment: Everything but the method.
        data: Its graph with the masks of its split.
        time_budget: Seconds for all trials.
        what: What to call it beside the progress.
        quiet: Whether to show no progress.
    """
    from gaug.choosing.auto import TIME_BUDGET, choose_method
    from gaug.cli.progress import run_progress
    from gaug.models.spec import ModelSpec
    from gaug.training.task import Task

    with run_progress(f"{what}: trials", 100, quiet=quiet, unit="%") as move:
        choice = choose_method(
            Task.of(data).to(experiment.device),
            ModelSpec.of(experiment.model),
            experiment.training,
            time_budget=TIME_BUDGET if time_budget is None else time_budget,
            seed=experiment.seed,
            threads=experiment.threads,
            on_progress=lambda share: move(100 * share),
        )
    chosen = choice.chosen.candidate
    return dataclasses.replace(experiment, method=chosen.config, parts=chosen.parts), choice
