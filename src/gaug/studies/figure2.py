"""The paper's figure 2: edges added and removed on Cora, as learned and at random."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gaug.drawing.picture import BLUE, GREEN, ORANGE, draw_band, picture
from gaug.drawing.table import Field, Table
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_counts
from gaug.methods.gaug_m.method import GAugM
from gaug.runs.graphs import Graphs
from gaug.studies.notes import failures, runs_text
from gaug.studies.outcome import Outcome
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study, paper_plan

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

    def outcomes(
        self, results: Sequence[CellResult], graphs: Graphs, options: StudyOptions
    ) -> list[Outcome]:
        """With the edges of each changed graph by kind."""
        return [
            Outcome.of(result, **(_edge_counts(result, graphs) if result.records else {}))
            for result in results
        ]

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per step."""
        rows: list[list[Field]] = []
        for outcome in outcomes:
            action, predictor, share = outcome.key
            rows.append(
                [
                    _PANELS[action, predictor],
                    f"{share:.0%}",
                    outcome.facts.get("intra_edges"),
                    outcome.facts.get("inter_edges"),
                    outcome.beside(None),
                ]
            )
        header = ["change", "share of the edges", "within a class", "between classes", "GCN"]
        note = (
            "Cora; edges are added and removed in the order of a GAE's scores, or at random. GCN:"
            " test micro-F1 in percent, mean and sample standard deviation over"
            f" {runs_text(outcomes)}, trained and tested on the changed graph."
        )
        return Table(self.title, header, rows, [note, *failures(outcomes)])

    def draw(self, outcomes: Sequence[Outcome], path: Path) -> None:
        """Write the picture: edges by kind as areas, the GCN's score as a line with its spread."""
        with picture(path, 1, len(_PANELS), width=3.8, height=3.8, sharey=True) as (canvas, grid):
            axes = list(grid.flat)
            score_axes = [axis.twinx() for axis in axes]
            for right in score_axes[1:]:
                right.sharey(score_axes[0])
            for axis, right, panel in zip(axes, score_axes, _PANELS, strict=True):
                steps = [step for step in outcomes if step.key[:2] == panel and step.facts]
                _draw_panel(axis, right, steps)
                axis.set_title(_PANELS[panel])
                axis.set_xlabel(f"{'added' if panel[0] == 'add' else 'removed'}, % of the edges")
            canvas.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
            canvas.legend(*score_axes[0].get_legend_handles_labels(), loc="outside lower right")
            axes[0].set_ylabel("edges")
            score_axes[-1].set_ylabel("test micro-F1 of a GCN, %", color=GREEN)
            for right in score_axes[:-1]:
                right.tick_params(labelright=False)


def _edge_counts(result: CellResult, graphs: Graphs) -> dict[str, int]:
    """Edges within and between classes of the graph that a cell trains on."""
    plan = result.cell.plan
    data = graphs.load(plan).data
    mender = plan.method.build(seed=plan.seed)
    assert isinstance(mender, GAugM)
    return edge_counts(undirected_pairs(mender(data).edge_index), data.y)


def _draw_panel(axis: Axes, right: Axes, steps: Sequence[Outcome]) -> None:
    percent = [100 * step.key[2] for step in steps]
    axis.stackplot(
        percent,
        np.array([step.facts["intra_edges"] for step in steps]),
        np.array([step.facts["inter_edges"] for step in steps]),
        labels=["edges within a class", "edges between classes"],
        colors=[BLUE, ORANGE],
        alpha=0.55,
    )
    draw_band(right, percent, [step.scores for step in steps], GREEN, "test micro-F1 of a GCN")
    right.spines["right"].set_visible(True)
