"""The paper's figure 5: the edges of GAug-O's graphs on Cora, and its learning curves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from gaug.drawing.picture import BLUE, GRAY, GREEN, ORANGE, RED, write_picture
from gaug.drawing.table import Table
from gaug.errors import TrainingError
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_counts
from gaug.runs.graphs import Graphs
from gaug.runs.record import RunRecord
from gaug.studies.paper import published_settings
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study, failures, paper_plan

GRAPH = "cora"

#: Columns of the history that are shown.
SHOWN = ("intra_share", "edges", "train_loss", "edge_loss", "val_score")
# Epochs in the table, denser at the start, where most happens.
_ROWS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200)

#: For each name of `SHOWN`, one mean per epoch.
Curves = dict[str, list[float]]


class Figure5(Study):
    """The edges of GAug-O's graphs on Cora in each epoch, and its learning curves.

    Args:
        epochs: Epochs of joint training, without early stopping.
    """

    name = "figure5"
    title = "Figure 5"
    scope = STUDIES["figure5"].scope

    def __init__(self, epochs: int = 100) -> None:
        self.epochs = epochs

    def cells(self, options: StudyOptions) -> list[Cell]:
        """A GCN with GAug-O, with its history."""
        source = self.scope.source_of_settings(options)
        settings = published_settings(GRAPH, "gcn", "gaug-o") if source == "published" else {}
        settings |= {"epochs": self.epochs, "patience": self.epochs}
        plan = paper_plan(GRAPH, "gcn", "gaug-o", settings, options)
        numbers = self.scope.run_numbers(options)
        return [Cell(("gcn", source), plan, numbers, settings=settings, keep_history=True)]

    def table(self, results: Sequence[CellResult], graphs: Graphs) -> Table:
        """One row per epoch, for some epochs."""
        curves = self._curves(results)
        original = _original_counts(results, graphs)
        share = original["intra_edges"] / original["edges"]
        rows: list[list[str]] = [
            ["original graph", f"{original['edges']:,}", f"{share:.1%}", "", "", ""]
        ]
        for epoch in (row for row in _ROWS if row <= self.epochs):
            edges, share, loss, edge_loss, score = (
                curves[name][epoch - 1]
                for name in ("edges", "intra_share", "train_loss", "edge_loss", "val_score")
            )
            rows.append(
                [
                    str(epoch),
                    f"{edges:,.0f}",
                    f"{share:.1%}",
                    f"{loss:.3f}",
                    f"{edge_loss:.3f}",
                    f"{score:.1f}",
                ]
            )
        runs = len(results[0].records)
        header = [
            "epoch",
            "edges",
            "within a class",
            "classification loss",
            "edge loss",
            "validation",
        ]
        _, source = results[0].cell.key
        settings = "its defaults"
        if source == "published":
            settings = "the settings that the paper's authors published"
        note = (
            f"Cora, GCN, GAug-O with {settings}: the graphs sampled in joint training. Means over"
            f" {runs} run{'' if runs == 1 else 's'}; validation: micro-F1 in percent on the"
            " original graph."
        )
        return Table(self.title, header, rows, [note, *failures(results)])

    def draw(self, results: Sequence[CellResult], graphs: Graphs, path: Path) -> None:
        """Write the picture: the edges of the sampled graphs, and losses with the score."""
        curves = self._curves(results)
        original = _original_counts(results, graphs)
        canvas, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
        _draw_edges(left, curves, original["intra_edges"] / original["edges"])
        _draw_learning(right, curves)
        write_picture(canvas, path)

    def _curves(self, results: Sequence[CellResult]) -> Curves:
        (result,) = results
        if not result.records:
            raise TrainingError(f"There is nothing to draw: {result.failure}")
        return mean_curves(result.records, self.epochs)


def mean_curves(records: Sequence[RunRecord], epochs: int) -> Curves:
    """For each name of `SHOWN`, the mean over runs in each epoch of joint training."""
    histories = [(record.history or [])[-epochs:] for record in records]
    histories = [history for history in histories if len(history) == epochs]  # others broke off
    if not histories:
        raise TrainingError("There is nothing to draw: no run has trained all epochs.")
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


def _original_counts(results: Sequence[CellResult], graphs: Graphs) -> dict[str, int]:
    data = graphs.load(results[0].cell.plan).data
    return edge_counts(undirected_pairs(data.edge_index), data.y)


def _draw_edges(axis: Axes, curves: Curves, original_share: float) -> None:
    epochs = range(1, len(curves["edges"]) + 1)
    share = [100 * value for value in curves["intra_share"]]
    axis.plot(epochs, share, color=BLUE, label="within a class, %")
    axis.axhline(100 * original_share, color=BLUE, linestyle=":", label="of the original graph")
    axis.set_ylabel("edges within a class, %", color=BLUE)
    axis.set_xlabel("epoch of joint training")
    axis.set_title("Edges of the sampled graphs")
    axis.legend(frameon=False, loc="lower right")
    other = axis.twinx()
    other.plot(epochs, curves["edges"], color=GRAY, alpha=0.8)
    other.set_ylabel("edges", color=GRAY)
    other.yaxis.set_major_formatter("{x:,.0f}")
    other.set_ylim(bottom=0)


def _draw_learning(axis: Axes, curves: Curves) -> None:
    epochs = range(1, len(curves["edges"]) + 1)
    axis.plot(epochs, curves["train_loss"], color=RED, label="classification loss")
    axis.plot(epochs, curves["edge_loss"], color=ORANGE, label="edge loss")
    axis.set_ylim(bottom=0)
    axis.set_ylabel("loss")
    axis.set_xlabel("epoch of joint training")
    axis.set_title("Learning curve")
    axis.legend(frameon=False, loc="upper right")
    other = axis.twinx()
    other.plot(epochs, curves["val_score"], color=GREEN)
    other.set_ylabel("validation micro-F1, %", color=GREEN)
