"""gaug reproduce table2: every model and method on every graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaug.cli import options
from gaug.errors import ConfigError


def table2(
    graphs: Annotated[
        str | None, typer.Option(help="Only these graphs, separated by commas.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, separated by commas.")
    ] = None,
    runs: options.Runs = 30,
    trial_runs: Annotated[
        int, typer.Option(help="Runs of each setting that is tried on validation nodes.")
    ] = 3,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="GAug-O with its authors' settings, which were chosen by test score.",
        ),
    ] = False,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table there as Markdown as well.")
    ] = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Every model and method on every graph, the paper's numbers beside ours.

    Runs that are on record are not done again, so an interrupted command goes on where it was.
    The settings of a method are chosen on validation nodes from a small grid.
    Cells whose run takes over 60 seconds get 10 runs. The authors' splits are used where the data
    folder has them as splits/NAME.npz.
    """
    options.check_runs(runs)
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import print_and_write, this_command
    from gaug.report.tables import table2_markdown
    from gaug.studies import table2
    from gaug.studies.published import published_settings

    chosen = table2.table2_cells(
        options.some_of("graph", graphs, table2.GRAPHS),
        options.some_of("model", models, table2.MODELS),
        options.some_of("method", methods, table2.METHODS),
    )
    if not chosen:
        raise ConfigError("No cell of table 2 is chosen: an MLP uses no edges and has no methods.")
    known = [
        published_settings(cell.graph, cell.model, cell.method) if published else None
        for cell in chosen
    ]
    conditions = options.conditions(store, runs, workers, data_root, seed)
    results = []
    for number, (cell, settings) in enumerate(zip(chosen, known, strict=True), start=1):
        what_now = f"{number}/{len(chosen)} {cell.graph}, {cell.model}, {cell.method}"
        steps = table2.count_steps(cell, runs, searched=not published)
        with run_progress(what_now, steps, quiet=quiet, unit="steps") as move:
            result = table2.run_cell(
                cell,
                conditions,
                trial_runs=trial_runs,
                settings=settings,
                on_step=move,
            )
        results.append(result)
    print_and_write(table2_markdown(results, this_command()), out)
