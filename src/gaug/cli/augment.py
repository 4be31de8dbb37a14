"""gaug augment: write the better graph, and what was added and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from gaug.cli import options


def augment(
    graph: options.Graph,
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    settings: options.Set = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the folder.")] = False,
    seed: options.Seed = 0,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Mend a graph by GAug-M: write it, and what was added and removed, with scores.

    Labels are not looked at; where there are some, the summary says how the change fits them.
    """
    from gaug.augment import GAugM
    from gaug.cli.progress import run_progress
    from gaug.cli.writing import writing
    from gaug.data.catalog import load_graph
    from gaug.errors import ConfigError
    from gaug.experiment import Experiment
    from gaug.graph import undirected_pairs
    from gaug.report.augmentation import check_folder, write_augmentation

    experiment = Experiment.of(graph, method="gaug-m", settings=settings or [], seed=seed)
    if "omniscient" in experiment.parts:
        raise ConfigError("The omniscient predictor is a control for 'gaug train', no method.")
    check_folder(out, force=force)
    data = load_graph(graph, data_root, experiment.data.feature_scaling)
    method = GAugM(**experiment.method.to_dict(), predictor_settings=experiment.parts, seed=seed)
    with run_progress(f"{graph}: edge predictor", 100, quiet=quiet, unit="%") as move:
        method.fit_predictor(data, on_share=lambda share: move(100 * share))
    with run_progress(f"{graph}: all pairs", 100, quiet=quiet, unit="%") as move:
        found = method.find_change(data, on_share=lambda share: move(100 * share))
    better = found.change.apply(data)
    scores = method.edge_logits(data, undirected_pairs(data.edge_index))
    with writing("folder", out):
        summary = write_augmentation(out, data, better, found, scores, force=force)
    if as_json:
        print(json.dumps({"graph": graph, "out": str(out), **summary}))
    else:
        _print(summary, out)


def _print(summary: dict[str, Any], out: Path) -> None:
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
        words = "" if share is None else f", {share:.0%} of them within a class"
        console.print(f"{name}: {summary[name]['edges']:,} edges{words}")
    console.print(f"Written to {out}", markup=False, soft_wrap=True)


def _text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
