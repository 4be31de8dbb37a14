"""The paper's table 2: every model and method on every graph."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.drawing.table import Table
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.studies.outcome import Outcome
from gaug.studies.paper import table2_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.score_table import Layout, score_table
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study


class Table2(Study):
    """Every model and method on every graph, with the paper's numbers next to ours."""

    name = "table2"
    title = "Table 2"
    scope = STUDIES["table2"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """One per graph, model and method; methods do not apply to an MLP."""
        found = [
            paper_cell((graph, model, method), graph, model, method, self.scope, options)
            for graph in self.scope.chosen(options, "graphs")
            for model in self.scope.chosen(options, "models")
            for method in self.scope.chosen(options, "methods")
            if model != "mlp" or method == "none"
        ]
        if not found:
            raise ConfigError("No cell is selected: an MLP uses no edges and has no methods.")
        return found

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per model and method, one column per graph."""
        layout = Layout(
            ("model", "method"),
            {
                (model, method): (MODELS.title(model), METHODS.title(method))
                for model in self.scope.models
                for method in self.scope.methods
            },
            "graph",
            {graph: graph for graph in self.scope.graphs},
            key=lambda row, graph: (graph, *row),
        )
        return score_table(self.title, outcomes, layout, table2_score)
