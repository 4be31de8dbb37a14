"""gaug demo: the paper's figure 1 on the embedded karate club."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gaug.cli import options
from gaug.cli.writing import check_picture, writing
from gaug.studies.scope import StudyOptions


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("gaug-demo.png"),
    runs: options.Runs = 30,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Run a demo: a GCN on the karate club, with edges changed well and badly.

    There is one labeled node per class. Every score is the micro-F1 on the other 32 nodes, averaged
    over the runs.
    """
    check_picture(out)
    asked = StudyOptions(runs=runs, seed=seed)
    import torch

    from gaug.cli.progress import run_progress
    from gaug.drawing.table import render
    from gaug.runs.graphs import Graphs
    from gaug.runs.store import Store
    from gaug.studies.engine import run_cells
    from gaug.studies.figure1 import Figure1

    torch.set_num_threads(1)  # more threads are slower on such a small graph
    study, graphs = Figure1(), Graphs()
    with run_progress("karate club", 100, quiet=quiet, unit="%") as move:
        results = run_cells(
            study.cells(asked),
            store=Store("sqlite://"),  # in memory: the demo only writes its picture
            graphs=graphs,
            on_work=lambda done, total: move(100 * done / total),
        )
    outcomes = study.outcomes(results, graphs, asked)
    with writing("picture", out):
        study.draw(outcomes, out)
    if as_json:
        variants = study.variants(outcomes)
        print(json.dumps({"runs": runs, "picture": str(out), "variants": variants}))
        return
    console = Console(soft_wrap=True, highlight=False)
    console.print(render(study.table(outcomes), "markdown").rstrip("\n"), markup=False)
    console.print(f"Picture: {out}", markup=False)
