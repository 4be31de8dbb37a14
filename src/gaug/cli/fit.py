"""gaug fit: train once and save the model."""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gaug.cli import choosing, options

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from gaug.data.loaded import LoadedGraph
    from gaug.runs.plan import Experiment


def fit(
    out: Annotated[Path, typer.Option(help="Folder to write the model to.")],
    graph: options.Graph = None,
    model: options.Model = "gcn",
    method: options.Method = "none",
    time_budget: choosing.TimeBudget = None,
    settings: options.Set = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="public, random, stratified, per-class, or a file: .npz or a table."
            " By default the graph's public split, or else all labeled nodes: four fifths of each"
            " class train and one fifth validates.",
        ),
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = 1,
    device: options.Device = "cpu",
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier model in the folder.")
    ] = False,
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
    """Train once and save the model, to predict with 'gaug predict'.

    The epoch is chosen on validation nodes. Nodes without a label are what to predict.
    """
    from gaug.classifier.files import DESCRIPTION, check_target
    from gaug.cli.graphs import read_graph
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import writing
    from gaug.data.fitting_split import with_fitting_masks
    from gaug.errors import ConfigError, DataError
    from gaug.methods.spec import MethodSpec
    from gaug.runs.plan import Experiment

    source = options.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    experiment = Experiment.of(
        source,
        model=model,
        method=choosing.method_to_begin_with(method, model, time_budget),
        settings=settings or [],
        split=split,
        seed=seed,
        threads=threads,
        device=device,
    )
    if MethodSpec(experiment.method, experiment.parts).looks_at_labels:
        raise ConfigError("It looks at all labels: a control for 'gaug train', no method.")
    check_target(out)
    if (out / DESCRIPTION).exists() and not force:
        raise DataError(
            f"There is a model in {out}. Give another folder, or --force to replace it."
        )
    loaded, info = read_graph(source, data_root, experiment.data.feature_scaling)
    options.tell_notes(loaded, quiet=quiet)
    data, split_name = _with_split(loaded, experiment)
    choice = None
    if method == choosing.AUTO:
        data = with_fitting_masks(data, seed=seed)
        experiment, choice = choosing.choose(
            experiment, data, time_budget, loaded.name, quiet=quiet
        )
        if not as_json:
            Console(soft_wrap=True, highlight=False).print(str(choice), markup=False)
    estimator = MethodSpec(experiment.method, experiment.parts).build(
        model=experiment.model, training=experiment.training, seed=seed
    )
    epochs = estimator.max_epochs(experiment.training.epochs)
    begun = time.perf_counter()
    with (
        warnings_as_lines(),
        run_progress(
            f"{loaded.name}, {model}, {experiment.method.name}",
            epochs,
            quiet=quiet,
            unit="epochs",
        ) as move,
    ):
        fitted = estimator.fit(data.to(device), info=info, threads=threads, on_epoch=move)
    seconds = time.perf_counter() - begun
    with writing("folder", out):
        fitted.save(out)
    facts = fitted.summary
    summary: dict[str, Any] = {
        "out": str(out),
        "graph": loaded.name,
        "model": model,
        "method": experiment.method.name,
        "split": split_name,
        "config": experiment.config,
        "val_score": facts.val_score,
        "test_score": facts.test_score,
        "best_epoch": facts.best_epoch,
        "epochs": facts.epochs,
        "seconds": seconds,
        "warning": facts.warning,
    }
    if choice is not None:
        summary["auto"] = choice.to_dict()
    if as_json:
        print(json.dumps(summary))
    else:
        _print(summary, out)


def _with_split(loaded: LoadedGraph, experiment: Experiment) -> tuple[Data, str]:
    """The graph with the split that was asked for; without one, fit settles it."""
    from gaug.data.source import split_graph
    from gaug.data.splits import SplitConfig

    data = loaded.data
    kind = experiment.split
    if kind is None and experiment.split_config != SplitConfig():
        kind = loaded.default_split
    if kind is None:
        return data, "public" if data.get("train_mask") is not None else "all labeled nodes"
    split = split_graph(loaded, kind, experiment.split_config)
    return split.apply(data), split.name


def _print(summary: dict[str, Any], out: Path) -> None:
    console = Console(soft_wrap=True, highlight=False)
    console.print(
        f"{summary['graph']}, {summary['model']}, method {summary['method']},"
        f" split {summary['split']}: epoch {summary['best_epoch']} chosen,"
        f" {summary['epochs']} trained, {summary['seconds']:.1f} s",
        markup=False,
    )
    for title, part in (("test micro-F1      ", "test"), ("validation micro-F1", "val")):
        if summary[f"{part}_score"] is not None:
            console.print(f"  {title}  {summary[f'{part}_score']:.1f}")
    console.print(f"Written to {out}; 'gaug predict {out} GRAPH' uses it.", markup=False)


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """What Python code warns of, as one line each on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in dict.fromkeys(
        str(found.message) for found in caught if found.category is UserWarning
    ):
        print(f"gaug: {warning}", file=sys.stderr)
