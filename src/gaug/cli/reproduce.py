"""gaug reproduce: reproduce a table or figure of the paper."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from gaug.cli import options
from gaug.data.source import GraphSource
from gaug.drawing.suffixes import FORMAT_OF_SUFFIX, PICTURE_SUFFIXES
from gaug.drawing.table import FORMATS, render
from gaug.errors import ConfigError, unknown_name
from gaug.studies.registry import STUDIES, find_study
from gaug.studies.scope import StudyOptions


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join(STUDIES)}.")],
    graphs: Annotated[
        str | None, typer.Option(help="Only these graphs, separated by commas.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, separated by commas.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", "-n", help="Runs of each cell (default: 30 or 10).")
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option(
            help="Source of the method settings: default; published, by the paper's authors, who"
            " chose them by test score; search, on validation nodes. By default that of the study.",
        ),
    ] = None,
    trial_runs: Annotated[int, typer.Option(help="Runs of each setting that a search tries.")] = 3,
    time_budget: Annotated[
        float | None, typer.Option(help="Seconds after which no new run starts.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="Output format: markdown, latex, csv or json.")
    ] = "markdown",
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Also write a file: .md, .tex, .csv or .json for the numbers, .png, .svg or"
            " .pdf for the picture of a figure. Repeatable.",
        ),
    ] = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    max_memory: options.MaxMemory = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce a table or figure of the paper, with its numbers next to ours.

    Recorded runs are not repeated, so an interrupted command continues where it stopped. The
    authors' splits are used if the data folder has them as splits/NAME.npz. Cells whose runs take
    over 60 seconds get 10 runs; a failed cell is marked in the table.
    """
    entry = find_study(name)
    if trial_runs < 1:
        raise ConfigError(f"trial_runs must be at least 1, got {trial_runs}.")
    if time_budget is not None and not 0 < time_budget < math.inf:
        raise ConfigError(f"time_budget must be above 0 and finite, got {time_budget:g}.")
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    endings = [*FORMAT_OF_SUFFIX, *(PICTURE_SUFFIXES if entry.scope.has_picture else ())]
    for path in out or ():
        if path.suffix not in endings:
            raise ConfigError(f"{path} must end in {', '.join(endings[:-1])} or {endings[-1]}.")
    asked = StudyOptions(
        runs=runs,
        graphs=options.some_of(graphs),
        models=options.some_of(models),
        methods=options.some_of(methods),
        settings=settings,
        seed=seed,
        root=data_root,
    )
    entry.scope.check(name, asked)
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import this_command, write_text, writing
    from gaug.runs.executors import local_executor
    from gaug.runs.graphs import Graphs
    from gaug.runs.store import Store
    from gaug.studies.engine import run_cells

    study = entry.load()
    cells = study.cells(asked)
    for cell in cells:
        if isinstance(cell.plan.graph, GraphSource):
            cell.plan.graph.check(data_root)
    opened, held = Store(store), Graphs(data_root)
    num_runs = sum(len(cell.runs) for cell in cells)
    plans = [cell.plan for cell in cells]
    spread_over = options.sensible_workers(workers, num_runs)
    spread_over = options.workers_that_fit(spread_over, plans, held, quiet=quiet)
    with (
        options.resumable(),
        local_executor(spread_over) as executor,
        run_progress(name, 100, quiet=quiet, unit="%") as move,
    ):
        results = run_cells(
            cells,
            store=opened,
            graphs=held,
            executor=executor,
            trial_runs=trial_runs,
            time_budget=math.inf if time_budget is None else time_budget,
            on_work=lambda done, total: move(100 * done / total if total else 100),
        )
    table = study.table(results, held)
    table = table.with_note(f"Made by `{this_command()}`.")
    for path in out or ():
        if path.suffix in FORMAT_OF_SUFFIX:
            write_text(render(table, FORMAT_OF_SUFFIX[path.suffix]), path)
        else:
            with writing("picture", path):
                study.draw(results, held, path)
    print(render(table, form), end="")
