"""gaug fit: train once and save the model."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gaug.cli import choosing, options, own_files, ranks
from gaug.cli.executor import Cluster
from gaug.cli.memory_words import tell_memory
from gaug.errors import ConfigError

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from gaug.data.loaded import LoadedGraph
    from gaug.data.source import GraphSource
    from gaug.runs.plan import Plan
    from gaug.training.progress import Progress


def fit(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder to write the model to.")],
    graph: options.Graph = None,
    model: options.Model = "gcn",
    method: options.Method = "none",
    time_budget: choosing.TimeBudget = None,
    picture: choosing.Picture = None,
    settings: options.Set = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="public, random, stratified, per-class, or a file: .npz or a table."
            " By default the graph's public split, or else all labeled nodes: four fifths of each"
            " class for training and one fifth for validation.",
        ),
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = 1,
    device: options.Device = "cpu",
    cluster: Cluster = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--ranks",
            metavar="N",
            help="Number of processes on the cluster that train the model together.",
        ),
    ] = None,
    max_memory: options.MaxMemory = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier model in the folder.")
    ] = False,
    edges: own_files.Edges = None,
    features: own_files.Features = None,
    labels: own_files.Labels = None,
    nodes: own_files.Nodes = None,
    columns: own_files.Columns = None,
    make_features: own_files.MakeFeatures = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    checkpoint_minutes: options.CheckpointMinutes = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Train once and save the model for 'gaug predict'.

    The epoch is selected on validation nodes. Nodes without a label are the ones to predict.
    Under torchrun, or with --cluster and --ranks, several processes train one model together,
    which takes a batch_size.
    """
    ranks.check_options(context, cluster, processes)
    source = own_files.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    plan = options.make_plan(
        source,
        data_root,
        model=model,
        method=choosing.method_to_begin_with(method, model, time_budget, picture),
        settings=settings,
        split=split,
        seed=seed,
        threads=threads,
        device=device,
    )
    options.refuse_control(plan)
    options.check_checkpoint_minutes(checkpoint_minutes)
    if store is not None and method != choosing.AUTO:
        raise ConfigError("--store goes with --method auto, whose trials are recorded.")
    together = processes or ranks.size()
    if processes is not None or together > 1:
        _check_together(plan, method, together)
    if ranks.size() > 1:
        device = context.with_resource(ranks.joined(device))
    if ranks.rank() > 0:
        _train_along(plan, source, data_root, device)
        return
    from gaug.classifier.files import DESCRIPTION, PAGE, check_target, check_writable
    from gaug.cli.graphs import read_graph
    from gaug.cli.progress import run_progress
    from gaug.cli.resumption import Resumption
    from gaug.cli.writing import this_command, write_text, writing
    from gaug.errors import DataError
    from gaug.memory import Room
    from gaug.report.model_facts import FittedModel
    from gaug.report.model_page import model_page
    from gaug.runs.executors import local_executor
    from gaug.runs.graphs import Graphs
    from gaug.runs.memory import check_run
    from gaug.runs.store import Store, checkpoint_folder, default_store_url

    check_target(out)
    if (out / DESCRIPTION).exists() and not force:
        raise DataError(
            f"There is already a model in {out}. Use another folder, or --force to replace it."
        )
    with writing("folder", out):
        check_writable(out)
    loaded, info = read_graph(source, data_root, plan.data.feature_scaling)
    options.tell_notes(loaded, quiet=quiet)
    plan = _with_split(plan, loaded)
    graphs = Graphs(data_root)
    nodes_of = graphs.split(plan)
    if ranks.size() > 1:
        # Nothing may hold on to what was read: it would be there twice.
        loaded = dataclasses.replace(loaded, data=_one_copy(nodes_of.apply(loaded.data)))
        plan = dataclasses.replace(plan, graph=loaded, split=nodes_of)
        graphs = Graphs(data_root)
    comparison = None
    if method == choosing.AUTO:
        with options.resumable(), local_executor(1) as executor:
            comparison = choosing.choose(
                plan,
                time_budget,
                graphs=graphs,
                executor=executor,
                store=Store(store),
                quiet=quiet,
            )
        if picture is not None:
            choosing.draw_choice(comparison, picture, plan, graphs)
        plan = comparison.chosen.plan
        if not as_json:
            Console(soft_wrap=True, highlight=False).print(
                choosing.choice_text(comparison), markup=False
            )
    # A cluster trains on devices of its own.
    placed = graphs.place(plan, device=None if processes is None else "cpu")
    tell_memory([plan], graphs, workers=1 if processes is None else None, quiet=quiet)
    if processes is None:
        check_run(placed, Room.left())
    # The other processes have the settings as given, and all compare them; fit decides the rest.
    given, plan = plan.method, placed.plan
    estimator = given.build(model=plan.model, training=plan.training, seed=seed)
    epochs = plan.training.max_epochs(estimator.max_epochs(plan.training.epochs))
    folder = checkpoint_folder(store or default_store_url())
    saving = options.checkpoints(folder, checkpoint_minutes).of_fit(placed.identity(0))
    train = estimator.fit
    if cluster is not None and processes is not None:
        from gaug.runs.ray_training import fit_on_cluster

        where: dict[str, Any] = {"cluster": cluster, "ranks": processes, "device": device}
        train = functools.partial(fit_on_cluster, estimator, **where)
        device = "cpu"  # here, where it only predicts
    resumption = Resumption("This fit", saving.path, quiet=quiet)
    begun = time.perf_counter()
    with (
        warnings_as_lines(),
        run_progress(f"{loaded.name}, {plan}", epochs, quiet=quiet, unit="epochs") as move,
    ):
        data = nodes_of.apply(loaded.data).to(device)

        def tell(now: Progress) -> None:
            if now.resumed:
                resumption.tell()
            move.note(now.note)
            move(now.epochs)

        fitted = train(
            data,
            info=info,
            threads=threads,
            on_progress=tell,
            checkpoint=saving.path,
            checkpoint_seconds=saving.seconds,
            keep_checkpoint=True,
        )
    seconds = time.perf_counter() - begun
    with writing("folder", out):
        fitted.save(out)
    saving.remove()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit has told what was changed
        predicted = fitted.predict_proba(data, info=info)
    known = FittedModel(fitted, loaded, nodes_of, predicted, plan.config, seconds, str(out))
    write_text(model_page(known, this_command(page=True)).render(), out / PAGE)
    found = fitted.summary
    summary: dict[str, Any] = {
        "out": str(out),
        "graph": loaded.name,
        "model": model,
        "method": plan.method.name,
        "split": nodes_of.name,
        "config": plan.config,
        "val_score": found.val_score,
        "test_score": found.test_score,
        "best_epoch": found.best_epoch,
        "epochs": found.epochs,
        "seconds": seconds,
        "warning": found.warning,
    }
    if comparison is not None:
        summary["auto"] = comparison.to_dict()
    if as_json:
        print(json.dumps(summary))
    else:
        _print(summary, out, PAGE)
        if picture is not None:
            print(f"Picture: {picture}")


