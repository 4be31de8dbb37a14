"""gaug inspect: what a graph looks like, and which method is likely to help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gaug.cli import options


def inspect(
    graph: options.Graph = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw it there as well: .png, .svg or .pdf.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Train nothing; sizes, degrees and classes alone.")
    ] = False,
    settings: options.Set = None,
    split: options.Split = None,
    runs: Annotated[
        int, typer.Option("--runs", "-n", help="Runs of each of the three models.")
    ] = 3,
    seed: options.Seed = 0,
    threads: options.Threads = 1,
    device: options.Device = "cpu",
    edges: options.Edges = None,
    features: options.Features = None,
    labels: options.Labels = None,
    nodes: options.Nodes = None,
    columns: options.Columns = None,
    make_features: options.MakeFeatures = None,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """What a graph looks like, how much features and edges tell, and which method may help.

    An MLP, which sees no edges, and a GCN are trained and compared on validation nodes. Test nodes
    are not looked at. --set takes settings of training, of the split and of the features.
    """
    options.check_runs(runs)
    if picture is not None:
        options.check_picture(picture)
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import writing
    from gaug.data.opening import open_graph
    from gaug.errors import ConfigError
    from gaug.inspection.inspect import NUM_MODELS, inspect_graph
    from gaug.models.config import GCNConfig
    from gaug.report.inspection import draw_inspection, inspection_lines
    from gaug.runs.plan import Experiment

    source = options.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    experiment = Experiment.of(
        source, settings=settings or [], split=split, seed=seed, threads=threads, device=device
    )
    if experiment.model != GCNConfig():
        raise ConfigError(
            "A setting of a model has no effect on 'gaug inspect', which compares models as they"
            " are: leave it out, or give it to 'gaug train'."
        )
    loaded = open_graph(source, data_root, experiment.data.feature_scaling)
    options.tell_notes(loaded, quiet=quiet)
    with run_progress(loaded.name, NUM_MODELS * runs, quiet=quiet or quick) as move:
        found = inspect_graph(
            loaded,
            split=split,
            split_config=experiment.split_config,
            train=not quick,
            training=experiment.training,
            runs=runs,
            seed=seed,
            threads=threads,
            device=device,
            on_progress=move,
        )
    if picture is not None:
        with writing("picture", picture):
            draw_inspection(found, picture)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    console = Console(soft_wrap=True, highlight=False)
    for line in inspection_lines(found):
        console.print(line, markup=False)
    if picture is not None:
        console.print(f"Picture: {picture}", markup=False)
