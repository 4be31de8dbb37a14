"""The paper's figure 5: what GAug-O's graphs on Cora are made of, and how it learns."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gaug.data.catalog import load_graph
from gaug.experiment import Experiment, run_experiment
from gaug.graph import undirected_pairs
from gaug.store import RunRecord, Store
from gaug.studies.published import published_settings
from gaug.studies.table2 import table2_split
from gaug.training.metrics import edge_counts

GRAPH = "cora"

#: What is shown of each epoch, by its name in the history.
SHOWN = ("intra_share", "edges", "train_loss", "edge_loss", "val_score")


@dataclass(frozen=True)
class Curves:
    """Mean over runs, epoch by epoch of joint training.

    Attributes:
        values: For each name of `SHOWN` a mean an epoch.
        runs: Number of runs.
        original_share: Share of the original graph's edges that are within a class.
        original_edges: Number of the original graph's edges.
    """

    values: dict[str, list[float]]
    runs: int
    original_share: float
    original_edges: int


def run_figure5(
    store: Store,
    *,
    runs: int,
    epochs: int,
    workers: int,
    root: Path | None,
    seed: int,
    on_progress: Callable[[float], None] | None = None,
) -> Curves:
    """Train a GCN by GAug-O with the authors' settings and keep the history.

    Args:
        store: Where runs are looked up and written.
        runs: Number of runs.
        epochs: Epochs of joint training; none is left out by early stopping.
        workers: Processes to spread the runs over.
        root: The data root.
        seed: Seed that the seeds of all runs derive from.
        on_progress: Called with the number of runs done.
    """
    settings = published_settings(GRAPH, "gcn", "gaug-o") | {"epochs": epochs, "patience": epochs}
    experiment = Experiment.of(
        GRAPH,
        model="gcn",
        method="gaug-o",
        settings=settings,
        split=table2_split(GRAPH, root),
        seed=seed,
    )
    records = run_experiment(
        experiment,
        runs=runs,
        workers=workers,
        root=root,
        store=store,
        resume=True,
        keep_history=True,
        on_progress=on_progress,
    )
    data = load_graph(GRAPH, root)
    counts = edge_counts(undirected_pairs(data.edge_index), data.y)
    return Curves(
        mean_curves(records, epochs),
        len(records),
        counts["intra_edges"] / counts["edges"],
        int(counts["edges"]),
    )


def mean_curves(records: list[RunRecord], epochs: int) -> dict[str, list[float]]:
    """For each name of `SHOWN` the mean over runs in each of the last epochs, joint training's."""
    histories = [(record.history or [])[-epochs:] for record in records]
    return {
        name: [
            statistics.fmean(_shown(history[epoch], name) for history in histories)
            for epoch in range(epochs)
        ]
        for name in SHOWN
    }


def _shown(row: dict[str, float], name: str) -> float:
    if name == "intra_share":
        return row["intra_edges"] / row["edges"] if row["edges"] else math.nan
    return row[name]
