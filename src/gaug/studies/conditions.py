"""How the runs of a study are done, the same for all of its experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gaug.choosing.grid import Settings
from gaug.data.catalog.entries import find_entry
from gaug.data.folders import data_root
from gaug.errors import ConfigError
from gaug.runs.executors import OnProgress
from gaug.runs.plan import Experiment, run_experiment
from gaug.runs.store import RunRecord, Store


@dataclass(frozen=True)
class Conditions:
    """Where runs go on record, how many there are, and what they share.

    Runs that are on record are taken over, so that an interrupted study goes on where it was.

    Attributes:
        store: Where runs are looked up and written.
        runs: Number of runs of each experiment.
        workers: Processes to spread the runs over.
        root: The data root.
        seed: Seed that the seeds of all runs derive from.
    """

    store: Store
    runs: int
    workers: int = 1
    root: Path | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ConfigError(f"runs must be at least 1, got {self.runs}.")

    def run(
        self,
        graph: str,
        model: str,
        method: str,
        settings: Settings,
        *,
        runs: int | None = None,
        keep_history: bool = False,
        on_progress: OnProgress | None = None,
    ) -> list[RunRecord]:
        """The runs of an experiment on the authors' split.

        Args:
            graph: Name in the catalog.
            model: Name of the model.
            method: Name of the method.
            settings: What differs from the defaults.
            runs: Another number of runs.
            keep_history: Whether records must have a row an epoch.
            on_progress: Called now and then with the number of runs done.
        """
        experiment = Experiment.of(
            graph,
            model=model,
            method=method,
            settings=settings,
            split=authors_split(graph, self.root),
            seed=self.seed,
        )
        runs = self.runs if runs is None else runs
        return run_experiment(
            experiment,
            runs=runs,
            workers=min(self.workers, runs),
            root=self.root,
            store=self.store,
            resume=True,
            keep_history=keep_history,
            on_progress=on_progress,
        )


def authors_split(graph: str, root: Path | None) -> str:
    """The authors' split where the data folder has it (``splits/NAME.npz``), else the default."""
    authors = data_root(root) / "splits" / f"{graph}.npz"
    return str(authors) if authors.is_file() else find_entry(graph).split
