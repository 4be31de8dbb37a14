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
from gaug.errors import ConfigError, unknown_name
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord

if TYPE_CHECKING:
    from gaug.runs.graphs import Graphs

#: Where the settings of a method may come from: its defaults, the paper's authors, or a search.
SETTINGS = ("default", "published", "search")


@dataclass(frozen=True)
class StudyOptions:
    """What is asked of a study.

    Attributes:
        runs: Number of runs of each cell; None for the study's own.
        graphs: Only these graphs; None for all.
        models: Only these models; None for all.
        methods: Only these methods; None for all.
        settings: Where settings come from, one of `SETTINGS`; None for the study's own way.
        seed: Seed that the seeds of all runs derive from.
        root: The data root.
    """

    runs: int | None = None
    graphs: Sequence[str] | None = None
    models: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    settings: str | None = None
    seed: int = 0
    root: Path | None = None


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
        graphs: The graphs that it can be restricted to; likewise ``models`` and ``methods``.
        runs: Number of runs of each cell, where nobody says otherwise.
        settings: Where settings may come from; the first is its own way.
    """

    name: str
    title: str
    graphs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    runs: int = 30
    settings: tuple[str, ...] = ("default",)

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

    #: Writes its picture to a path, where it has one.
    draw: Any = None

    def check(self, options: StudyOptions) -> None:
        """Raise if something is asked that it does not have."""
        if options.runs is not None and options.runs < 1:
            raise ConfigError(f"runs must be at least 1, got {options.runs}.")
        for kind in ("graphs", "models", "methods"):
            asked, known = getattr(options, kind), getattr(self, kind)
            for name in asked or ():
                if not known:
                    raise ConfigError(f"{self.name} has no {kind} to choose from. Leave them out.")
                if name not in known:
                    raise unknown_name(kind.removesuffix("s"), name, known)
        if options.settings is not None and options.settings not in self.settings:
            if options.settings not in SETTINGS:
                raise unknown_name("settings", options.settings, SETTINGS)
            raise ConfigError(
                f"{self.name} takes settings {' or '.join(self.settings)}, got {options.settings}."
            )

    def chosen(self, options: StudyOptions, kind: str) -> tuple[str, ...]:
        """The graphs, models or methods that are asked for."""
        asked = getattr(options, kind)
        known: tuple[str, ...] = getattr(self, kind)
        return known if asked is None else tuple(asked)

    def run_numbers(self, options: StudyOptions) -> range:
        """The numbers of the runs of a cell."""
        return range(self.runs if options.runs is None else options.runs)


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
