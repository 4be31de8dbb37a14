"""gaug reproduce figure2: edges added and removed on Cora, as learned and at random."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaug.cli import options


def figure2(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("figure2.png"),
    table: Annotated[
        Path | None, typer.Option(help="Write the numbers there as Markdown as well.")
    ] = None,
    runs: options.Runs = 10,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Edges added and removed on Cora, by a GAE and at random: what kind they are, and a GCN.

    0 to 100 percent in steps of 10. Runs that are on record are not done again, so an interrupted
    command goes on where it was.
    """
    options.check_runs(runs)
    options.check_picture(out)
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import print_and_write, this_command, writing
    from gaug.report.figure2 import draw_figure2, figure2_markdown
    from gaug.studies.figure2 import NUM_SERIES, STEPS, run_figure2

    total = NUM_SERIES * len(STEPS)
    with (
        options.resumable(),
        run_progress("figure 2", total, quiet=quiet, unit="steps") as move,
    ):
        series = run_figure2(
            options.conditions(store, runs, workers, data_root, seed),
            on_progress=move,
        )
    with writing("picture", out):
        draw_figure2(series, out)
    print_and_write(figure2_markdown(series, this_command()), table)
