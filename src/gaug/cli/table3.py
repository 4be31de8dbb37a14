"""gaug reproduce table3: GAug-O on Cora with a part left out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaug.cli import options


def table3(
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    runs: options.Runs = 30,
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
    """GAug-O on Cora with a part left out, the paper's numbers beside ours.

    Runs that are on record are not done again, so an interrupted command goes on where it was.
    """
    options.check_runs(runs)
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import print_and_write, this_command
    from gaug.report.table3 import table3_markdown
    from gaug.studies.table3 import MODELS, VARIANTS, run_table3

    chosen = options.some_of("model", models, MODELS)
    total = len(chosen) * len(VARIANTS) * runs
    with (
        options.resumable(),
        run_progress("table 3", total, quiet=quiet) as move,
    ):
        results = run_table3(
            chosen,
            options.conditions(store, runs, workers, data_root, seed),
            on_progress=move,
        )
    print_and_write(table3_markdown(results, this_command()), out)
