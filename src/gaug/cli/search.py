"""gaug search: the settings of a method, by validation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gaug.cli import options
from gaug.cli.choosing import AUTO

if TYPE_CHECKING:
    from gaug.choosing.search import SearchResult
    from gaug.runs.store import RunRecord

# Trials that are shown to a person.
_SHOWN = 5


def search(
    graph: options.Graph = None,
    model: options.Model = "gcn",
    method: Annotated[
        str, typer.Option(help="What to search: gaug-m, gaug-o, dropedge, adaedge or bgcn.")
    ] = "gaug-m",
    trials: Annotated[int, typer.Option(help="Settings to try.")] = 30,
    trial_runs: Annotated[int, typer.Option(help="Runs of each, in one process.")] = 3,
    runs: Annotated[
        int, typer.Option("--runs", "-n", help="Runs of the best settings, for the test score.")
    ] = 10,
    settings: options.Set = None,
    split: options.Split = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    threads: options.Threads = 1,
    device: options.Device = "cpu",
    edges: options.Edges = None,
    features: options.Features = None,
    labels: options.Labels = None,
    nodes: options.Nodes = None,
    columns: options.Columns = None,
    make_features: options.MakeFeatures = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Search the settings of a method by Optuna, on validation nodes.

    What --set gives stays as it is; 'gaug settings METHOD' shows what else is searched. Every run
    goes on record, and the same command goes on where it was interrupted. Test scores have no part
    in the choice, and are shown for the best settings and for no augmentation alone.
    """
    from gaug.choosing.search import (
        check_search,
        no_settings,
        search_settings,
        without_augmentation,
    )
    from gaug.cli.progress import run_progress
    from gaug.data.opening import open_graph
    from gaug.runs.plan import Experiment, run_experiment, summarize
    from gaug.runs.store import Store

    options.check_runs(runs)
    if method == AUTO:
        raise no_settings(method)
    source = options.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    experiment = Experiment.of(
        source,
        model=model,
        method=method,
        settings=settings or [],
        split=split,
        seed=seed,
        threads=threads,
        device=device,
    )
    check_search(experiment, trials, trial_runs)
    opened = Store(store)
    loaded = open_graph(source, data_root, experiment.data.feature_scaling)
    options.tell_notes(loaded, quiet=quiet)
    if not source.in_catalog:
        options.tell_split(loaded, split, experiment.split_config, quiet=quiet)
    with options.resumable():
        what = f"{loaded.name}, {model}, {method}"
        with run_progress(what, trials, quiet=quiet, unit="trials") as move:
            result = search_settings(
                experiment,
                loaded,
                fixed=[
                    text.partition("=")[0].strip().rpartition(".")[2] for text in settings or []
                ],
                trials=trials,
                trial_runs=trial_runs,
                store=opened,
                root=data_root,
                on_trial=move,
            )
        tested: list[list[RunRecord]] = []
        for chosen in (result.experiment, without_augmentation(experiment)):
            what = f"{loaded.name}, {model}, {chosen.method.name}"
            with run_progress(what, runs, quiet=quiet) as move:
                tested.append(
                    run_experiment(
                        chosen,
                        runs=runs,
                        workers=options.sensible_workers(workers, runs),
                        root=data_root,
                        store=opened,
                        resume=True,
                        on_progress=move,
                        loaded=loaded,
                    )
                )
    best, plain = map(summarize, tested)
    if as_json:
        print(json.dumps(_as_json(result, best, plain)))
    else:
        _print(result, best, plain)
        if result.gain > 0:
            given = [f"--set {text}" for text in settings or []]
            given += [f"--split {split}"] if split else []
            given += [f"--seed {seed}"] if seed else []
            found = [f"--set {setting}" for setting in str(result.best).split()]
            line = " ".join([f"--model {model} --method {method}", *given, *found])
            print(f"To train with them: {line}")


def _as_json(result: SearchResult, best: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    return {
        "best": best,
        "none": plain,
        "settings": result.best.settings,
        "verdict": result.verdict(),
        "gain": result.gain,
        "spread": result.chance,
        "none_val_scores": list(result.plain.values),
        "trials": [
            {
                "settings": trial.settings,
                "val_scores": list(trial.scores.values) if trial.scores else None,
                "val_mean": trial.scores.mean if trial.scores else None,
                "failure": trial.failure,
            }
            for trial in result.trials
        ],
    }


def _print(result: SearchResult, best: dict[str, Any], plain: dict[str, Any]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    ranked = result.ranked()
    failed = [trial for trial in result.trials if trial.failure]
    console.print(
        f"{best['graph']}, {best['model']}, method {best['method']}: {len(result.trials)} trials,"
        f" {len(ranked)} different settings",
        markup=False,
    )
    for trial in ranked[:_SHOWN]:
        console.print(f"  validation {trial.scores}  {trial}", markup=False)
    console.print(f"  validation {result.plain}  no augmentation", markup=False)
    if failed:
        console.print(f"  {len(failed)} could not be run: {failed[-1].failure}", markup=False)
    console.print(result.verdict(), markup=False)
    for name, summary in (("the first of these", best), ("no augmentation", plain)):
        spread = f" ± {summary['test_std']:.1f}" if summary["runs"] > 1 else ""
        runs = f"{summary['runs']} run{'s' if summary['runs'] > 1 else ''}"
        console.print(f"  test {summary['test_mean']:.1f}{spread}  {name}, {runs}")
