"""gaug train: train and evaluate over repeated runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gaug.cli import choosing, options, own_files
from gaug.cli.executor import Cluster, check_limit, check_workers, open_executor
from gaug.cli.memory_words import tell_memory
from gaug.errors import ConfigError

if TYPE_CHECKING:
    from gaug.runs.record import RunRecord


def train(
    graph: options.Graph = None,
    model: options.Model = "gcn",
    method: options.Method = "none",
    time_budget: choosing.TimeBudget = None,
    picture: choosing.Picture = None,
    preset: Annotated[
        bool,
        typer.Option(
            "--preset",
            help="Settings that a search found for this graph, model and method; --set changes"
            " them.",
        ),
    ] = False,
    settings: options.Set = None,
    split: options.Split = None,
    runs: options.Runs = 10,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    cluster: Cluster = None,
    threads: options.Threads = 1,
    device: options.Device = "cpu",
    max_memory: options.MaxMemory = None,
    history: Annotated[
        bool, typer.Option("--history", help="Record losses and scores of every epoch.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Reuse recorded runs.")] = False,
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
    """Train and evaluate over repeated runs.

    The epoch is selected on validation nodes; the test score is read once. Every finished run is
    recorded; Ctrl-C keeps the finished ones.
    """
    options.check_runs(runs)
    check_workers(workers)
    check_limit(max_memory, cluster)
    options.check_checkpoint_minutes(checkpoint_minutes)
    if cluster is not None and checkpoint_minutes is not None:
        raise ConfigError("Runs on a cluster have no checkpoints: leave --checkpoint-minutes out.")
    source = own_files.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    if preset:
        settings = options.preset_settings(source, model, method, settings, quiet=quiet)
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
    from gaug.cli.progress import run_progress
    from gaug.cli.resumption import tell_runs
    from gaug.runs.execute import execute
    from gaug.runs.graphs import Graphs
    from gaug.runs.store import Store
    from gaug.runs.summary import summarize, warnings_of

    opened = Store(store)
    opened.check_writable()
    graphs = Graphs(data_root)
    loaded = graphs.load(plan)
    options.tell_notes(loaded, quiet=quiet)
    if not source.in_catalog:
        options.tell_split(loaded, graphs.split(plan), quiet=quiet)
    plans = choosing.plans_to_run(method, plan)
    records: list[RunRecord] = []
    taken_over: list[float] = []
    interrupted = False
    comparison = None
    with open_executor(
        workers, cluster, runs=runs, plans=plans, graphs=graphs, quiet=quiet
    ) as executor:
        try:
            if method == choosing.AUTO:
                comparison = choosing.choose(
                    plan,
                    time_budget,
                    graphs=graphs,
                    executor=executor,
                    store=opened,
                    quiet=quiet,
                )
                if picture is not None:
                    choosing.draw_choice(comparison, picture, plan, graphs)
                plan = comparison.chosen.plan
                resume = True  # repeating the command trains nothing again
                if not as_json:
                    Console(soft_wrap=True, highlight=False).print(
                        choosing.choice_text(comparison), markup=False
                    )
            placed = graphs.place(plan)
            if method == choosing.AUTO:
                tell_memory([plan], graphs, workers=None, quiet=quiet)
            saving = options.checkpoints(opened.checkpoint_folder, checkpoint_minutes)
            saved = {
                f"Run {run + 1}": saving.of(placed.identity(run), history) for run in range(runs)
            }
            tell_runs(saved, quiet=quiet or cluster is not None)
            with run_progress(f"{loaded.name}, {plan}", runs, quiet=quiet) as move:

                def tell(done: float) -> None:
                    if not taken_over:
                        taken_over.append(done)  # the first value: runs that are reused
                    move(done)

                execute(
                    plan,
                    runs=runs,
                    executor=executor,
                    store=opened,
                    graphs=graphs,
                    resume=resume,
                    keep_history=history,
                    checkpoints=saving,
                    on_progress=tell,
                    on_note=move.note,
                    records=records,
                )
        except KeyboardInterrupt:
            interrupted = True
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    if resume and comparison is None and taken_over and not quiet:
        where = "already recorded with a history" if history else "already recorded"
        errors.print(f"gaug: {taken_over[0]:.0f} of {runs} runs were {where}.", markup=False)
    for warning in warnings_of(records):
        errors.print(f"gaug: {warning}", markup=False)
    if interrupted:
        options.state.interruption_told = True
        errors.print(
            f"gaug: Interrupted. {len(records)} of {runs} runs are finished and recorded;"
            " --resume continues from there.",
            markup=False,
        )
    if records:
        summary = summarize(sorted(records, key=lambda record: record.run))
        if comparison is not None:
            summary["auto"] = comparison.to_dict()
        if as_json:
            print(json.dumps(summary))
        else:
            print_summary(summary, opened.url)
            if picture is not None:
                print(f"Picture: {picture}")
    if interrupted:
        raise typer.Exit(130)


def print_summary(summary: dict[str, Any], store: str) -> None:
    """Print the result in a few lines."""
    console = Console(soft_wrap=True, highlight=False)
    runs = summary["runs"]
    console.print(
        f"{summary['graph']}, {summary['model']}, method {choosing.method_text(summary)},"
        f" split {summary['split']['name']}, {runs} run{'s' if runs > 1 else ''}",
        markup=False,
    )
    for title, part in (("test micro-F1      ", "test"), ("validation micro-F1", "val")):
        if summary[f"{part}_mean"] is not None:
            spread = f" ± {summary[f'{part}_std']:.1f}" if runs > 1 else ""
            console.print(f"  {title}  {summary[f'{part}_mean']:.1f}{spread}")
    console.print(
        f"  {summary['seconds_per_run']:.1f} s and {summary['peak_memory_mb']:,.0f} MB per run;"
        f" recorded in {store}",
        markup=False,
    )
