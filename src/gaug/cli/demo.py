"""gaug demo: the paper's figure 1 on the embedded karate club."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from gaug.cli import options


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("gaug-demo.png"),
    runs: options.Runs = 30,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """See it work: a GCN on the karate club, with edges changed well and badly.

    One labeled node a class; every score is the mean over the runs of the micro-F1 on the other
    32 nodes.
    """
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import writing

    options.check_runs(runs)
    options.check_picture(out)
    import torch

    from gaug.report.figure1 import draw_figure1
    from gaug.runs.plan import mean_and_spread
    from gaug.studies.figure1 import run_figure1

    torch.set_num_threads(1)  # more than one only slow each other down on a graph this small
    with run_progress("karate club", runs, quiet=quiet) as move:
        figure = run_figure1(runs, seed, move)
    with writing("picture", out):
        draw_figure1(figure, out)
    if as_json:
        rows = [
            {
                "graph": variant.name.lower(),
                "modified": variant.modified,
                "original": variant.original,
                "paper_modified": variant.paper_modified,
                "paper_original": variant.paper_original,
            }
            for variant in figure.variants
        ]
        print(json.dumps({"runs": runs, "picture": str(out), "variants": rows}))
        return
    table = Table(title=f"GCN on the karate club, test micro-F1 over {runs} runs", box=None)
    table.add_column("graph")
    for column in ("tested on modified", "paper", "tested on original", "paper"):
        table.add_column(column, justify="right")
    for variant in figure.variants:
        modified = "–" if variant.change is None else mean_and_spread(variant.modified)
        paper_modified = "–" if variant.paper_modified is None else f"{variant.paper_modified}"
        paper_original = "–" if variant.paper_original is None else f"{variant.paper_original}"
        original = mean_and_spread(variant.original)
        table.add_row(variant.name, modified, paper_modified, original, paper_original)
    console = Console(highlight=False)
    console.print(table)
    console.print(f"Picture: {out}", markup=False, soft_wrap=True)
