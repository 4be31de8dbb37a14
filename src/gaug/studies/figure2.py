"""The paper's figure 2: edges added and removed on Cora, as learned and at random."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from gaug.drawing.picture import BLUE, GREEN, ORANGE, write_picture
from gaug.drawing.table import Field, Scores, Table
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_counts
from gaug.methods.gaug_m.method import GAugM
from gaug.runs.graphs import Graphs
from gaug.runs.summary import spread
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study, failures, paper_plan

GRAPH = "cora"
STEPS = tuple(step / 10 for step in range(11))
_PANELS = {
    ("add", "gae"): "Added, learned",
    ("add", "random"): "Added at random",
    ("remove", "gae"): "Removed, learned",
    ("remove", "random"): "Removed at random",
}


class Figure2(Study):
    """Edges added and removed on Cora, by a GAE and at random: their kinds, and a GCN's score."""

    name = "figure2"
    title = "Figure 2"
    scope = STUDIES["figure2"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """A GCN on the graph after every step, from 0 to 100 percent of the edges."""
        found = []
        for action, predictor in _PANELS:
            for share in STEPS:
                settings: dict[str, Any] = {
                    "predictor": predictor,
                    "add_fraction": 0.0,
                    "remove_fraction": 0.0,
                    f"{action}_fraction": share,
                }
                plan = paper_plan(GRAPH, "gcn", "gaug-m", settings, options)
                found.append(
                    Cell((action, predictor, share), plan, self.scope.run_numbers(options))
                )
        return found

    def table(self, results: Sequence[CellResult], graphs: Graphs) -> Table:
        """One row per step."""
        rows: list[list[Field]] = []
        for result in results:
            action, predictor, share = result.cell.key
            counts = _edge_counts(result, graphs)
            rows.append(
                [
                    _PANELS[action, predictor],
                    f"{share:.0%}",
                    counts["intra_edges"],
                    counts["inter_edges"],
                    Scores(result.scores, failure=result.failure),
                ]
            )
        runs = max(len(result.records) for result in results)
        header = ["change", "share of the edges", "within a class", "between classes", "GCN"]
        note = (
            "Cora; edges are added and removed in the order of a GAE's scores, or at random. GCN:"
            f" test micro-F1 in percent, mean and sample standard deviation over {runs} runs,"
            " trained and tested on the changed graph."
        )
        return Table(self.title, header, rows, [note, *failures(results)])

    def draw(self, results: Sequence[CellResult], graphs: Graphs, path: Path) -> None:
        """Write the picture: edges by kind as areas, the GCN's score as a line with its spread."""
        canvas, axes = plt.subplots(
            1, len(_PANELS), figsize=(3.8 * len(_PANELS), 3.8), sharey=True, layout="constrained"
        )
        score_axes = [axis.twinx() for axis in axes]
        for right in score_axes[1:]:
            right.sharey(score_axes[0])
        for axis, right, panel in zip(axes, score_axes, _PANELS, strict=True):
            steps = [result for result in results if result.cell.key[:2] == panel]
            _draw_panel(axis, right, steps, graphs)
            axis.set_title(_PANELS[panel])
            axis.set_xlabel(f"{'added' if panel[0] == 'add' else 'removed'}, % of the edges")
        canvas.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, frameon=False
        )
        canvas.legend(
            *score_axes[0].get_legend_handles_labels(), loc="outside lower right", frameon=False
        )
        axes[0].set_ylabel("edges")
        score_axes[-1].set_ylabel("test micro-F1 of a GCN, %", color=GREEN)
        for right in score_axes[:-1]:
            right.tick_params(labelright=False)
        write_picture(canvas, path)


def _edge_counts(result: CellResult, graphs: Graphs) -> dict[str, int]:
    """Edges within and between classes of the graph that a cell trains on."""
    plan = result.cell.plan
    data = graphs.load(plan).data
    mender = plan.method.build(seed=plan.seed)
    assert isinstance(mender, GAugM)
    return edge_counts(undirected_pairs(mender(data).edge_index), data.y)


def _draw_panel(axis: Axes, right: Axes, steps: Sequence[CellResult], graphs: Graphs) -> None:
    percent = [100 * step.cell.key[2] for step in steps]
    counts = [_edge_counts(step, graphs) for step in steps]
    axis.stackplot(
        percent,
        np.array([count["intra_edges"] for count in counts]),
        np.array([count["inter_edges"] for count in counts]),
        labels=["edges within a class", "edges between classes"],
        colors=[BLUE, ORANGE],
        alpha=0.55,
    )
    scored = [(x, step.scores) for x, step in zip(percent, steps, strict=True) if step.scores]
    right.errorbar(
        [x for x, _ in scored],
        [statistics.fmean(scores) for _, scores in scored],
        yerr=[spread(scores) for _, scores in scored],
        color=GREEN,
        marker="o",
        markersize=4,
        label="test micro-F1 of a GCN",
    )
    axis.spines["top"].set_visible(False)
    right.spines["top"].set_visible(False)
