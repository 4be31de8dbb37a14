"""The paper's figure 5: what GAug-O's graphs on Cora are made of, and how it learns."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from gaug.data.catalog.loading import load_graph
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_counts
from gaug.runs.executors import OnProgress
from gaug.runs.store import RunRecord
from gaug.studies.conditions import Conditions
from gaug.studies.published import published_settings

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
    conditions: Conditions, *, epochs: int, on_progress: OnProgress | None = None
) -> Curves:
    """Train a GCN by GAug-O with the authors' settings and keep the history.

    Args:
        conditions: How runs are done.
        epochs: Epochs of joint training; none is left out by early stopping.
        on_progress: Called with the number of runs done.
    """
    settings = published_settings(GRAPH, "gcn", "gaug-o") | {"epochs": epochs, "patience": epochs}
    records = conditions.run(
        GRAPH, "gcn", "gaug-o", settings, keep_history=True, on_progress=on_progress
    )
    data = load_graph(GRAPH, conditions.root)
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
