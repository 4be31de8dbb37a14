"""What choosing gains: ``auto``, searches and plain training on every graph at hand."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.data.catalog.entries import CATALOG
from gaug.data.config import SplitConfig
from gaug.data.folders import own_graphs
from gaug.data.source import GraphSource
from gaug.drawing.table import Table
from gaug.errors import ConfigError, DataError
from gaug.runs.plan import Plan
from gaug.studies.choices_summary import (
    HINDSIGHT,
    MLP,
    PLAIN,
    chosen_table,
    hindsight_table,
    places_of,
    score_rows,
    summary_table,
)
from gaug.studies.chooser import Given
from gaug.studies.notes import best_note, failures, provenance
from gaug.studies.outcome import Outcome
from gaug.studies.race_and_search import Race, Search
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.settling import preset_for
from gaug.studies.study import Cell, Study, paper_plan

#: What is searched in the row of the stacks.
STACKS = ("gaug-m+dropedge", "gaug-m+gaug-o", "adaedge+dropedge", "adaedge+gaug-o")
#: The split of your own graphs: shares of the labeled nodes of each class.
OWN_SPLIT = SplitConfig(train_fraction=0.1, val_fraction=0.2)


class Choices(Study):
    """Plain training, what ``auto`` takes, and the best settings of a search, on every graph.

    Args:
        budgets: Seconds of each race of ``auto``.
        trials: Trials of each search.
        search_seconds: Seconds of each search, its finalists among them.
    """

    name = "choices"
    title = "What choosing gains"
    scope = STUDIES["choices"].scope
    comes_last = True

    def __init__(
        self,
        budgets: Sequence[float] = (60.0, 300.0),
        trials: int = 30,
        search_seconds: float = 300.0,
    ) -> None:
        self.budgets = budgets
        self.trials = trials
        self.search_seconds = search_seconds

    def cells(self, options: StudyOptions) -> list[Cell]:
        """Every row on every graph with every model, and an MLP on every graph."""
        runs = self.scope.run_numbers(options)
        found = []
        for graph in self._graphs(options):
            found.append(Cell((graph, MLP, PLAIN), _plan_of(graph, MLP, options), runs))
            for model in self.scope.chosen(options, "models"):
                plan = _plan_of(graph, model, options)
                found.append(Cell((graph, model, PLAIN), plan, runs))
                for seconds in self.budgets:
                    key = (graph, model, f"auto-{seconds:g}")
                    found.append(Cell(key, plan, runs, Race(seconds)))
                for method in ("gaug-m", "gaug-o"):
                    found.append(self._searched((graph, model, method), plan, runs, (method,)))
                found.append(self._searched((graph, model, "stack"), plan, runs, STACKS))
        return found

    def _searched(
        self, key: tuple[str, str, str], plan: Plan, runs: Sequence[int], methods: tuple[str, ...]
    ) -> Cell:
        """A cell with the settings of a preset, if there is one, or else of a search."""
        plan = plan.with_method(methods[0])
        preset = preset_for(plan) if len(methods) == 1 else None
        if preset is None:
            return Cell(key, plan, runs, Search(methods, self.trials, self.search_seconds))
        chooser = Given("preset", preset.trials)
        return Cell(key, plan.with_settings(preset.texts), runs, chooser, dict(preset.settings))

    def _graphs(self, options: StudyOptions) -> Sequence[str]:
        """The graphs that are named, or else those at hand."""
        graphs = self.scope.chosen(options, "graphs")
        if options.graphs is not None:
            return graphs
        found = [graph for graph in graphs if _is_at_hand(graph, options)]
        if not found:
            raise DataError(
                "No graph is in the data folder. Fetch one with 'gaug datasets fetch NAME', or put"
                " a folder of your own into its folder 'own'."
            )
        return found

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per model and way to choose, one column per graph."""
        places = places_of(outcomes)
        graphs = list(dict.fromkeys(outcome.key[0] for outcome in outcomes))
        rows = score_rows(outcomes, graphs)
        return Table(
            self.title,
            ["model", "method", *graphs],
            rows,
            [
                *provenance(outcomes, paper=False),
                "auto: what it takes in so many seconds. Searched: the best settings of a search"
                " that is limited in trials and time; of the stacks, the best one. All of these are"
                " chosen on validation nodes.",
                f"{HINDSIGHT.capitalize()}: the row with the highest test score, the MLP's among"
                " them. That is no choice anybody could make, since it takes the labels of the"
                " test nodes.",
                *best_note(rows, "model"),
                *failures(outcomes),
            ],
            [summary_table(places), *chosen_table(outcomes), *hindsight_table(places)],
        )


def _source_of(graph: str, options: StudyOptions) -> GraphSource:
    own = own_graphs(options.root)
    return GraphSource.of(own[graph] if graph in own and graph not in CATALOG else graph)


def _plan_of(graph: str, model: str, options: StudyOptions) -> Plan:
    """A plan without augmentation."""
    if graph in CATALOG:
        return paper_plan(graph, model, PLAIN, {}, options)
    return Plan.of(
        _source_of(graph, options),
        model=model,
        split="stratified",
        split_config=OWN_SPLIT,
        seed=options.seed,
    )


def _is_at_hand(graph: str, options: StudyOptions) -> bool:
    try:
        _source_of(graph, options).check(options.root)
    except (ConfigError, DataError):
        return False
    return True
