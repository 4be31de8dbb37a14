"""The paper's table 2: every model and method on every graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaug.choosing.grid import Stage
from gaug.drawing.table import Scores, Table
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.runs.graphs import Graphs
from gaug.studies.notes import provenance, settings_tables
from gaug.studies.paper import published_settings, table2_score
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study, failures, paper_plan

#: What is searched for each method, stage by stage; the same on every graph and for every model.
SEARCHES: dict[str, tuple[Stage, ...]] = {
    "none": (),
    "dropedge": (Stage({"drop_fraction": (0.05, 0.2, 0.4, 0.6, 0.8)}),),
    "adaedge": (
        Stage(
            {"add_fraction": (0.05, 0.3), "remove_fraction": (0.0, 0.1, 0.3)},
            over=({"add_confidence": 0.5, "remove_confidence": 0.5},),
        ),
        Stage({"add_confidence": (0.5, 0.9), "remove_confidence": (0.5, 0.9)}),
        Stage({"order": ("add-first", "remove-first")}),
    ),
    "bgcn": (
        Stage({"prediction": ("class", "probabilities"), "anchor": (1.0, 4.0)}),
        Stage({"dropout_samples": (10, 0)}),
    ),
    "gaug-m": (
        Stage(
            {
                "predictor": (
                    "gae",
                    "gae+vgae",
                    "features",
                    "smoothed",
                    "features+smoothed",
                    "structure",
                ),
                "allocation": ("global", "per-node"),
            },
            # Only additions: the second stage decides whether to remove edges, too.
            over=(
                {"add_fraction": 0.1, "remove_fraction": 0.0},
                {"add_fraction": 0.5, "remove_fraction": 0.0},
                {"add_fraction": 1.0, "remove_fraction": 0.0},
            ),
        ),
        Stage({"add_fraction": (0.1, 0.5, 1.0), "remove_fraction": (0.0, 0.1, 0.3, 0.5)}),
    ),
    "gaug-o": (
        Stage({"alpha": (0.1, 0.3, 0.6, 1.0)}, over=({"patience": 50},)),
        Stage({"beta": (1.0, 3.0)}),
        Stage({"pretrain_classifier_epochs": (30, 200)}),
        Stage({"warmup": (0.0, 8.0)}),
    ),
}


class Table2(Study):
    """Every model and method on every graph, with the paper's numbers next to ours."""

    name = "table2"
    title = "Table 2"
    scope = STUDIES["table2"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """One per graph, model and method; methods do not apply to an MLP."""
        found = [
            self._cell(graph, model, method, options)
            for graph in self.scope.chosen(options, "graphs")
            for model in self.scope.chosen(options, "models")
            for method in self.scope.chosen(options, "methods")
            if model != "mlp" or method == "none"
        ]
        if not found:
            raise ConfigError("No cell is selected: an MLP uses no edges and has no methods.")
        return found

    def _cell(self, graph: str, model: str, method: str, options: StudyOptions) -> Cell:
        how = self.scope.source_of_settings(options)
        settings: dict[str, Any] = {}
        if how == "published":
            settings = published_settings(graph, model, method)
        plan = paper_plan(graph, model, method, settings, options)
        stages = SEARCHES[method] if how == "search" else ()
        return Cell((graph, model, method), plan, self.scope.run_numbers(options), stages, settings)

    def table(self, results: Sequence[CellResult], graphs: Graphs) -> Table:
        """One row per model and method, one column per graph."""
        by_key = {result.cell.key: result for result in results}
        columns = list(dict.fromkeys(graph for graph, _, _ in by_key))
        rows = list(dict.fromkeys((model, method) for _, model, method in by_key))
        return Table(
            self.title,
            ["model", "method", *columns],
            [
                [
                    MODELS.title(model),
                    METHODS.title(method),
                    *(_scores(by_key.get((graph, model, method))) for graph in columns),
                ]
                for model, method in rows
            ],
            [*provenance(results), *failures(results)],
            settings_tables(results, _titles),
        )


def _scores(result: CellResult | None) -> Scores | None:
    if result is None:
        return None
    return Scores(result.scores, table2_score(*result.cell.key), result.failure)


def _titles(key: tuple[Any, ...]) -> list[str]:
    graph, model, method = key
    return [graph, MODELS.title(model), METHODS.title(method)]
