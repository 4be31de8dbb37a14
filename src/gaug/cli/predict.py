"""gaug predict: predict the classes of nodes with a saved model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from gaug.cli import options, own_files


def predict(
    model: Annotated[Path, typer.Argument(help="Folder that 'gaug fit' wrote.")],
    out: Annotated[Path, typer.Option(help="CSV file to write to.")],
    graph: options.Graph = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    device: options.Device = "cpu",
    max_memory: options.MaxMemory = None,
    edges: own_files.Edges = None,
    features: own_files.Features = None,
    labels: own_files.Labels = None,
    nodes: own_files.Nodes = None,
    columns: own_files.Columns = None,
    make_features: own_files.MakeFeatures = None,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Predict the classes of all nodes of a graph with a saved model.

    The graph may be the one used for fitting, or one with more nodes and other edges but the same
    features. The file has one row per node: its id, its class, and one probability per class.
    """
    from gaug.cli.fit import warnings_as_lines
    from gaug.cli.graphs import read_graph
    from gaug.cli.writing import check_file, writing
    from gaug.errors import ConfigError
    from gaug.methods.loading import load
    from gaug.report.predictions import write_predictions
    from gaug.runs.graphs import check_device

    source = own_files.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    if out.exists() and out.resolve().parent in source.folders:
        raise ConfigError(
            f"{out} is in the folder of the graph itself. Use another file to write to."
        )
    check_file(out, force=force)
    check_device(device)
    classifier = load(model)
    facts = classifier.summary
    if not source.in_catalog:
        files = dataclasses.replace(source.files, column_means=facts.column_means)
        source = dataclasses.replace(source, files=files)
    # Unscaled: the model scales features itself.
    loaded, info = read_graph(source, data_root, "as-is", facts.feature_names)
    options.tell_notes(loaded, quiet=quiet)
    data = loaded.data
    with warnings_as_lines():
        probabilities = classifier.predict_proba(data.to(device), info=info).cpu()
    with writing("file", out):
        counts = write_predictions(out, probabilities, facts, info.node_ids)
    summary: dict[str, Any] = {
        "out": str(out),
        "graph": loaded.name,
        "model": classifier.fitted.model.name,
        "method": classifier.fitted.method.name,
        "nodes": probabilities.size(0),
        "classes": counts,
    }
    if as_json:
        print(json.dumps(summary))
        return
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"{loaded.name}: {summary['nodes']:,} nodes", markup=False)
    for name, count in counts.items():
        console.print(f"  {name}: {count:,}", markup=False)
    console.print(f"Written to {out}", markup=False)