def _check_together(plan: Plan, method: str, processes: int) -> None:
    """Raise what several processes cannot train together."""
    if method == choosing.AUTO:
        raise ConfigError(
            "--method auto trains many models, one process each. Choose a method without torchrun"
            " or --ranks first."
        )
    plan.method.config.check_ranks(processes)
    plan.training.check_ranks(processes)
    if plan.training.batch_size == "auto":  # of one process, on a cluster
        raise ConfigError(
            "batch_size=auto looks at the memory of this machine, and --ranks train on those of the"
            " cluster. Set a number, or leave it out to train on the whole graph."
        )


def _train_along(plan: Plan, source: GraphSource, data_root: Path | None, device: str) -> None:
    """Train as a process that is not the first, which saves the model."""
    from gaug.cli.graphs import read_graph
    from gaug.runs.graphs import Graphs

    data = None
    if ranks.is_first_here():
        loaded, _ = read_graph(source, data_root, plan.data.feature_scaling)
        data = Graphs(data_root).split(_with_split(plan, loaded)).apply(loaded.data)
        del loaded
    estimator = plan.method.build(model=plan.model, training=plan.training, seed=plan.seed)
    estimator.fit(_one_copy(data).to(device), threads=plan.threads)


def _one_copy(data: Data | None) -> Data:
    """The graph that the first process of a machine read, for all of them."""
    from gaug.training.ranks import ranks_here
    from gaug.training.shared_graph import shared_graph

    with ranks_here() as peers:
        return shared_graph(data, peers)


def _with_split(plan: Plan, loaded: LoadedGraph) -> Plan:
    """The plan with its graph and split; by default all labeled nodes."""
    from gaug.data.config import SplitConfig
    from gaug.data.fitting_split import with_fitting_masks
    from gaug.data.splits import Split

    plan = dataclasses.replace(plan, graph=loaded)
    if plan.split is not None or plan.split_config != SplitConfig():
        return plan
    name = "public" if loaded.data.get("train_mask") is not None else "all labeled nodes"
    validate = plan.training.selection == "validation"
    masked = with_fitting_masks(loaded.data, validate=validate, seed=plan.seed)
    return dataclasses.replace(plan, split=Split.of_masks(masked, name))


def _print(summary: dict[str, Any], out: Path, page: str) -> None:
    console = Console(soft_wrap=True, highlight=False)
    console.print(
        f"{summary['graph']}, {summary['model']}, method {choosing.method_text(summary)},"
        f" split {summary['split']}: epoch {summary['best_epoch']} chosen,"
        f" {summary['epochs']} trained in all, {summary['seconds']:.1f} s",
        markup=False,
    )
    for title, part in (("test micro-F1      ", "test"), ("validation micro-F1", "val")):
        if summary[f"{part}_score"] is not None:
            console.print(f"  {title}  {summary[f'{part}_score']:.1f}")
    console.print(
        f"Written to {out}; 'gaug predict {out} GRAPH' uses it, {out / page} describes it.",
        markup=False,
    )


# Not for users: what the authors of a library should change, and what Python keeps silent.
_OF_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print Python warnings on standard error, one line each, also if the block fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            told = (one for one in caught if not issubclass(one.category, _OF_DEVELOPERS))
            for text in dict.fromkeys(" ".join(str(one.message).split()) for one in told):
                print(f"gaug: {text}", file=sys.stderr)
