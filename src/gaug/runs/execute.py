"""Execute plans: plans × runs × executor × store → records."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gaug.errors import ConfigError, GaugError, TrainingError
from gaug.memory import reusing
from gaug.models.calling import apply_model
from gaug.provenance import checkout_commit, software_versions
from gaug.runs.checkpoints import Checkpoints
from gaug.runs.cost import measured
from gaug.runs.executors import Executor, OnNote, OnProgress, Tell, ThisProcess
from gaug.runs.graphs import Graphs, PlacedPlan
from gaug.runs.memory import check_run, plan_memory
from gaug.runs.plan import Plan
from gaug.runs.predictions import pack_predictions, unpack_predictions
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.training.checkpoint import Checkpoint
from gaug.training.metrics import micro_f1_of_predictions
from gaug.training.progress import Progress, TimeLeft
from gaug.training.run import PreparedRuns

# The widths of columns: SQLite takes longer texts, other databases do not.
_LONGEST_NAME, _LONGEST_WARNING = 100, 500


@dataclass(frozen=True)
class Request:
    """A request for runs of a plan.

    Attributes:
        plan: The plan.
        runs: Numbers of the runs.
        keep_history: Whether their records must have one row per epoch.
    """

    plan: Plan
    runs: Sequence[int]
    keep_history: bool = False


@dataclass(frozen=True)
class RunJob:
    """One run, with everything it needs.

    Attributes:
        prepared: State shared by all runs of its plan.
        run: Its number.
        keep_history: Whether to keep one row per epoch.
        checkpoint: Where it is saved if it takes long; None: nowhere.
        memory: Bytes that it takes, about.
    """

    prepared: PreparedRuns
    run: int
    keep_history: bool = False
    checkpoint: Checkpoint | None = None
    memory: int = 0

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Train and evaluate once; returns the measured columns of a record."""
        epochs = self.prepared.max_epochs

        def on_progress(now: Progress) -> None:
            tell(min(now.epochs / epochs, 1.0), f"run {self.run + 1}, {now.note}")

        with _lack_of_memory_told(), reusing(self.memory), measured() as cost:
            result = self.prepared.train(
                self.run,
                keep_history=self.keep_history,
                on_progress=on_progress,
                checkpoint=self.checkpoint,
            )
        hidden = self.prepared.task.test_hidden
        return {
            "val_score": result.val_score,
            "test_score": result.test_score,
            "test_predictions": pack_predictions(result.test_predictions) if hidden else None,
            "best_epoch": result.best_epoch,
            "epochs": result.epochs,
            "seconds": cost.seconds,
            "peak_memory_mb": cost.peak_memory_mb,
            "history": _finite(result.history) if self.keep_history else None,
            "warning": result.warning and result.warning[:_LONGEST_WARNING],
        }


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
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, got {runs}.")
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
    execution = _Execution(
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


# A request with its graph and the numbers of the missing runs.
_Waiting = tuple[Request, PlacedPlan, list[int]]


class _Execution:
    """Turns requests into jobs, and results into records."""

    def __init__(
        self,
        store: Store | None,
        graphs: Graphs,
        executor: Executor,
        resume: bool,
        hide_test: bool,
        checkpoints: Checkpoints | None,
        on_note: OnNote | None,
    ) -> None:
        self.store = store
        self.graphs = graphs
        self.executor = executor
        self.resume = resume
        self.hide_test = hide_test
        self.checkpoints = checkpoints
        self.on_note = on_note or (lambda note: None)
        self._ready: deque[tuple[Request, RunRecord | GaugError]] = deque()
        self._under_way: dict[int, tuple[RunJob, Request, PlacedPlan]] = {}

    def waiting(self, requests: Iterable[Request]) -> Iterator[_Waiting]:
        """Requests with missing runs; known results and errors go to `take_ready`."""
        for request in requests:
            try:
                with _lack_of_memory_told():
                    placed = self._place(request)
                missing = self._take_over(request, placed)
            except GaugError as error:
                self._ready.append((request, error))
                continue
            if missing:
                yield request, placed, missing

    def jobs(self, waiting: Iterable[_Waiting]) -> Iterator[RunJob]:
        """The runs of plans; each plan is prepared when its turn comes."""
        for request, placed, missing in waiting:
            try:
                check_run(placed, self.executor.room())
                with _lack_of_memory_told():
                    prepared = self._prepare(placed)
                    _lay_out(prepared)
            except GaugError as error:
                self._ready.append((request, error))
                continue
            memory = plan_memory(placed)
            for run in missing:
                checkpoint = None
                if self.checkpoints is not None:
                    identity = placed.identity(run)
                    checkpoint = self.checkpoints.of(identity, request.keep_history)
                job = RunJob(
                    prepared, run, request.keep_history, checkpoint, memory.run + memory.drawn
                )
                self._under_way[id(job)] = (job, request, placed)
                yield job

    def _prepare(self, placed: PlacedPlan) -> PreparedRuns:
        name = placed.plan.method.config.title
        remaining = TimeLeft()

        def on_share(share: float) -> None:
            self.on_note(f"preparing {name}: {share:.0%}{remaining.words(share)}")

        return self.graphs.prepare(placed, hide_test=self.hide_test, on_share=on_share)

    def take_ready(self) -> Iterator[tuple[Request, RunRecord | GaugError]]:
        """Results that need no job."""
        while self._ready:
            yield self._ready.popleft()

    def take(self, job: RunJob) -> tuple[Request, PlacedPlan]:
        """The request and plan of a finished job."""
        _, request, placed = self._under_way.pop(id(job))
        return request, placed

    def write(self, placed: PlacedPlan, run: int, outcome: dict[str, Any]) -> RunRecord:
        """The record of a run, written to the store."""
        plan = placed.plan
        record = RunRecord(
            identity=placed.identity(run),
            graph=placed.loaded.name,
            graph_hash=placed.graph_hash,
            split=placed.split.name,
            split_hash=placed.split.hash,
            model=plan.model.name[:_LONGEST_NAME],
            method=plan.method.name[:_LONGEST_NAME],
            protocol=plan.protocol,
            config=placed.config,
            seed=plan.seed,
            run=run,
            versions=software_versions(),
            commit=checkout_commit(),
            **outcome,
        )
        if self.store is not None:
            self.store.add(record)
        return record

    def _place(self, request: Request) -> PlacedPlan:
        if self.hide_test and request.keep_history:
            raise ConfigError(
                "A history counts edges by all labels: it cannot be kept with hidden ones."
            )
        if self.hide_test and request.plan.method.looks_at_labels:
            raise ConfigError(
                f"Method {request.plan.method.name} uses the labels of all nodes here: it is a"
                " control and cannot be chosen."
            )
        return self.graphs.place(request.plan)

    def _take_over(self, request: Request, placed: PlacedPlan) -> list[int]:
        """Reuse recorded runs, and return the missing ones."""
        if self.store is None or not self.resume:
            return list(request.runs)
        identities = {placed.identity(run): run for run in request.runs}
        for identity, record in self.store.find(list(identities)).items():
            if request.keep_history and record.history is None:
                continue
            if self.hide_test:
                record.test_score = None  # only in this copy; the record is unchanged
            elif record.test_score is None:
                self._read_test_score(record, placed)
            if self.checkpoints is not None:  # of a process killed right after it was recorded
                self.checkpoints.of(identity, request.keep_history).remove()
            self._ready.append((request, record))
            del identities[identity]
        return list(identities.values())

    def _read_test_score(self, record: RunRecord, placed: PlacedPlan) -> None:
        """Compute the test score of a run with hidden test labels."""
        task = placed.task
        if record.test_predictions is None or task.test.numel() == 0:
            return
        predicted = unpack_predictions(record.test_predictions)
        score = micro_f1_of_predictions(predicted, task.labels[task.test].cpu())
        assert self.store is not None
        self.store.set_test_score(record, score)


def _lay_out(prepared: PreparedRuns) -> None:
    """Normalize the graph for the model once, here, so that workers share it."""
    task = prepared.task
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = prepared.build_model().to(task.labels.device)
        apply_model(model, task.features, task.adjacency)


def _finite(history: list[dict[str, float]]) -> list[dict[str, Any]]:
    """A history without infinite numbers and NaN, which JSON does not have."""
    return [
        {name: value if math.isfinite(value) else None for name, value in row.items()}
        for row in history
    ]


@contextlib.contextmanager
def _lack_of_memory_told() -> Iterator[None]:
    """Turn a failed allocation into an error of this run, so that others go on."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise TrainingError(
                "There is not enough memory for this run. Try smaller settings or fewer workers."
            ) from error
        raise
