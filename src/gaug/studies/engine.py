"""The engine of all studies: runs what the store lacks, and continues when a cell fails.

Recorded runs are reused first. Then each cell is run once to measure the cost of a run, and then as
often as required, cheap cells first. If settings of a cell are open, its chooser decides them
first, on validation nodes. A failed cell is marked, and the others continue.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Sequence

from gaug.choosing.engine import TrialRunner
from gaug.choosing.limits import TRIAL_RUNS
from gaug.errors import GaugError
from gaug.runs.execute import execute_all
from gaug.runs.execution import Request
from gaug.runs.executor import Executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.studies.chooser import Chosen, Given
from gaug.studies.cost import seconds_per_run, wanted_runs
from gaug.studies.study import Cell, CellResult

#: Called with the amount of work done and the total.
OnWork = Callable[[float, float], None]


def run_cells(
    cells: Sequence[Cell],
    *,
    store: Store,
    graphs: Graphs,
    executor: Executor | None = None,
    trial_runs: int = TRIAL_RUNS,
    time_budget: float = math.inf,
    on_work: OnWork | None = None,
) -> list[CellResult]:
    """Run what the store lacks, and return each cell with its runs.

    Args:
        cells: The cells of the study.
        store: Where runs are looked up and recorded.
        graphs: Where graphs come from.
        executor: Where to run; by default in this process.
        trial_runs: Runs of each setting that is tried.
        time_budget: Seconds after which no new run starts; finished runs are returned.
        on_work: Called regularly with the amount of work done.
    """
    work = _Work(cells, store, graphs, executor, trial_runs, time.monotonic() + time_budget)
    work.run(on_work or (lambda done, total: None))
    return work.results()


class _Work:
    """The state of the cells of a study."""

    def __init__(
        self,
        cells: Sequence[Cell],
        store: Store,
        graphs: Graphs,
        executor: Executor | None,
        trial_runs: int,
        deadline: float,
    ) -> None:
        self.cells = list(cells)
        self.store = store
        self.graphs = graphs
        self.executor = executor
        self.deadline = deadline
        self.trial_runs = trial_runs
        self.found = {cell.key: CellResult(cell) for cell in cells}
        known = store.mean_seconds()
        self.seconds = {cell.key: seconds_per_run(cell, known) for cell in cells}
        self.runs_of = {cell.key: list(cell.runs) for cell in cells}
        #: Number of finished runs, and the finished share of the choice before them.
        self.done = dict.fromkeys(self.found, 0.0)
        self.shares = dict.fromkeys(self.found, 0.0)

    def run(self, on_work: OnWork) -> None:
        self.on_work = on_work
        ordered = sorted(self.cells, key=lambda cell: self.seconds[cell.key])
        given = [cell for cell in ordered if isinstance(cell.chooser, Given) and self._choose(cell)]
        with contextlib.suppress(_OutOfTimeError):
            self._run_settled(given)
        # Also when the time is up: choices and runs on record are shown.
        for cell in ordered:
            if not isinstance(cell.chooser, Given) and self._choose(cell):
                with contextlib.suppress(_OutOfTimeError):
                    self._run_settled([cell])

    def results(self) -> list[CellResult]:
        """Each cell with its runs so far."""
        results = []
        for cell in self.cells:
            found = self.found[cell.key]
            failure = found.failure
            wanted = self.runs_of[cell.key]
            records = [record for record in found.records if record.run in wanted]
            if failure is None and len(records) < len(wanted):
                failure = f"{len(records)} of {len(wanted)} runs in the time given"
            results.append(dataclasses.replace(found, records=records, failure=failure))
        return results

    def _choose(self, cell: Cell) -> bool:
        """Choose the open settings of a cell, and return whether there was time."""
        tried = self._runs_of_trials(cell)
        runner = TrialRunner(self.graphs, tried, self.executor, self.store, self.deadline)

        def tell(share: float) -> None:
            self.shares[cell.key] = share
            self._report()

        try:
            chosen = cell.chooser.choose(cell.search_plan, runner, tell)
        except GaugError as error:
            self._fail(cell, error)
            return False
        if chosen is None:
            return False
        self.shares[cell.key] = 1.0
        self._change(cell, chosen=chosen)
        return True

    def _run_settled(self, cells: Sequence[Cell]) -> None:
        """Reuse recorded runs, run each cell once, and then run the rest."""
        for cell in cells:
            self._take_over(cell)
        self._run([cell for cell in cells if not self.found[cell.key].records], 1)
        for cell in cells:
            records = self.found[cell.key].records
            if records:
                self.seconds[cell.key] = records[0].seconds
                del self.runs_of[cell.key][wanted_runs(cell, records[0].seconds) :]
        self._run(sorted(cells, key=lambda cell: self.seconds[cell.key]))

    def _take_over(self, cell: Cell) -> None:
        """Add the recorded runs of a cell, regardless of the deadline."""
        plan = self._settled_plan(cell)
        try:
            placed = self.graphs.place(plan)
        except GaugError as error:
            self._fail(cell, error)
            return
        numbers = {placed.identity(run): run for run in self.runs_of[cell.key]}
        found = self.store.find(list(numbers))
        on_record = [
            numbers[identity]
            for identity, record in found.items()
            if record.history is not None or not cell.keep_history
        ]
        request = Request(plan, sorted(on_record), cell.keep_history)
        for _, result in execute_all([request], store=self.store, graphs=self.graphs):
            assert not isinstance(result, GaugError)
            self._add(cell, result)

    def _run(self, cells: Sequence[Cell], most: int | None = None) -> None:
        """Run the missing runs of cells, at most ``most`` of each."""
        by_request: dict[int, Cell] = {}
        requests = []
        for cell in cells:
            found = self.found[cell.key]
            there = {record.run for record in found.records}
            numbers = [run for run in self.runs_of[cell.key] if run not in there][:most]
            if numbers and found.failure is None:
                request = Request(self._settled_plan(cell), numbers, cell.keep_history)
                by_request[id(request)] = cell
                requests.append(request)
        mean = _mean([self.seconds[cell.key] for cell in by_request.values()])
        finished = 0
        results = execute_all(
            requests,
            executor=self.executor,
            store=self.store,
            graphs=self.graphs,
            on_progress=lambda done: self._tell(mean * (done - finished)),
        )
        try:
            for request, result in results:
                cell = by_request[id(request)]
                finished += 1
                if isinstance(result, GaugError):
                    self._fail(cell, result)
                else:
                    self._add(cell, result)
        finally:
            results.close()

    def _settled_plan(self, cell: Cell) -> Plan:
        return (self.found[cell.key].chosen or Chosen()).applied_to(cell.plan)

    def _runs_of_trials(self, cell: Cell) -> int:
        """Runs of each setting that is tried for a cell."""
        return min(self.trial_runs, len(cell.runs))

    def _tell(self, under_way: float = 0.0) -> None:
        """Report progress, and stop at the deadline."""
        self._report(under_way)
        if time.monotonic() > self.deadline:
            raise _OutOfTimeError

    def _report(self, under_way: float = 0.0) -> None:
        """Report progress, including the seconds of unfinished runs."""
        done, total = under_way, 0.0
        for cell in self.cells:
            seconds, planned = self.seconds[cell.key], len(self.runs_of[cell.key])
            choosing = cell.chooser.effort(seconds, self._runs_of_trials(cell)).seconds
            done += seconds * min(self.done[cell.key], planned) + choosing * self.shares[cell.key]
            total += seconds * planned + choosing
        self.on_work(min(done, total), total)

    def _add(self, cell: Cell, record: RunRecord) -> None:
        records = [*self.found[cell.key].records, record]
        self._change(cell, records=sorted(records, key=lambda record: record.run))
        self.done[cell.key] += 1

    def _fail(self, cell: Cell, error: GaugError) -> None:
        self._change(cell, failure=str(error))
        self.done[cell.key], self.shares[cell.key] = math.inf, 1.0  # nothing is left to do

    def _change(self, cell: Cell, **changes: object) -> None:
        self.found[cell.key] = dataclasses.replace(self.found[cell.key], **changes)  # type: ignore[arg-type]


class _OutOfTimeError(Exception):
    pass


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
