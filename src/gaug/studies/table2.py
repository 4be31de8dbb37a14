"""The paper's table 2: every model and method on every graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gaug.data.catalog import find_entry
from gaug.data.folders import data_root
from gaug.errors import ConfigError
from gaug.experiment import Experiment, run_experiment, spread, summarise
from gaug.store import RunRecord, Store
from gaug.studies.paper import Score, table2_score
from gaug.training.repeat import OnProgress

MODELS = ("gcn", "gsage", "gat", "jknet", "mlp")
GRAPHS = ("cora", "citeseer", "ppi", "blogcatalog", "flickr", "air-usa", "pubmed")
METHODS = ("none", "dropedge")

#: A cell whose run takes longer than this gets fewer runs.
SLOW_RUN_SECONDS = 30.0
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
    """A cell with its runs."""

    cell: Cell
    records: list[RunRecord]

    @property
    def mean(self) -> float:
        """Mean test micro-F1 in percent."""
        return float(summarise(self.records)["test_mean"])

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
    store: Store,
    *,
    runs: int,
    workers: int,
    root: Path | None,
    seed: int,
    on_progress: OnProgress | None = None,
) -> CellResult:
    """Do the runs of a cell that are not on record yet."""
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, got {runs}.")
    experiment = Experiment.of(
        cell.graph,
        model=cell.model,
        method=cell.method,
        split=table2_split(cell.graph, root),
        seed=seed,
    )

    def run(count: int) -> list[RunRecord]:
        return run_experiment(
            experiment,
            runs=count,
            workers=workers,
            root=root,
            store=store,
            resume=True,
            on_progress=on_progress,
        )

    (first,) = run(1)
    slow = first.seconds > SLOW_RUN_SECONDS
    return CellResult(cell, run(min(runs, SLOW_RUNS) if slow else runs))


def table2_split(graph: str, root: Path | None) -> str:
    """The authors' split where the data folder has it (``splits/NAME.npz``), else the default."""
    authors = data_root(root) / "splits" / f"{graph}.npz"
    return str(authors) if authors.is_file() else find_entry(graph).split
