"""--method auto: choose a method before training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaug.cli.writing import check_picture, writing
from gaug.errors import ConfigError, unknown_name
from gaug.methods.registry import METHODS

if TYPE_CHECKING:
    from gaug.choosing.comparison import Comparison
    from gaug.choosing.trial import Trial
    from gaug.runs.executor import Executor
    from gaug.runs.graphs import Graphs
    from gaug.runs.plan import Plan
    from gaug.runs.store import Store

#: The value of --method that is not the name of a method.
AUTO = "auto"

TimeBudget = Annotated[
    float | None,
    typer.Option(help="Seconds for the trials of --method auto (default: 300)."),
]

Picture = Annotated[
    Path | None,
    typer.Option(
        help="With --method auto, also draw the gain of each candidate: .png, .svg or .pdf."
    ),
]


def method_to_begin_with(
    method: str, model: str, time_budget: float | None, picture: Path | None
) -> str:
    """The initial method of the plan: no augmentation, until one is chosen."""
    if picture is not None:
        check_picture(picture)
    if method != AUTO:
        for name, given in (("--time-budget", time_budget), ("--picture", picture)):
            if given is not None:
                raise ConfigError(f"{name} goes with --method auto.")
        if method not in METHODS:
            raise unknown_name("method", method, [*METHODS, AUTO])
        return method
    from gaug.choosing.limits import TIME_BUDGET, check_auto

    check_auto(model, TIME_BUDGET if time_budget is None else time_budget)
    return "none"


def plans_to_run(method: str, plan: Plan) -> list[Plan]:
    """The plan itself, or those of all candidates if the method is still to be chosen."""
    if method != AUTO:
        return [plan]
    from gaug.choosing.candidates import CANDIDATES

    return [plan, *(candidate.trial(plan).plan for candidate in CANDIDATES)]


def choose(
    plan: Plan,
    time_budget: float | None,
    *,
    graphs: Graphs,
    executor: Executor,
    store: Store,
    quiet: bool,
) -> Comparison:
    """Choose a method on validation nodes; the result also has the other candidates.

    Args:
        plan: Everything but the method.
        time_budget: Seconds for all trials.
        graphs: Graphs that are already loaded.
        executor: Where to run.
        store: Where runs are recorded.
        quiet: Whether to hide progress.
    """
    from gaug.choosing.auto import choose_method
    from gaug.choosing.limits import TIME_BUDGET
    from gaug.cli.progress import run_progress

    name = graphs.load(plan).name
    with run_progress(f"{name}: trials", 100, quiet=quiet, unit="%") as move:
        return choose_method(
            plan,
            time_budget=TIME_BUDGET if time_budget is None else time_budget,
            graphs=graphs,
            executor=executor,
            store=store,
            on_progress=lambda share: move(100 * share),
            on_note=move.note,
        )


def draw_choice(
    comparison: Comparison, path: Path, plan: Plan, graphs: Graphs, taken: Trial | None = None
) -> None:
    """Draw the gain of each candidate.

    Args:
        comparison: The candidates.
        path: Output file.
        plan: What was compared.
        graphs: Graphs that are already loaded.
        taken: The candidate to mark; by default the chosen one.
    """
    from gaug.drawing.names import cut
    from gaug.report.comparison import draw_comparison

    title = f"{cut(graphs.load(plan).name)}, {plan.model.name}, split {graphs.split(plan).name}"
    with writing("picture", path):
        draw_comparison(comparison, path, title=title, taken=taken)


def method_text(summary: Mapping[str, Any]) -> str:
    """The method of a result, with what was added to the training."""
    from gaug.choosing.candidates import ADDED

    training = summary["config"]["training"]
    added = [f"{name}={training[name]}" for name in ADDED if training.get(name)]
    return " ".join([summary["method"], *added])


def choice_text(comparison: Comparison) -> str:
    """The trials and the verdict."""
    unchanged = comparison.chosen.plan.method.name == "none"
    end = "\nThe graph is left unchanged." if unchanged else ""
    return f"{comparison}{end}"
