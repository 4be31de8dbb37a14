"""The paper's table 3: GAug-O on Cora with a part left out."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.drawing.table import Table
from gaug.models.registry import MODELS
from gaug.studies.outcome import Outcome
from gaug.studies.paper import table3_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.score_table import Layout, score_table
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study

GRAPH = "cora"

#: The original graph, GAug-O with each of its parts left out, a control, and GAug-O.
VARIANTS = {
    "original": "original graph",
    "no-sampling": "no sampling",
    "rounding": "rounding",
    "no-edge-loss": "no edge loss",
    "random": "random edges",
    "full": "GAug-O",
}


class Table3(Study):
    """GAug-O on Cora with a part left out, with the paper's numbers next to ours."""

    name = "table3"
    title = "Table 3"
    scope = STUDIES["table3"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """Every variant with every model."""
        return [
            self._cell(variant, model, options)
            for model in self.scope.chosen(options, "models")
            for variant in VARIANTS
        ]

    def _cell(self, variant: str, model: str, options: StudyOptions) -> Cell:
        method = "none" if variant == "original" else "gaug-o"
        fixed = {} if variant == "original" else {"variant": variant}
        return paper_cell((variant, model), GRAPH, model, method, self.scope, options, fixed)

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per variant, one column per model."""
        layout = Layout(
            ("variant",),
            {(variant,): (title,) for variant, title in VARIANTS.items()},
            "model",
            {model: MODELS.title(model) for model in self.scope.models},
            key=lambda row, model: (*row, model),
            block=None,
        )
        return score_table(self.title, outcomes, layout, table3_score, [f"Graph: {GRAPH}."])
