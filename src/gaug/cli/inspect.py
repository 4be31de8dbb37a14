"""gaug inspect: describe a graph and suggest methods."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gaug.cli import options, own_files
from gaug.cli.writing import check_page, check_picture, this_command, write_text, writing
from gaug.errors import ConfigError
from gaug.models.spec import ModelSpec


def inspect(
    graph: options.Graph = None,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw a picture: .png, .svg or .pdf.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write a web page: a single .html file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing page.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Train nothing; report only sizes, degrees and classes.")
    ] = False,
    settings: options.Set = None,
    split: options.Split = None,
    runs: Annotated[
        int, typer.Option("--runs", "-n", help="Runs of each of the three models.")
    ] = 3,
    seed: options.Seed = 0,
    threads: options.Threads = 1,
    device: options.Device = "cpu",
    max_memory: options.MaxMemory = None,
    edges: own_files.Edges = None,
    features: own_files.Features = None,
    labels: own_files.Labels = None,
    nodes: own_files.Nodes = None,
    columns: own_files.Columns = None,
    make_features: own_files.MakeFeatures = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Describe a graph, measure how informative its features and edges are, and suggest methods.

    An MLP, which sees no edges, and a GCN are trained and compared on validation nodes. Test nodes
    are not used. --set takes settings of training, of the split and of the features.
    """
    options.check_runs(runs)
    if picture is not None:
        check_picture(picture)
    if out is not None:
        check_page(out, force=force)
    source = own_files.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    plan = options.make_plan(
        source,
        data_root,
        settings=settings,
        split=split,
        seed=seed,
        threads=threads,
        device=device,
    )
    if plan.model != ModelSpec.of("gcn"):
        raise ConfigError(
            "A setting of a model has no effect on 'gaug inspect', which compares default"
            " models: leave it out, or give it to 'gaug train'."
        )
    from gaug.cli.progress import run_progress
    from gaug.inspection.inspect import NUM_MODELS, inspect_plan
    from gaug.report.inspection import draw_inspection, inspection_lines
    from gaug.report.inspection_page import inspection_page
    from gaug.runs.graphs import Graphs
    from gaug.runs.store import Store

    graphs = Graphs(data_root)
    loaded = graphs.load(plan)
    options.tell_notes(loaded, quiet=quiet)
    with run_progress(loaded.name, NUM_MODELS * runs, quiet=quiet or quick) as move:
        found = inspect_plan(
            plan,
            train=not quick,
            runs=runs,
            graphs=graphs,
            store=None if quick else Store(store),
            on_progress=move,
        )
    if picture is not None:
        with writing("picture", picture):
            draw_inspection(found, picture)
    advised = [
        f"--method {candidate.config.name}"
        + "".join(f" --set {text}" for text in candidate.changed)
        for candidate in (found.advice.candidates if found.advice is not None else ())
    ]
    if out is not None:
        unclear = found.advice is not None and found.advice.kind == "unclear"
        opened = "GRAPH" if graph is None else shlex.quote(graph)
        to_try = [
            f"gaug train {opened} {options_of}"
            for options_of in (["--method auto"] if unclear else advised)
        ]
        write_text(inspection_page(found, to_try, this_command(page=True)).render(), out)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    console = Console(soft_wrap=True, highlight=False)
    for line in inspection_lines(found):
        console.print(line, markup=False)
    for options_of in advised:
        console.print(f"  try {options_of}", markup=False)
    if picture is not None:
        console.print(f"Picture: {picture}", markup=False)
    if out is not None:
        console.print(f"Page: {out}", markup=False)
