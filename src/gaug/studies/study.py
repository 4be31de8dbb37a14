"""What a table or figure of the paper is: which runs it needs, and how it is drawn from records."""

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
        key: Its place in the study.
        plan: What to run; settings that are searched are still open.
        runs: Numbers of the runs.
        stages: What is searched on validation nodes first.
        settings: What differs from the defaults, to be shown.
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
        cell: Which cell.
        records: Its runs so far.
        settings: What differs from the defaults, chosen or given.
        trials: How many settings it was chosen from; 0 where it was not.
        failure: Why there are fewer runs than there should be.
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
        title: What it shows, in a line.
        scope: What it can be asked for.
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
        """Write its picture, where its scope says that it has one.

        Args:
            results: Its cells with their runs.
            graphs: Where graphs come from.
            path: Where to; the ending decides the format.
        """
        raise NotImplementedError(f"{self.name} has no picture.")


def failures(results: Sequence[CellResult]) -> list[str]:
    """What could not be run, one sentence for each cell."""
    return [
        f"{', '.join(map(str, result.cell.key))}: {result.failure}"
        for result in results
        if result.failure
    ]


def paper_plan(
    graph: str, model: str, method: str, settings: Mapping[str, Any], options: StudyOptions
) -> Plan:
    """A plan on a graph of the catalog, split as by the paper's authors where that is at hand.

    Their splits are in the data folder (``splits/NAME.npz``); otherwise the graph's own is taken.
    """
    authors = data_root(options.root) / "splits" / f"{graph}.npz"
    split = str(authors) if authors.is_file() else find_entry(graph).split
    return Plan.of(
        graph, model=model, method=method, settings=settings, split=split, seed=options.seed
    )
