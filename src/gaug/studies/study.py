"""The base of tables and figures: the runs they need, and how records become numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaug.data.catalog.entries import find_entry
from gaug.data.folders import data_root
from gaug.drawing.table import Table
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.studies.chooser import Chooser, Chosen, Given
from gaug.studies.outcome import Outcome
from gaug.studies.scope import Scope, StudyOptions

if TYPE_CHECKING:
    from gaug.runs.graphs import Graphs

# More commands than these are not all printed below a table.
_SHOWN_COMMANDS = 3


@dataclass(frozen=True)
class Cell:
    """Runs that a study needs: one number of a table, or one point of a figure.

    Attributes:
        key: Its position in the study.
        plan: What to run; settings that the chooser decides are still open.
        runs: Numbers of the runs.
        chooser: How open settings are chosen, on validation nodes, before anything else.
        settings: Given settings to show, where they differ from the defaults.
        keep_history: Whether records must have one row per epoch.
        searched: What to choose the settings with, if not with ``plan`` itself.
    """

    key: tuple[Any, ...]
    plan: Plan
    runs: Sequence[int]
    chooser: Chooser = field(default_factory=Given)
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep_history: bool = False
    searched: Plan | None = None

    @property
    def search_plan(self) -> Plan:
        """What its settings are chosen with."""
        return self.plan if self.searched is None else self.searched


@dataclass(frozen=True)
class CellResult:
    """A cell with its runs.

    Attributes:
        cell: The cell.
        records: Its runs so far.
        chosen: The settings that were chosen; None until then.
        failure: Why runs are missing.
    """

    cell: Cell
    records: Sequence[RunRecord] = ()
    chosen: Chosen | None = None
    failure: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Given and chosen settings that differ from the defaults."""
        return {**self.cell.settings, **(self.chosen.settings if self.chosen else {})}

    @property
    def trials(self) -> int:
        """Number of settings among which they were chosen; 0 without a choice."""
        return self.chosen.trials if self.chosen else 0

    @property
    def scores(self) -> list[float]:
        """Test micro-F1 in percent of each run."""
        return [record.test_score for record in self.records if record.test_score is not None]

    @property
    def val_scores(self) -> list[float]:
        """Validation micro-F1 in percent of each run."""
        return [record.val_score for record in self.records if record.val_score is not None]


class Study(ABC):
    """A table or figure of the paper, or another question that takes many runs.

    Attributes:
        name: Its name on the command line.
        title: What it shows, in one line.
        scope: Its options.
        comes_last: Whether its cells come after those of all others, where all studies are run.
    """

    name: str
    title: str
    scope: Scope = Scope()
    comes_last: bool = False

    @abstractmethod
    def cells(self, options: StudyOptions) -> list[Cell]:
        """The runs that it needs."""

    def outcomes(
        self, results: Sequence[CellResult], graphs: Graphs, options: StudyOptions
    ) -> list[Outcome]:
        """Its cells as plain values; a study that shows more than scores adds them as facts.

        Args:
            results: Its cells with their runs.
            graphs: Where graphs come from.
            options: The options with which the cells were made.
        """
        return [Outcome.of(result) for result in results]

    @abstractmethod
    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """Its numbers.

        Args:
            outcomes: The outcomes of its cells, just made or from a record.
        """

    def full_table(self, outcomes: Sequence[Outcome]) -> Table:
        """Its numbers, and the commands that made them."""
        table = self.table(outcomes)
        commands = dict.fromkeys(outcome.command for outcome in outcomes if outcome.command)
        if not commands:
            return table
        shown = [f"`{one}`" for one in commands]
        if len(shown) > _SHOWN_COMMANDS:
            rest = f"{len(shown) - 1} others like it; the record has the command of each cell"
            return table.with_note(f"Made by {shown[0]} and {rest}.")
        return table.with_note(f"Made by {' and '.join(shown)}.")

    def draw(self, outcomes: Sequence[Outcome], path: Path) -> None:
        """Write its picture, if its scope has one.

        Args:
            outcomes: The outcomes of its cells, just made or from a record.
            path: Output file; the extension determines the format.
        """
        raise NotImplementedError(f"{self.name} has no picture.")


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
