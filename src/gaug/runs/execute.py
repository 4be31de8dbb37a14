"""Execute plans: plans × runs × executor × store → records."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Iterable

from gaug.config import check_count
from gaug.errors import GaugError
from gaug.runs.checkpoints import Checkpoints
from gaug.runs.execution import Execution, Request
from gaug.runs.executor import Executor, OnNote, OnProgress, ThisProcess
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.run_job import RunJob
from gaug.runs.store import Store


def execute(
    plan: Plan,
    *,
    runs: int,
    executor: Executor | None = None,
    store: Store | None = None,
    graphs: Graphs | None = None,
    resume: bool = False,
    hide_test: bool = False,
    keep_history: bool = False,
    checkpoints: Checkpoints | None = None,
    on_progress: OnProgress | None = None,
    on_note: OnNote | None = None,
    records: list[RunRecord] | None = None,
) -> list[RunRecord]:
    """Train and evaluate repeatedly; each run is recorded as soon as it finishes.

    Args:
        plan: What to run.
        runs: Number of runs; run i is the same for any number of runs and workers.
        executor: Where to run; by default in this process.
        store: Where to write records; None keeps them in memory only.
        graphs: Graphs that are already loaded.
        resume: Whether to reuse recorded runs.
        hide_test: Whether to remove the labels of the test nodes before training, for code that
            chooses; the records then have no test score.
        keep_history: Whether to keep one row per epoch in the records.
        checkpoints: Where runs that take long are saved until they are recorded; by default beside
            the store, every five minutes.
        on_progress: Called regularly with the number of finished runs.
        on_note: Called regularly with a few words about what is going on.
        records: A list to fill, for callers that need the finished runs after an interruption.

    Returns:
        The records in the order of their run numbers.
    """
    check_count("runs", runs)
    records = [] if records is None else records
    results = execute_all(
        [Request(plan, range(runs), keep_history)],
        executor=executor,
        store=store,
        graphs=graphs,
        resume=resume,
        hide_test=hide_test,
        checkpoints=checkpoints,
        on_progress=on_progress,
        on_note=on_note,
    )
    with contextlib.closing(results):
        for _, result in results:
            if isinstance(result, GaugError):
                raise result
            records.append(result)
    return sorted(records, key=lambda record: record.run)


def execute_all(
    requests: Iterable[Request],
    *,
    executor: Executor | None = None,
    store: Store | None = None,
    graphs: Graphs | None = None,
    resume: bool = True,
    hide_test: bool = False,
    checkpoints: Checkpoints | None = None,
    on_progress: OnProgress | None = None,
    on_note: OnNote | None = None,
) -> Generator[tuple[Request, RunRecord | GaugError], None, None]:
    """Run many plans, and yield each record, or its error, as it finishes.

    Runs of all plans go to the executor one after the other, so its workers are never idle while
    there is work. A plan that cannot be run yields its error once; a run that fails yields its own.

    Args:
        requests: What to run, in this order.
        executor: Where to run; by default in this process.
        store: Where to write records; None keeps them in memory only.
        graphs: Graphs that are already loaded.
        resume: Whether to reuse recorded runs.
        hide_test: Whether to remove the labels of the test nodes before training.
        checkpoints: Where runs that take long are saved until they are recorded; by default beside
            the store.
        on_progress: Called regularly with the number of finished runs.
        on_note: Called regularly with a few words about what is going on.
    """
    if store is not None:
        store.check_writable()
        checkpoints = checkpoints or Checkpoints(store.checkpoint_folder)
    executor = executor or ThisProcess()
    execution = Execution(
        store, graphs or Graphs(), executor, resume, hide_test, checkpoints, on_note
    )
    done = 0

    def tell(under_way: float = 0.0) -> None:
        if on_progress is not None:
            on_progress(done + under_way)

    waiting = execution.waiting(requests)
    first = list(itertools.islice(waiting, 1))
    # Results that need no training come first, so that an interruption does not lose them.
    for found in execution.take_ready():
        done += 1
        yield found
    tell()
    jobs = execution.jobs(itertools.chain(first, waiting))
    for job, outcome in executor.run(jobs, tell, on_note):
        assert isinstance(job, RunJob)
        for found in execution.take_ready():
            done += 1
            yield found
        request, placed = execution.take(job)
        done += 1
        if isinstance(outcome, GaugError):
            yield request, outcome
        else:
            record = execution.write(placed, job.run, outcome)
            if job.checkpoint is not None:
                job.checkpoint.remove()
            yield request, record
    before = done
    for found in execution.take_ready():
        done += 1
        yield found
    if done > before:
        tell()
