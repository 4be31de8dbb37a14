"""All studies together: cheap cells first, and what several studies need is run once."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gaug.choosing.limits import TRIAL_RUNS
from gaug.data.splits import Split
from gaug.drawing.table import Field, Table
from gaug.errors import GaugError
from gaug.runs.executor import Executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.studies.chooser import Given
from gaug.studies.cost import KnownSeconds, cell_seconds, duration, remaining
from gaug.studies.engine import OnWork, run_cells
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study

#: Cells that take up to so many seconds are finished before any that take longer is begun.
TIERS = (60.0, 600.0, 3600.0, math.inf)


@dataclass(frozen=True)
class Part:
    """A study with its cells.

    Attributes:
        study: The study.
        cells: Its cells.
        failure: Why it has none, such as a missing graph.
    """

    study: Study
    cells: Sequence[Cell]
    failure: str | None = None


def gather(studies: Sequence[Study], options: StudyOptions) -> list[Part]:
    """The cells of several studies; one that cannot be made does not stop the others."""
    parts = []
    for study in studies:
        try:
            parts.append(Part(study, study.cells(options)))
        except GaugError as error:
            parts.append(Part(study, (), str(error)))
    return parts


def run_parts(
    parts: Sequence[Part],
    *,
    store: Store,
    graphs: Graphs,
    executor: Executor | None = None,
    trial_runs: int = TRIAL_RUNS,
    time_budget: float = math.inf,
    on_work: OnWork | None = None,
) -> list[list[CellResult]]:
    """Run what the store lacks, and return the cells of each part with their runs.

    Cells of all parts are ordered by what they take, those of studies that come last after all
    others. Cells with the same runs are run once.

    Args:
        parts: The studies with their cells.
        store: Where runs are looked up and recorded.
        graphs: Where graphs come from.
        executor: Where to run; by default in this process.
        trial_runs: Runs of each setting in a search.
        time_budget: Seconds after which no new run starts; finished runs are returned.
        on_work: Called regularly with the amount of work done.
    """
    deadline = time.monotonic() + time_budget
    wanted = [cell for part in parts for cell in part.cells]
    shared = _share(wanted)
    found: dict[tuple[Any, ...], CellResult] = {}
    done = 0.0
    known = store.mean_seconds()
    total = sum(cell_seconds(cell, known, trial_runs) for cell in shared.values())
    early = {_identity(cell) for part in parts if not part.study.comes_last for cell in part.cells}
    groups = [[], []]  # type: list[list[Cell]]
    for identity, cell in shared.items():
        groups[identity not in early].append(cell)
    for tier in (tier for group in groups for tier in _tiers(group, known, trial_runs)):
        seconds = sum(cell_seconds(cell, known, trial_runs) for cell in tier)

        def tell(part: float, whole: float, done: float = done, seconds: float = seconds) -> None:
            if on_work is not None:
                on_work(done + (seconds * part / whole if whole else seconds), total)

        results = run_cells(
            tier,
            store=store,
            graphs=graphs,
            executor=executor,
            trial_runs=trial_runs,
            time_budget=max(0.0, deadline - time.monotonic()),
            on_work=tell,
        )
        found |= {result.cell.key: result for result in results}
        done += seconds
    return [[_own(cell, found[_identity(cell)]) for cell in part.cells] for part in parts]


def overview(
    parts: Sequence[Part],
    results: Sequence[Sequence[CellResult]],
    known: KnownSeconds,
    trial_runs: int,
) -> Table:
    """What is there of each study, what is missing, and what it would take.

    Args:
        parts: The studies with their cells.
        results: Their cells with their runs.
        known: What runs on record took.
        trial_runs: Runs of each setting in a search.
    """
    rows: list[list[Field]] = []
    notes = []
    open_cells: dict[tuple[Any, ...], float] = {}
    for part, cells in zip(parts, results, strict=True):
        missing = [remaining(cell, known, trial_runs) for cell in cells]
        seconds = sum(one.seconds for one in missing)
        finished = sum(cell.failure is None for cell in cells)
        rows.append(
            [
                part.study.name,
                len(cells),
                finished,
                sum(one.runs for one in missing),
                duration(seconds) if seconds else None,
            ]
        )
        for cell, one in zip(cells, missing, strict=True):
            if one.runs:
                identity = _identity(cell.cell)
                open_cells[identity] = max(one.seconds, open_cells.get(identity, 0.0))
        failures = {cell.failure for cell in cells if cell.failure and not _is_of_time(cell)}
        failures |= {part.failure} if part.failure else set()
        notes += [f"{part.study.name}: {failure}" for failure in sorted(failures)]
    total = sum(open_cells.values())
    ending = f"about {duration(total)} with one worker" if total else "nothing"
    notes.append(f"To finish it all takes {ending}; runs that several studies share count once.")
    header = ["study", "cells", "finished", "missing runs", "to finish"]
    details = [_schedule(list(open_cells.values()))] if open_cells else []
    return Table("Tables and figures", header, rows, notes, details)


def _schedule(seconds: Sequence[float]) -> Table:
    """Missing cells in the order in which they are run, by what they take."""
    rows: list[list[Field]] = []
    least = 0.0
    for most in TIERS:
        own = [one for one in seconds if least < one <= most]
        name = f"up to {duration(most)}" if most < math.inf else "longer"
        rows.append([name, len(own), duration(sum(own)) if own else None])
        least = most
    return Table("Schedule", ["a cell takes", "missing cells", "all of them"], rows)


def _is_of_time(result: CellResult) -> bool:
    return (result.failure or "").endswith("in the time given")


def _tiers(cells: Sequence[Cell], known: KnownSeconds, trial_runs: int) -> list[list[Cell]]:
    """Cells by what they take, cheap ones first."""
    seconds = {cell.key: cell_seconds(cell, known, trial_runs) for cell in cells}
    tiers: list[list[Cell]] = [[] for _ in TIERS]
    for cell in sorted(cells, key=lambda cell: seconds[cell.key]):
        tiers[next(i for i, most in enumerate(TIERS) if seconds[cell.key] <= most)].append(cell)
    return [tier for tier in tiers if tier]


def _share(cells: Sequence[Cell]) -> dict[tuple[Any, ...], Cell]:
    """One cell for all with the same runs, by their identity, which is also its key."""
    shared: dict[tuple[Any, ...], Cell] = {}
    for cell in cells:
        identity = _identity(cell)
        runs = {*cell.runs, *(shared[identity].runs if identity in shared else ())}
        shared[identity] = dataclasses.replace(cell, key=identity, runs=sorted(runs))
    return shared


def _own(cell: Cell, result: CellResult) -> CellResult:
    """A cell with its own part of shared runs."""
    records = [record for record in result.records if record.run in cell.runs]
    own = dataclasses.replace(
        result,
        cell=cell,
        records=records,
        failure=None if len(records) == len(cell.runs) else result.failure,
    )
    # Cells may share runs with given settings and tell otherwise where these come from.
    if isinstance(cell.chooser, Given):
        own = dataclasses.replace(own, chosen=cell.chooser.chosen)
    return own


def _identity(cell: Cell) -> tuple[Any, ...]:
    """What cells with the same runs have in common, apart from how many there are."""
    return (
        _plan_identity(cell.plan),
        _plan_identity(cell.search_plan),
        "given" if isinstance(cell.chooser, Given) else repr(cell.chooser),
        cell.keep_history,
    )


def _plan_identity(plan: Plan) -> str:
    split = plan.split.hash if isinstance(plan.split, Split) else plan.split
    parts = (plan.model.name, plan.method.name, plan.identifying, split, plan.seed)
    return repr((getattr(plan.graph, "name", id(plan.graph)), parts))
