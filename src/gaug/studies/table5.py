"""The paper's table 5: large graphs in mini-batches, and the whole graph at once beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaug.choosing.grid import Stage
from gaug.drawing.table import Table
from gaug.methods.registry import METHODS
from gaug.studies.chooser import Given, Grid
from gaug.studies.outcome import Outcome
from gaug.studies.paper import Score, table5_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.score_table import Layout, score_table
from gaug.studies.study import Cell, Study, paper_plan

MODEL = "gcn"

#: The mini-batches of each graph. The paper does not say how large its own were.
BATCHES: dict[str, dict[str, Any]] = {
    "pubmed": {"batch_size": 20},
    "ogbn-arxiv": {"batch_size": 1024, "fanout": 10},
}

#: How a cell is trained.
WAYS = {"mini-batch": "mini-batches", "full": "full batch"}

#: What is searched for each method, stage by stage; the same on every graph.
SEARCHES: dict[str, tuple[Stage, ...]] = {
    "none": (),
    "gaug-m": (
        Stage(
            {
                "predictor": ("gae", "vgae", "features", "smoothed", "features+smoothed"),
                "allocation": ("global", "per-node"),
            },
            over=(
                {"add_fraction": 0.1, "remove_fraction": 0.0},
                {"add_fraction": 0.5, "remove_fraction": 0.0},
            ),
        ),
        Stage({"add_fraction": (0.1, 0.5, 1.0), "remove_fraction": (0.0, 0.1, 0.3)}),
    ),
    "gaug-o": (
        Stage({"alpha": (0.1, 0.3, 0.6, 1.0)}, over=({"patience": 50},)),
        Stage({"beta": (1.0, 3.0)}),
        Stage({"pretrain_classifier_epochs": (30, 200)}),
    ),
}


class Table5(Study):
    """A GCN on large graphs with each method, with the paper's numbers next to ours."""

    name = "table5"
    title = "Table 5"
    scope = STUDIES["table5"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """Every method on every graph, in mini-batches and at once."""
        return [
            self._cell(graph, method, way, options)
            for graph in self.scope.chosen(options, "graphs")
            for method in self.scope.chosen(options, "methods")
            for way in WAYS
        ]

    def _cell(self, graph: str, method: str, way: str, options: StudyOptions) -> Cell:
        batches = BATCHES[graph] if way == "mini-batch" else {}
        plan = paper_plan(graph, MODEL, method, batches, options)
        searched = self.scope.source_of_settings(options) == "search" and SEARCHES[method]
        chooser = Grid(SEARCHES[method]) if searched else Given()
        return Cell((graph, method, way), plan, self.scope.run_numbers(options), chooser)

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per method and way of training, one column per graph."""
        layout = Layout(
            ("method", "training"),
            {
                (method, way): (METHODS.title(method), title)
                for method in self.scope.methods
                for way, title in WAYS.items()
            },
            "graph",
            {graph: graph for graph in self.scope.graphs},
            key=lambda row, graph: (graph, *row),
            block=1,
        )
        graphs = [graph for graph in self.scope.graphs if any(graph == o.key[0] for o in outcomes)]
        return score_table(self.title, outcomes, layout, _paper, [_note(graphs)])


def _note(graphs: Sequence[str]) -> str:
    batches = "; ".join(
        f"{graph}: " + ", ".join(f"{name}={value}" for name, value in BATCHES[graph].items())
        for graph in graphs
    )
    return (
        f"A GCN. Mini-batches: {batches}. The paper has mini-batches only. GAug-M's predictor"
        " was trained on the whole graph in both rows; the paper trained a VGAE in mini-batches"
        " (appendix C)."
    )


def _paper(graph: str, method: str, way: str) -> Score | None:
    return table5_score(graph, method) if way == "mini-batch" else None
