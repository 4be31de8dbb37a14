"""The paper's table 7: deeper GNNs on Cora, plain, with GAug-M and with GAug-O."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.drawing.table import Table
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.studies.notes import taken_over_note
from gaug.studies.outcome import Outcome
from gaug.studies.paper import table7_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.score_table import Layout, score_table
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study

GRAPH = "cora"

#: Numbers of layers; ``default`` is 2, and 3 for JK-Net.
DEPTHS = ("default", 4, 6, 8)


class Table7(Study):
    """Deeper GNNs on Cora, plain, with GAug-M and with GAug-O."""

    name = "table7"
    title = "Table 7"
    scope = STUDIES["table7"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """Every depth with every model and method; all depths have the settings of the default."""
        return [
            paper_cell(
                (depth, model, method),
                GRAPH,
                model,
                method,
                self.scope,
                options,
                {} if depth == "default" else {"layers": depth},
            )
            for depth in DEPTHS
            for model in self.scope.chosen(options, "models")
            for method in self.scope.chosen(options, "methods")
        ]

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per depth and method, one column per model."""
        layout = Layout(
            ("layers", "method"),
            {
                (depth, method): (str(depth), METHODS.title(method))
                for depth in DEPTHS
                for method in self.scope.methods
            },
            "model",
            {model: MODELS.title(model) for model in self.scope.models},
            key=lambda row, model: (row[0], model, row[1]),
        )
        notes = [
            "Cora. By default GCN, GraphSAGE and GAT have 2 layers and JK-Net has 3.",
            *taken_over_note(outcomes, "with the default number of layers"),
        ]
        return score_table(self.title, outcomes, layout, table7_score, notes)
