"""The paper's table 6: GAug-M, tested on the modified and on the original graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaug.drawing.table import Scores, Table, with_best
from gaug.models.registry import MODELS
from gaug.studies.notes import (
    best_note,
    failures,
    paper_tables,
    provenance,
    settings_tables,
    taken_over_note,
)
from gaug.studies.outcome import Outcome
from gaug.studies.paper import Score, table6_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study

_HEADINGS = ("graph", "model", "method")

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
        by_key = {outcome.key: outcome for outcome in outcomes}
        columns = [name for name in self.scope.graphs if any(name == key[0] for key in by_key)]
        models = [name for name in self.scope.models if any(name == key[1] for key in by_key)]

        def scores(key: tuple[Any, ...]) -> Scores | None:
            return by_key[key].beside(_paper(by_key[key])) if key in by_key else None

        return Table(
            self.title,
            ["model", "method", *columns],
            with_best(
                [
                    [
                        MODELS.title(model),
                        title,
                        *(scores((graph, model, variant)) for graph in columns),
                    ]
                    for model in models
                    for variant, title in VARIANTS.items()
                ],
                block=lambda row: row[0],
            ),
            [
                *provenance(outcomes),
                "Both rows of GAug-M are trained on the modified graph, with the same settings.",
                *taken_over_note(outcomes, "on validation nodes of the modified graph"),
                best_note("model"),
                *failures(outcomes),
            ],
            [
                *paper_tables(outcomes, _titles, _paper, _HEADINGS),
                *settings_tables(outcomes, _titles, _HEADINGS),
            ],
        )


def _paper(outcome: Outcome) -> Score | None:
    return table6_score(*outcome.key)


def _titles(key: tuple[Any, ...]) -> list[str]:
    graph, model, variant = key
    return [graph, MODELS.title(model), VARIANTS[variant]]
