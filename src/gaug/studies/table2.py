"""The paper's table 2: every model and method on every graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaug.drawing.table import Scores, Table, with_best
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.studies.notes import best_note, failures, paper_tables, provenance, settings_tables
from gaug.studies.outcome import Outcome
from gaug.studies.paper import Score, table2_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study

_HEADINGS = ("graph", "model", "method")


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
        by_key = {outcome.key: outcome for outcome in outcomes}
        columns = [name for name in self.scope.graphs if any(name == key[0] for key in by_key)]
        rows = [
            (model, method)
            for model in self.scope.models
            for method in self.scope.methods
            if any((model, method) == key[1:] for key in by_key)
        ]

        def scores(key: tuple[Any, ...]) -> Scores | None:
            return by_key[key].beside(_paper(by_key[key])) if key in by_key else None

        return Table(
            self.title,
            ["model", "method", *columns],
            with_best(
                [
                    [
                        MODELS.title(model),
                        METHODS.title(method),
                        *(scores((graph, model, method)) for graph in columns),
                    ]
                    for model, method in rows
                ],
                block=lambda row: row[0],
            ),
            [*provenance(outcomes), best_note("model"), *failures(outcomes)],
            [
                *paper_tables(outcomes, _titles, _paper, _HEADINGS),
                *settings_tables(outcomes, _titles, _HEADINGS),
            ],
        )


def _paper(outcome: Outcome) -> Score | None:
    return table2_score(*outcome.key)


def _titles(key: tuple[Any, ...]) -> list[str]:
    graph, model, method = key
    return [graph, MODELS.title(model), METHODS.title(method)]
