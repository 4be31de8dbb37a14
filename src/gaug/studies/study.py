"""The base of tables and figures: the runs they need, and how records become numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaug.choosing.grid import Stage
from gaug.data.catalog.entries import find_entry
from gaug.data.folders import data_root
from gaug.drawing.table import Table
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.studies.scope import Scope, StudyOptions

if TYPE_CHECKING:
    from gaug.runs.graphs import Graphs


@dataclass(frozen=True)
class Cell:
    """Runs that a study needs: one number of a table, or one point of a figure.

    Attributes:
        key: Its position in the study.
        plan: What to run; searched settings are still open.
        runs: Numbers of the runs.
        stages: Stages of a search on validation nodes, done first.
        settings: Settings to show, where they differ from the defaults.
        keep_history: Whether records must have one row per epoch.
    """

    key: tuple[Any, ...]
    plan: Plan
    runs: Sequence[int]
    stages: Sequence[Stage] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep_history: bool = False


@dataclass(frozen=True)
class CellResult:
    """A cell with its runs.

    Attributes:
        cell: The cell.
        records: Its runs so far.
        settings: Chosen or given settings that differ from the defaults.
        trials: Number of settings tried in the search; 0 without a search.
        failure: Why runs are missing.
    """

    cell: Cell
    records: Sequence[RunRecord] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    trials: int = 0
    failure: str | None = None

    @property
    def scores(self) -> list[float]:
        """Test micro-F1 in percent of each run."""
        return [record.test_score for record in self.records if record.test_score is not None]

    @property
    def val_scores(self) -> list[float]:
        """Validation micro-F1 in percent of each run."""
        return [record.val_score for record in self.records if record.val_score is not None]


class Study(ABC):
    """A table or figure of the paper.

    Attributes:
        name: Its name on the command line.
        title: What it shows, in one line.
        scope: Its options.
    """

    name: str
    title: str
    scope: Scope = Scope()

    @abstractmethod
    def cells(self, options: StudyOptions) -> list[Cell]:
        """The runs that it needs."""

    @abstractmethod
    def table(self, results: Sequence[CellResult], graphs: Graphs) -> Table:
        """Its numbers.

        Args:
            results: Its cells with their runs.
            graphs: Where graphs come from.
        """

    def draw(self, results: Sequence[CellResult], graphs: Graphs, path: Path) -> None:
        """Write its picture, if its scope has one.

        Args:
            results: Its cells with their runs.
            graphs: Where graphs come from.
            path: Output file; the extension determines the format.
        """
        raise NotImplementedError(f"{self.name} has no picture.")


def failures(results: Sequence[CellResult]) -> list[str]:
    """Failed cells, one sentence each."""
    return [
        f"{', '.join(map(str, result.cell.key))}: {result.failure}"
        for result in results
        if result.failure
    ]


def paper_plan(
    graph: str, model: str, method: str, settings: Mapping[str, Any], options: StudyOptions
) -> Plan:
    """A plan on a graph of the catalog, with the split of the paper's authors if available.

    Their splits are in the data folder (``splits/NAME.npz``); otherwise the graph's own is used.
    """
    authors = data_root(options.root) / "splits" / f"{graph}.npz"
    split = str(authors) if authors.is_file() else find_entry(graph).split
    return Plan.of(
        graph, model=model, method=method, settings=settings, split=split, seed=options.seed
    )
