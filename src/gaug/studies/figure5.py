"""The paper's figure 5: the edges of GAug-O's graphs on Cora, and its learning curves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from gaug.drawing.picture import BLUE, GRAY, GREEN, ORANGE, RED, picture
from gaug.drawing.table import Field, Table
from gaug.errors import TrainingError
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_counts
from gaug.runs.graphs import Graphs
from gaug.runs.record import RunRecord
from gaug.studies.chooser import Given
from gaug.studies.notes import failures, runs_text
from gaug.studies.outcome import Outcome, rounded
from gaug.studies.paper import published_settings
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study, paper_plan

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
        return [Cell(("gcn", source), plan, numbers, Given(source), settings, keep_history=True)]

    def outcomes(
        self, results: Sequence[CellResult], graphs: Graphs, options: StudyOptions
    ) -> list[Outcome]:
        """With the mean curves, and the edges of the original graph."""
        (result,) = results
        if not result.records:
            return [Outcome.of(result)]
        curves = mean_curves(result.records, self.epochs)
        return [
            Outcome.of(
                result,
                curves={name: list(map(rounded, values)) for name, values in curves.items()},
                original=_original_counts(result, graphs),
            )
        ]

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per epoch, for some epochs; none without runs."""
        (outcome,) = outcomes
        header = [
            "epoch",
            "edges",
            "within a class",
            "classification loss",
            "edge loss",
            "validation",
        ]
        settings = "its defaults"
        if outcome.chosen == "published":
            settings = "the settings that the paper's authors published"
        note = (
            f"Cora, GCN, GAug-O with {settings}: the graphs sampled in joint training. Means over"
            f" {runs_text(outcomes)}; validation: micro-F1 in percent on the original graph."
        )
        rows = _rows_of(*_shown_facts(outcome)) if outcome.facts else []
        return Table(self.title, header, rows, [note, *failures(outcomes)])

    def draw(self, outcomes: Sequence[Outcome], path: Path) -> None:
        """Write the picture: the edges of the sampled graphs, and losses with the score."""
        (outcome,) = outcomes
        if not outcome.facts:
            raise TrainingError(f"There is nothing to draw: {outcome.failure}.")
        curves, original = _shown_facts(outcome)
        with picture(path, 1, 2, width=5.0, height=3.8) as (_, axes):
            _draw_edges(axes[0, 0], curves, original["intra_edges"] / original["edges"])
            _draw_learning(axes[0, 1], curves)


def _shown_facts(outcome: Outcome) -> tuple[Curves, dict[str, int]]:
    return outcome.facts["curves"], outcome.facts["original"]


def _rows_of(curves: Curves, original: Mapping[str, int]) -> list[list[Field]]:
    share = original["intra_edges"] / original["edges"]
    rows: list[list[Field]] = [
        ["original graph", f"{original['edges']:,}", f"{share:.1%}", "", "", ""]
    ]
    for epoch in (row for row in _ROWS if row <= len(curves["edges"])):
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
    return rows


def mean_curves(records: Sequence[RunRecord], epochs: int) -> Curves:
    """For each name of `SHOWN`, the mean over runs in each epoch of joint training."""
    histories = [(record.history or [])[-epochs:] for record in records]
    histories = [history for history in histories if len(history) == epochs]  # others broke off
    if not histories:
        raise TrainingError("There is nothing to draw: no run has trained all epochs.")
    return {
        name: [
            _mean([_shown(history[epoch], name) for history in histories])
            for epoch in range(epochs)
        ]
        for name in SHOWN
    }


def _mean(values: Sequence[float | None]) -> float:
    """The mean of the numbers that are known; NaN if none is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else math.nan


def _shown(row: Mapping[str, float | None], name: str) -> float | None:
    """A number of an epoch; records have None where it was infinite or none."""
    if name == "intra_share":
        edges, inside = row["edges"], row["intra_edges"]
        return inside / edges if edges and inside is not None else None
    return row[name]


def _original_counts(result: CellResult, graphs: Graphs) -> dict[str, int]:
    data = graphs.load(result.cell.plan).data
    return edge_counts(undirected_pairs(data.edge_index), data.y)


def _draw_edges(axis: Axes, curves: Curves, original_share: float) -> None:
    epochs = range(1, len(curves["edges"]) + 1)
    share = [100 * value for value in curves["intra_share"]]
    axis.plot(epochs, share, color=BLUE, label="within a class, %")
    axis.axhline(100 * original_share, color=BLUE, linestyle=":", label="of the original graph")
    axis.set_ylabel("edges within a class, %", color=BLUE)
    axis.set_xlabel("epoch of joint training")
    axis.set_title("Edges of the sampled graphs")
    axis.legend(loc="lower right")
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
    axis.legend(loc="upper right")
    other = axis.twinx()
    other.plot(epochs, curves["val_score"], color=GREEN)
    other.set_ylabel("validation micro-F1, %", color=GREEN)
