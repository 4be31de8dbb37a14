"""The paper's table 3: GAug-O on Cora with a part left out."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.drawing.table import Field, Scores, Table
from gaug.models.registry import MODELS
from gaug.runs.graphs import Graphs
from gaug.studies.paper import published_settings, table3_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study, failures, paper_plan

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
        published = self.scope.source_of_settings(options) == "published"
        settings = published_settings(GRAPH, model, method) if published else {}
        if method == "gaug-o":
            settings["variant"] = variant
        plan = paper_plan(GRAPH, model, method, settings, options)
        return Cell((variant, model), plan, self.scope.run_numbers(options), settings=settings)

    def table(self, results: Sequence[CellResult], graphs: Graphs) -> Table:
        """One row per variant, one column per model."""
        by_key = {result.cell.key: result for result in results}
        models = list(dict.fromkeys(model for _, model in by_key))
        rows: list[list[Field]] = []
        for variant, title in VARIANTS.items():
            cells = [by_key[variant, model] for model in models]
            papers = [table3_score(variant, model) for model in models]
            rows.append(
                [
                    title,
                    *(
                        Scores(cell.scores, paper, cell.failure)
                        for cell, paper in zip(cells, papers, strict=True)
                    ),
                ]
            )
        runs = max(len(result.records) for result in results)
        notes = [
            f"Cora, test micro-F1 in percent, mean and sample standard deviation over {runs}"
            f" run{'' if runs == 1 else 's'}; in parentheses the paper's mean."
        ]
        if any("beta" in result.settings for result in results):
            notes.append(
                "Settings were published by the paper's authors for GAug-O, who chose them by test"
                " score."
            )
        header = ["variant", *map(MODELS.title, models)]
        return Table(self.title, header, rows, [*notes, *failures(results)])
