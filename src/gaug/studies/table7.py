"""The paper's table 7: deeper GNNs on Cora, plain, with GAug-M and with GAug-O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaug.drawing.table import Scores, Table, with_best
from gaug.methods.registry import METHODS
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
from gaug.studies.paper import Score, table7_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study

GRAPH = "cora"
_HEADINGS = ("layers", "model", "method")

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
        by_key = {outcome.key: outcome for outcome in outcomes}
        columns = [name for name in self.scope.models if any(name == key[1] for key in by_key)]
        methods = [name for name in self.scope.methods if any(name == key[2] for key in by_key)]

        def scores(key: tuple[Any, ...]) -> Scores | None:
            return by_key[key].beside(_paper(by_key[key])) if key in by_key else None

        return Table(
            self.title,
            ["layers", "method", *map(MODELS.title, columns)],
            with_best(
                [
                    [
                        str(depth),
                        METHODS.title(method),
                        *(scores((depth, model, method)) for model in columns),
                    ]
                    for depth in DEPTHS
                    for method in methods
                ],
                block=lambda row: row[0],
            ),
            [
                *provenance(outcomes),
                "Cora. By default GCN, GraphSAGE and GAT have 2 layers and JK-Net has 3.",
                *taken_over_note(outcomes, "with the default number of layers"),
                best_note("number of layers"),
                *failures(outcomes),
            ],
            [
                *paper_tables(outcomes, _titles, _paper, _HEADINGS),
                *settings_tables(outcomes, _titles, _HEADINGS),
            ],
        )


def _paper(outcome: Outcome) -> Score | None:
    return table7_score(*outcome.key)


def _titles(key: tuple[Any, ...]) -> list[str]:
    depth, model, method = key
    return [str(depth), MODELS.title(model), METHODS.title(method)]
