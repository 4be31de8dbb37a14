"""What cells take: to run the cheap ones first, and to say what the missing ones would take."""

from __future__ import annotations

from collections.abc import Mapping

from gaug.runs.estimated_seconds import estimated_seconds
from gaug.studies.chooser import Effort
from gaug.studies.study import Cell, CellResult

#: A cell whose run takes longer than this gets fewer runs.
SLOW_RUN_SECONDS = 30.0
SLOW_RUNS = 10

#: Mean seconds of a run on record, by graph, model and method; see `Store.mean_seconds`.
KnownSeconds = Mapping[tuple[str, str, str], float]


def seconds_per_run(cell: Cell, known: KnownSeconds) -> float:
    """What a run of a cell takes: as on record, or else an estimate."""
    graph = getattr(cell.plan.graph, "name", "a graph in memory")
    kind = graph, cell.plan.model.name, cell.plan.method.name
    return known.get(kind, estimated_seconds(cell.plan))


def cell_seconds(cell: Cell, known: KnownSeconds, trial_runs: int) -> float:
    """What all runs of a cell take, with the choice of its settings.

    Args:
        cell: The cell.
        known: What runs on record took.
        trial_runs: Runs of each setting that a search tries.
    """
    seconds = seconds_per_run(cell, known)
    return seconds * wanted_runs(cell, seconds) + _choosing(cell, seconds, trial_runs).seconds


def remaining(result: CellResult, known: KnownSeconds, trial_runs: int) -> Effort:
    """What is missing of a cell that was run as far as there was time.

    Args:
        result: The cell with its runs.
        known: What runs on record took.
        trial_runs: Runs of each setting that a search tries.
    """
    cell = result.cell
    if result.failure is None:
        return Effort()
    times = [record.seconds for record in result.records]
    seconds = sum(times) / len(times) if times else seconds_per_run(cell, known)
    missing = max(0, wanted_runs(cell, seconds) - len(result.records))
    choosing = Effort() if result.chosen else _choosing(cell, seconds, trial_runs)
    return Effort(missing + choosing.runs, missing * seconds + choosing.seconds)


def wanted_runs(cell: Cell, seconds: float) -> int:
    """How many runs a cell gets, if one takes so many seconds."""
    return min(len(cell.runs), SLOW_RUNS) if seconds > SLOW_RUN_SECONDS else len(cell.runs)


def _choosing(cell: Cell, seconds: float, trial_runs: int) -> Effort:
    return cell.chooser.effort(seconds, min(trial_runs, len(cell.runs)))


def duration(seconds: float) -> str:
    """A duration in words.

    >>> duration(40), duration(400), duration(40_000)
    ('40 s', '7 min', '11.1 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
