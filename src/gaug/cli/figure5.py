"""gaug reproduce figure5: what GAug-O's graphs on Cora are made of, and how it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaug.cli import options


def figure5(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("figure5.png"),
    table: Annotated[
        Path | None, typer.Option(help="Write the numbers there as Markdown as well.")
    ] = None,
    runs: options.Runs = 10,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of joint training.")] = 100,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """What GAug-O's graphs on Cora are made of, epoch by epoch, and how it learns.

    Runs that are on record with their history are not done again, so an interrupted command goes
    on where it was.
    """
    options.check_runs(runs)
    options.check_picture(out)
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import print_and_write, this_command, writing
    from gaug.report.figure5 import draw_figure5, figure5_markdown
    from gaug.studies.figure5 import run_figure5

    with (
        options.resumable(),
        run_progress("figure 5", runs, quiet=quiet) as move,
    ):
        curves = run_figure5(
            options.conditions(store, runs, workers, data_root, seed),
            epochs=epochs,
            on_progress=move,
        )
    with writing("picture", out):
        draw_figure5(curves, out)
    print_and_write(figure5_markdown(curves, this_command()), table)
