"""gaug augment: write the augmented graph and the added and removed edges."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from gaug.cli import options, own_files
from gaug.cli.executor import Cluster
from gaug.data.config import SplitConfig
from gaug.errors import ConfigError
from gaug.models.spec import ModelSpec
from gaug.training.config import TrainingConfig

if TYPE_CHECKING:
    from gaug.runs.plan import Plan

# Report ties above this share of equal scores.
_MANY_TIES = 0.1


def augment(
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    graph: options.Graph = None,
    settings: options.Set = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier result in the folder.")
    ] = False,
    seed: options.Seed = 0,
    max_memory: options.MaxMemory = None,
    cluster: Cluster = None,
    edges: own_files.Edges = None,
    features: own_files.Features = None,
    labels: own_files.Labels = None,
    nodes: own_files.Nodes = None,
    columns: own_files.Columns = None,
    make_features: own_files.MakeFeatures = None,
    split: Annotated[
        Path | None,
        typer.Option(help="File of a split, to copy along.", rich_help_panel="Your own graph"),
    ] = None,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Augment a graph with GAug-M: write it and the added and removed edges, with scores.

    Labels are not used; if there are any, the summary reports how the change fits them.
    """
    source = own_files.graph_source(
        graph, edges, features, labels, nodes, columns, make_features, split
    )
    plan = options.make_plan(source, data_root, method="gaug-m", settings=settings, seed=seed)
    options.refuse_control(plan)
    _refuse_settings_without_use(plan)
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import this_command, writing
    from gaug.data.opening import open_graph
    from gaug.inspection.augmentation import Augmentation
    from gaug.memory import check_fits
    from gaug.methods.gaug_m.method import GAugM
    from gaug.methods.run_memory import ranking_memory
    from gaug.models.base import as_features
    from gaug.provenance import software_versions
    from gaug.report.augmentation import PAGE, check_folder, write_augmentation
    from gaug.runs.executor import ThisProcess
    from gaug.runs.executors import cluster_executor
    from gaug.training.graph_size import GraphSize

    check_folder(out, force=force)
    if out.resolve() in source.folders:
        raise ConfigError(f"{out} holds the graph itself. Give another folder to write to.")
    loaded = open_graph(source, data_root, plan.data.feature_scaling)
    options.tell_notes(loaded, quiet=quiet)
    data, name = loaded.data, loaded.name
    if not source.in_catalog:
        # Scaling is only for the predictor; features are written unscaled.
        loaded = open_graph(source, data_root, "as-is")
    size = GraphSize.of(as_features(data.x), data.num_edges // 2)
    check_fits(
        ranking_memory(size, plan.method.predictors),
        "Ranking all pairs",
        "Use a smaller graph or a machine with more memory.",
        num_nodes=size.nodes,
    )
    method = plan.method.build(seed=seed)
    assert isinstance(method, GAugM)
    with ThisProcess() if cluster is None else cluster_executor(cluster) as executor:
        with run_progress(f"{name}: edge predictor", 100, quiet=quiet, unit="%") as move:
            fitted = method.fit_predictor(data, on_share=lambda share: move(100 * share))
        if fitted.predictor.flaw_ is not None:
            print(f"gaug: {fitted.predictor.flaw_}", file=sys.stderr)
        with (
            executor.ranking(),
            run_progress(f"{name}: all pairs", 100, quiet=quiet, unit="%") as move,
        ):
            found = method.find_change(data, on_share=lambda share: move(100 * share))
    title = f"{name}, predictor {method.config.predictor}"
    made_by = {
        "graph": name,
        "settings": plan.config["method"],
        "predictors": plan.config["predictors"],
        "data": plan.config["data"],
        "seed": seed,
        "versions": software_versions(),
    }
    done = Augmentation.of(loaded, method, scored=data, change=found, made_by=made_by)
    with writing("folder", out):
        summary = write_augmentation(out, done, title, force=force, command=this_command(page=True))
    if as_json:
        print(json.dumps({"out": str(out), **summary}))
    else:
        _print(summary, out, PAGE)


def _print(summary: dict[str, Any], out: Path, page: str) -> None:
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    before, after = summary["before"], summary["after"]
    for key in before:
        table.add_row(key.replace("_", " "), _text(before[key]), _text(after[key]))
    console.print(table)
    for name in ("added", "removed"):
        share = summary[name]["intra_class_share"]
        words = (
            "" if share is None else f", {share:.0%} of those between labeled nodes within a class"
        )
        count, tied = summary[name]["edges"], summary[name]["tied_at_the_last_score"]
        console.print(f"{name}: {count:,} edges{words}")
        if tied > max(1, _MANY_TIES * count):
            console.print(
                f"  {tied:,} of them have the same score, the last one that counted; a hash of"
                " the pair breaks ties. This predictor may know too little about this graph."
            )
    from gaug.report.page.html import noun

    lost = after["isolated_nodes"] - before["isolated_nodes"]
    if lost > 0:
        console.print(
            f"{lost:,} {noun(lost, 'node')} lost all edges; a smaller remove_fraction leaves more."
        )
    console.print(f"Written to {out}; open {out / page}", markup=False, soft_wrap=True)


def _text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _refuse_settings_without_use(plan: Plan) -> None:
    """Raise on settings of training or of the graph for inference, which have no effect here."""
    plain = dataclasses.replace(
        plan, model=ModelSpec.of("gcn"), training=TrainingConfig(), split_config=SplitConfig()
    )
    if plan != plain:
        raise ConfigError(
            "A setting of model, training or split has no effect on 'gaug augment': leave it"
            " out, or give it to 'gaug train'."
        )
    if getattr(plan.method.config, "inference", "modified") != "modified":
        raise ConfigError("inference=original has no effect on 'gaug augment': it trains nothing.")
    if getattr(plan.method.config, "rounds", 1) != 1:
        raise ConfigError(
            "rounds=2 needs a classifier, and 'gaug augment' trains none. Use 'gaug fit', whose"
            " model changes a graph when it predicts."
        )
