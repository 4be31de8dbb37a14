"""The paper's table 3: GAug-O on Cora with a part left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaug.drawing.table import Field, Table, with_best
from gaug.models.registry import MODELS
from gaug.studies.notes import failures, paper_tables, runs_text, settings_tables
from gaug.studies.outcome import Outcome
from gaug.studies.paper import Score, table3_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study

GRAPH = "cora"
_HEADINGS = ("variant", "model")

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
        by_key = {outcome.key: outcome for outcome in outcomes}
        models = [name for name in self.scope.models if ("full", name) in by_key]
        rows: list[list[Field]] = []
        for variant, title in VARIANTS.items():
            cells = [by_key[variant, model] for model in models]
            rows.append([title, *(cell.beside(_paper(cell)) for cell in cells)])
        notes = [
            "Cora, test micro-F1 in percent, mean and sample standard deviation over"
            f" {runs_text(outcomes)}; in parentheses the paper's mean.",
            "Bold: the best of each column.",
        ]
        return Table(
            self.title,
            ["variant", *map(MODELS.title, models)],
            with_best(rows, block=lambda row: None),
            [*notes, *failures(outcomes)],
            [
                *paper_tables(outcomes, _titles, _paper, _HEADINGS),
                *settings_tables(outcomes, _titles, _HEADINGS),
            ],
        )


def _paper(outcome: Outcome) -> Score | None:
    return table3_score(*outcome.key)


def _titles(key: tuple[Any, ...]) -> list[str]:
    variant, model = key
    return [VARIANTS[variant], MODELS.title(model)]
