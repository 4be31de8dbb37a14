"""The paper's table 2: every model and method on every graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gaug.choosing.grid import Choice, Settings, Stage, choose_settings, count_trials
from gaug.errors import ConfigError
from gaug.runs.executors import OnProgress
from gaug.runs.plan import spread, summarize
from gaug.runs.store import RunRecord
from gaug.studies.conditions import Conditions
from gaug.studies.paper import Score, table2_score

MODELS = ("gcn", "gsage", "gat", "jknet", "mlp")
GRAPHS = ("cora", "citeseer", "ppi", "blogcatalog", "flickr", "air-usa", "pubmed")

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
            # Additions alone: whether to remove edges as well is another question.
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
METHODS = tuple(SEARCHES)

#: Runs of each setting that a search tries; the chosen one goes on from there.
TRIAL_RUNS = 3

#: A cell whose run takes longer than this gets fewer runs.
SLOW_RUN_SECONDS = 60.0
SLOW_RUNS = 10


@dataclass(frozen=True)
class Cell:
    """One cell of the table: which experiment it shows."""

    graph: str
    model: str
    method: str

    @property
    def paper(self) -> Score | None:
        """The paper's mean and deviation."""
        return table2_score(self.graph, self.model, self.method)


@dataclass(frozen=True)
class CellResult:
    """A cell with its runs.

    Attributes:
        cell: Which cell.
        records: Its runs.
        settings: What differs from the defaults.
        choice: How the settings were chosen, where they were.
    """

    cell: Cell
    records: list[RunRecord]
    settings: Settings = field(default_factory=dict)
    choice: Choice | None = None

    @property
    def mean(self) -> float:
        """Mean test micro-F1 in percent."""
        return float(summarize(self.records)["test_mean"])

    @property
    def deviation(self) -> float:
        """Its sample standard deviation."""
        return spread([record.test_score for record in self.records])


def table2_cells(
    graphs: Sequence[str], models: Sequence[str], methods: Sequence[str]
) -> list[Cell]:
    """The cells of a part of the table, graph by graph; a method changes nothing for an MLP."""
    return [
        Cell(graph, model, method)
        for graph in graphs
        for model in models
        for method in methods
        if model != "mlp" or method == "none"
    ]


def run_cell(
    cell: Cell,
    conditions: Conditions,
    *,
    trial_runs: int = TRIAL_RUNS,
    settings: Settings | None = None,
    on_step: OnProgress | None = None,
) -> CellResult:
    """Choose the settings of a cell on validation nodes, then do the runs that it still lacks.

    Args:
        cell: Which cell.
        conditions: How runs are done.
        trial_runs: Runs of each setting that the search tries.
        settings: What to take without a search.
        on_step: Called with how many of the trials and runs are done; see `count_steps`.
    """
    if trial_runs < 1:
        raise ConfigError(f"trial_runs must be at least 1, got {trial_runs}.")

    def run(settings: Settings, count: int, tell: OnProgress | None = None) -> list[RunRecord]:
        return conditions.run(
            cell.graph, cell.model, cell.method, settings, runs=count, on_progress=tell
        )

    def tell_runs(done: float) -> None:
        if on_step is not None:
            on_step(count_trials(stages) + done)

    stages = SEARCHES[cell.method] if settings is None else ()
    choice = None
    if stages:
        tried = min(conditions.runs, trial_runs)
        choice = choose_settings(stages, lambda settings: run(settings, tried), on_step)
        settings = choice.settings
    settings = settings or {}
    (first,) = run(settings, 1)
    slow = first.seconds > SLOW_RUN_SECONDS
    count = min(conditions.runs, SLOW_RUNS) if slow else conditions.runs
    return CellResult(cell, run(settings, count, tell_runs), settings, choice)


def count_steps(cell: Cell, runs: int, *, searched: bool = True) -> int:
    """Trials and runs of a cell."""
    return (count_trials(SEARCHES[cell.method]) if searched else 0) + runs
