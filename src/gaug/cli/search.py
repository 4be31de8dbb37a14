"""gaug search: tune the settings of a method on validation nodes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gaug.choosing.limits import (
    CONCURRENT_TRIALS,
    SEARCH_FINALISTS,
    TRIAL_RUNS,
    TRIALS,
    check_search,
    no_settings,
)
from gaug.cli import options, own_files
from gaug.cli.choosing import AUTO, draw_choice
from gaug.cli.executor import Cluster, check_limit, check_workers, open_executor
from gaug.cli.writing import check_picture, this_command, writing
from gaug.errors import ConfigError, TrainingError

if TYPE_CHECKING:
    from gaug.choosing.search import SearchResult
    from gaug.runs.plan import Plan

# Number of trials to print.
_SHOWN = 5


def search(
    graph: options.Graph = None,
    model: options.Model = "gcn",
    method: Annotated[
        str,
        typer.Option(help="Method to tune: gaug-m, gaug-o, dropedge, adaedge, bgcn or a stack."),
    ] = "gaug-m",
    trials: Annotated[int, typer.Option(help="Settings to try.")] = TRIALS,
    trial_runs: Annotated[
        int, typer.Option(help="Runs of each trial; poor trials are pruned after the first.")
    ] = TRIAL_RUNS,
    finalists: Annotated[
        int,
        typer.Option(help="Best trials that run again with new seeds, which decide; 0 for none."),
    ] = SEARCH_FINALISTS,
    concurrent_trials: Annotated[
        int,
        typer.Option(
            help="Trials proposed together: more of them use more workers, and each knows the"
            " results of fewer others."
        ),
    ] = CONCURRENT_TRIALS,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds for all trials; the finalists get the last 30 % of them."),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", "-n", help="Runs of the best settings, for the test score.")
    ] = 10,
    begin_with: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Begin at the preset of this model."),
    ] = None,
    write_preset: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the best settings as a preset: a .toml file."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Also draw the gain of each trial: .png, .svg or .pdf."),
    ] = None,
    settings: options.Set = None,
    split: options.Split = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    cluster: Cluster = None,
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
    """Tune the settings of a method with Optuna, on validation nodes.

    Settings given with --set are fixed; 'gaug settings METHOD' shows which ones are searched. The
    study is stored with the run records, so the same command resumes an interrupted search, several
    processes can share a search, and optuna-dashboard shows it. Test scores play no part in the
    choice, and are shown only for the best settings and for no augmentation.
    """
    from gaug.presets.preset import presets_beside

    options.check_runs(runs)
    check_workers(workers)
    check_limit(max_memory, cluster)
    if method == AUTO:
        raise no_settings(method)
    if picture is not None:
        check_picture(picture)
    if write_preset is not None and write_preset.suffix != ".toml":
        raise ConfigError(f"A file of presets must end in .toml, got {write_preset}.")
    if write_preset is not None and finalists == 0:
        raise ConfigError(
            "A preset has settings that ran again with new seeds, got --finalists 0. Leave it out."
        )
    source = own_files.graph_source(graph, edges, features, labels, nodes, columns, make_features)
    start = settings
    if begin_with is not None:
        start = options.preset_settings(source, begin_with, method, settings, quiet=quiet)
    plan = options.make_plan(
        source,
        data_root,
        model=model,
        method=method,
        settings=start,
        split=split,
        seed=seed,
        threads=threads,
        device=device,
    )
    if write_preset is not None:
        presets_beside(write_preset, plan.method.name)
    check_search(plan.method.config, trials, trial_runs, timeout, finalists, concurrent_trials)
    from gaug.choosing.search import search_settings
    from gaug.cli.progress import run_progress
    from gaug.runs.execute import execute
    from gaug.runs.graphs import Graphs
    from gaug.runs.store import Store
    from gaug.runs.summary import summarize

    opened, graphs = Store(store), Graphs(data_root)
    opened.check_writable()
    loaded = graphs.load(plan)
    options.tell_notes(loaded, quiet=quiet)
    if not source.in_catalog:
        options.tell_split(loaded, graphs.split(plan), quiet=quiet)
    with (
        options.resumable(),
        open_executor(
            workers, cluster, runs=trials * trial_runs, plans=[plan], graphs=graphs, quiet=quiet
        ) as executor,
    ):
        with run_progress(f"{loaded.name}, {plan}", trials, quiet=quiet, unit="trials") as move:
            result = search_settings(
                plan,
                fixed=[_assigned(text)[0] for text in settings or []],
                trials=trials,
                trial_runs=trial_runs,
                finalists=finalists,
                concurrent_trials=concurrent_trials,
                timeout=timeout,
                graphs=graphs,
                executor=executor,
                store=opened,
                on_trial=move,
            )
        if picture is not None:
            draw_choice(result.comparison, picture, plan, graphs, taken=result.best)
        if write_preset is not None and not result.best.confirmed:
            raise TrainingError(
                "No preset can be written: the best settings did not run again with new seeds."
                " Leave --timeout out, and run the command again."
            )
        tested = []
        for chosen in (result.plan, result.comparison.plain.plan):
            with run_progress(f"{loaded.name}, {chosen}", runs, quiet=quiet) as move:
                tested.append(
                    execute(
                        chosen,
                        runs=runs,
                        executor=executor,
                        store=opened,
                        graphs=graphs,
                        resume=True,
                        on_progress=move,
                    )
                )
    best, plain = map(summarize, tested)
    fixed = _fixed(plan, start or [], settings or [])
    if as_json:
        print(json.dumps(_as_json(result, best, plain)))
    else:
        _print(result, best, plain)
        if result.comparison.gain > 0:
            words = ["--model", model, "--method", method]
            words += ["--split", split] if split else []
            words += ["--seed", str(seed)] if seed else []
            for name, value in {**fixed, **result.best.settings}.items():
                words += ["--set", f"{name}={value}"]
            anyway = "" if result.comparison.helps else " all the same"
            print(f"To train with them{anyway}: {shlex.join(words)}")
        if picture is not None:
            print(f"Picture: {picture}")

    if write_preset is not None:
        _write_preset(result, loaded.name, graphs.split(plan).name, fixed, write_preset)


def _fixed(plan: Plan, start: Sequence[str], given: Sequence[str]) -> dict[str, str]:
    """The settings that all trials had: given ones, and those of a preset that are not searched."""
    from gaug.config import searched_settings

    config = plan.method.config
    searched = searched_settings(type(config))
    return {
        **{
            name: value
            for name, value in map(_assigned, start)
            if config.spelled(name).rpartition(".")[2] not in searched
        },
        **dict(map(_assigned, given)),
    }


def _assigned(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip()


def _write_preset(
    result: SearchResult, graph: str, split: str, given: Mapping[str, str], path: Path
) -> None:
    from gaug.presets.preset import Preset, write_preset

    preset = Preset.of(result, graph=graph, split=split, command=this_command(), given=given)
    with writing("preset", path):
        write_preset(preset, path)


def _as_json(result: SearchResult, best: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    comparison = result.comparison
    assert comparison.plain.scores is not None
    gain = comparison.gain_of(result.best)
    return {
        "best": best,
        "none": plain,
        "settings": dict(result.best.settings),
        "verdict": comparison.verdict(),
        "gain": result.best.mean - comparison.plain.mean if gain is None else gain.points,
        "error": None if gain is None else gain.error,
        "confidence": result.comparison.confidence_in(result.best),
        "none_val_scores": list(comparison.plain.scores.values),
        "importances": result.importances,
        "study": result.study,
        "trials": [trial.to_dict() for trial in result.trials],
    }


def _print(result: SearchResult, best: dict[str, Any], plain: dict[str, Any]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    ranked = result.ranked()
    failed = [*result.comparison.left_out, *result.comparison.unfinished]
    pruned = [trial for trial in result.trials if trial.pruned]
    console.print(
        f"{best['graph']}, {best['model']}, method {best['method']}: {len(result.trials)} trials,"
        f" {len(pruned)} pruned, {len(ranked)} different settings",
        markup=False,
    )
    for trial in ranked[:_SHOWN]:
        text = " ".join(f"{name}={value}" for name, value in trial.settings.items())
        console.print(f"  validation {trial.scores}  {text}", markup=False)
    beside = result.comparison.plain_beside(result.best)
    console.print(f"  validation {beside}  no augmentation", markup=False)
    if failed:
        console.print(f"  {len(failed)} failed: {failed[-1].failure}", markup=False)
    if result.importances:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in result.importances.items())
        console.print(f"  importance: {shares}", markup=False)
    console.print(result.comparison.verdict(), markup=False)
    for name, summary in (("best settings", best), ("no augmentation", plain)):
        spread = f" ± {summary['test_std']:.1f}" if summary["runs"] > 1 else ""
        runs = f"{summary['runs']} run{'s' if summary['runs'] > 1 else ''}"
        console.print(f"  test {summary['test_mean']:.1f}{spread}  {name}, {runs}")
