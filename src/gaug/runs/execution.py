"""Requests turned into jobs, and their results into records."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gaug.errors import ConfigError, GaugError
from gaug.models.calling import apply_model
from gaug.provenance import checkout_commit, software_versions
from gaug.runs.checkpoints import Checkpoints
from gaug.runs.executor import Executor, OnNote
from gaug.runs.graphs import Graphs, PlacedPlan
from gaug.runs.memory import check_run, plan_memory
from gaug.runs.plan import Plan
from gaug.runs.predictions import unpack_predictions
from gaug.runs.record import RunRecord
from gaug.runs.run_job import RunJob, lack_of_memory_told
from gaug.runs.store import Store
from gaug.training.metrics import micro_f1_of_predictions
from gaug.training.run import PreparedRuns
from gaug.training.time_left import preparing

# The width of a column: SQLite takes longer texts, other databases do not.
_LONGEST_NAME = 100


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


# A request with its graph and the numbers of the missing runs.
_Waiting = tuple[Request, PlacedPlan, list[int]]


class Execution:
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
                with lack_of_memory_told():
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
                with lack_of_memory_told():
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
        words = preparing(placed.plan.method.title)

        def on_share(share: float) -> None:
            self.on_note(words(share))

        with self.executor.ranking():
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
            if self.hide_test and not _has_nodes(record, placed):
                continue  # of an older version, and nodes are to be compared
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


def comparable_records(store: Store, placed: PlacedPlan, runs: Sequence[int]) -> list[RunRecord]:
    """Records of those runs that have all that single validation nodes are compared by.

    Args:
        store: Where runs are recorded.
        placed: Their plan.
        runs: Numbers of the runs.
    """
    found = store.find([placed.identity(run) for run in runs])
    return [record for record in found.values() if _has_nodes(record, placed)]


def _has_nodes(record: RunRecord, placed: PlacedPlan) -> bool:
    """Whether a record has all that single validation nodes are compared by."""
    probable = placed.task.multilabel or record.val_probabilities is not None
    return record.val_predictions is not None and probable


def _lay_out(prepared: PreparedRuns) -> None:
    """Normalize the graph for the model once, here, so that workers share it."""
    task = prepared.task
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = prepared.build_model().to(task.labels.device).eval()
        apply_model(model, task.features, task.adjacency)
