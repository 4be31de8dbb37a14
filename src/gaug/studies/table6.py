"""The paper's table 6: GAug-M, tested on the modified and on the original graph."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.drawing.table import Table
from gaug.models.registry import MODELS
from gaug.studies.notes import taken_over_note
from gaug.studies.outcome import Outcome
from gaug.studies.paper import table6_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.score_table import Layout, score_table
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study

#: What is compared.
VARIANTS = {
    "none": "original",
    "modified": "GAug-M",
    "original": "GAug-M, tested on the original graph",
}


class Table6(Study):
    """GAug-M with every model on every graph, tested on the modified and on the original graph."""

    name = "table6"
    title = "Table 6"
    scope = STUDIES["table6"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """Every variant with every model on every graph; both tests have the same settings."""
        return [
            paper_cell(
                (graph, model, variant),
                graph,
                model,
                "none" if variant == "none" else "gaug-m",
                self.scope,
                options,
                {"inference": "original"} if variant == "original" else {},
            )
            for graph in self.scope.chosen(options, "graphs")
            for model in self.scope.chosen(options, "models")
            for variant in VARIANTS
        ]

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per model and variant, one column per graph."""
        layout = Layout(
            ("model", "method"),
            {
                (model, variant): (MODELS.title(model), title)
                for model in self.scope.models
                for variant, title in VARIANTS.items()
            },
            "graph",
            {graph: graph for graph in self.scope.graphs},
            key=lambda row, graph: (graph, *row),
        )
        notes = [
            "Both rows of GAug-M are trained on the modified graph, with the same settings.",
            *taken_over_note(outcomes, "on validation nodes of the modified graph"),
        ]
        return score_table(self.title, outcomes, layout, table6_score, notes)
