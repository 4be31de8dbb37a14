"""An executor that runs jobs on a Ray cluster.

Ray decides where a job runs, moves data, and does a job again whose worker or machine was lost. A
job is deterministic, so the second time it ends with the same result.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from gaug.config import check_count
from gaug.errors import GaugError, TrainingError, reason_of
from gaug.memory import Room
from gaug.pairs.parts import parts_done_by
from gaug.runs.executor import Executor, Job, OnNote, OnProgress
from gaug.runs.interrupts import DeferredInterrupts
from gaug.runs.ray_calls import cancel, cause_of, checked, machines, pack, versions_here
from gaug.runs.ray_connection import connect
from gaug.runs.ray_needs import TooLargeError, equal_share, needs
from gaug.runs.worker_processes import WORKER_BYTES

if TYPE_CHECKING:
    from ray import ObjectRef

#: How often a job is done again whose worker or machine was lost.
RETRIES = 3

T = TypeVar("T")


class RayCluster(Executor):
    """Runs jobs on the machines of a Ray cluster; needs ``gaug[cluster]``.

    A job takes as many CPUs as it has threads, its estimated memory, and a GPU if it computes on
    one. Without a limit, as many run at a time as the cluster has room for; machines may come and
    go meanwhile. If this process ends in whatever way, Ray ends its jobs.

    Args:
        address: ``auto``, ``host:port`` or ``ray://host:port``.
        workers: Number of jobs at a time at most; None: no limit.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        if workers is not None:
            check_count("workers", workers)
        self.workers = workers
        # Before Ray starts: how often it tries again a job that took too much memory.
        os.environ.setdefault("RAY_task_oom_retries", str(RETRIES))
        self._connected_here = connect(address)
        import ray

        from gaug.runs.object_store import ObjectStore
        from gaug.runs.ray_worker import Board

        self._ray = ray
        self._board = Board.remote()  # type: ignore[attr-defined]
        self._store = ObjectStore()
        work = checked("gaug.runs.ray_worker", "do_job")
        self._work = ray.remote(scheduling_strategy="SPREAD")(work)
        self._numbers = itertools.count()
        self._there: list[dict[str, float]] = []
        self._ask_again = 0.0

    def run(
        self,
        jobs: Iterable[Job[T]],
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> Iterator[tuple[Job[T], T | GaugError]]:
        """Do jobs and yield each with its result."""
        tell = on_progress or (lambda share: None)
        waiting = iter(jobs)
        pending: dict[ObjectRef[Any], tuple[Job[T], int]] = {}
        progress = _Progress(self._ray, self._board)
        interrupts = DeferredInterrupts()
        threads = 1
        try:
            with interrupts:
                while True:
                    while len(pending) < self._at_once(threads):
                        job = interrupts.undeferred(waiting)
                        if job is None:
                            break
                        threads = int(needs(job)["CPU"])
                        try:
                            reference, number = self._begin(job)
                        except TooLargeError as error:
                            yield job, error
                        else:
                            pending[reference] = (job, number)
                    if not pending:
                        interrupts.raise_if_asked()
                        return
                    finished, _ = self._ray.wait(list(pending), timeout=0.2)
                    for reference in finished:
                        job, _ = pending.pop(reference)
                        yield job, self._result(reference)
                    shares, note = progress.of([number for _, number in pending.values()])
                    if on_note is not None and note:
                        on_note(note)
                    tell(shares)
                    interrupts.raise_if_asked()
        finally:
            cancel(list(pending))

    def room(self) -> Room:
        """What one job may take on the largest machine."""
        largest = max((machine.get("memory", 0) for machine in self._machines()), default=0)
        return Room(max(0, int(largest) - WORKER_BYTES))

    def ranking(self) -> AbstractContextManager[None]:
        """Within this context, the parts of rankings are done on the cluster."""
        return parts_done_by(self.run)

    def close(self) -> None:
        """Disconnect from the cluster."""
        if self._connected_here and self._ray.is_initialized():
            self._ray.shutdown()

    def _begin(self, job: Job[Any]) -> tuple[ObjectRef[Any], int]:
        wanted = needs(job)
        allowed = equal_share(wanted, self._machines())
        number = next(self._numbers)
        elsewhere: Callable[[], object] = getattr(job, "elsewhere", lambda: job)
        packed, references = pack(self._store, elsewhere())
        work = self._work.options(
            num_cpus=wanted["CPU"],
            num_gpus=wanted.get("GPU", 0),
            memory=wanted.get("memory"),
            max_retries=RETRIES,
        )
        sent = (packed, references, allowed, number, self._board)
        return work.remote(versions_here(), *sent), number

    def _result(self, reference: ObjectRef[Any]) -> Any:
        from ray.exceptions import RayError, RayTaskError

        try:
            result = self._ray.get(reference)
        except RayTaskError as error:
            raise cause_of(error) from error
        except RayError as error:
            return TrainingError(
                f"The worker or the machine of a run was lost {RETRIES + 1} times"
                f" ({reason_of(error)}). Either memory ran out (try more threads per run, so that"
                " fewer run side by side), or its code ends the process, as it does if it changes"
                " the graph in place."
            )
        return result

    def _machines(self) -> list[dict[str, float]]:
        """What each machine has that is there, as of a second ago."""
        if time.monotonic() > self._ask_again:
            self._there = machines()
            self._ask_again = time.monotonic() + 1.0
        return self._there

    def _at_once(self, threads: int) -> int:
        """How many jobs to begin: as many as fit side by side, and one that waits in line."""
        fit = 1 + sum(int(machine.get("CPU", 0) // threads) for machine in self._machines())
        return fit if self.workers is None else min(self.workers, fit)


class _Progress:
    """How far jobs are, as far as it is known without waiting for it."""

    def __init__(self, ray: Any, board: Any) -> None:
        self._ray = ray
        self._board = board
        self._asked: ObjectRef[Any] | None = None
        self._known: dict[int, tuple[float, str]] = {}

    def of(self, numbers: Sequence[int]) -> tuple[float, str]:
        """The sum of the shares of these jobs, and what the first of them said last."""
        if self._asked is not None and self._ray.wait([self._asked], timeout=0)[0]:
            with contextlib.suppress(self._ray.exceptions.RayError):  # it starts anew elsewhere
                self._known = self._ray.get(self._asked)
            self._asked = None
        if self._asked is None and numbers:
            self._asked = self._board.read.remote(numbers)
        told = [self._known[number] for number in numbers if number in self._known]
        return sum(share for share, _ in told), told[0][1] if told else ""
