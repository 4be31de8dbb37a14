"""An executor that runs jobs in processes on this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, TypeVar

import torch.multiprocessing

from gaug.errors import GaugError, TrainingError
from gaug.memory import Allowance, Room, set_share
from gaug.runs.executor import Executor, Job, OnNote, OnProgress
from gaug.runs.interrupts import DeferredInterrupts, interrupts_ignored
from gaug.runs.sending import drop_copies, pack, unpack
from gaug.runs.unsendable import unsendable_told

#: Bytes of a worker process that it shares with no other: Python and the libraries at work.
WORKER_BYTES = 400_000_000

T = TypeVar("T")
# A worker's note, in bytes.
_NOTE = 120
# This process grows a little all the time. Shares are made smaller when it has grown by this much.
_NOTABLE_GROWTH = 0.1


class WorkerProcesses(Executor):
    """Runs jobs in processes on this machine, which are kept until `close`.

    Args:
        workers: Number of processes; each starts when there is work for it.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._allowance = Allowance()
        self._to_share = 0

    def run(
        self,
        jobs: Iterable[Job[T]],
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> Iterator[tuple[Job[T], T | GaugError]]:
        """Do jobs and yield each with its result."""
        tell = on_progress or (lambda share: None)
        pool = self._started()
        waiting = iter(jobs)
        postponed: Job[T] | None = None  # until there is memory for it
        free = list(range(len(self._signals.shares)))
        self._signals.shares[:] = [0.0] * len(free)  # those of canceled jobs are left over
        pending: dict[Future[Any], tuple[Job[T], int, int]] = {}
        interrupts = DeferredInterrupts()
        try:
            with interrupts:
                while True:
                    while free:
                        job = postponed or interrupts.undeferred(waiting)
                        postponed = None
                        if job is None:
                            break
                        allowed = self._allowed(job, [given for _, _, given in pending.values()])
                        if allowed is None:
                            postponed = job
                            break
                        slot = free.pop()
                        self._signals.shares[slot] = 0.0
                        packed = _packed(job)
                        with interrupts_ignored():  # inherited by a new process
                            future = pool.submit(_work, packed, slot, allowed)
                        pending[future] = (job, slot, allowed)
                    if not pending:
                        interrupts.raise_if_asked()
                        return
                    finished, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                    # A broken pool breaks all that is pending: hand on what is whole first.
                    for future in sorted(finished, key=_is_broken):
                        job, slot, _ = pending.pop(future)
                        self._signals.shares[slot] = 0.0
                        free.append(slot)
                        yield job, _result(future)
                    busy = [slot for _, slot, _ in pending.values()]
                    if on_note is not None and busy:
                        on_note(self._signals.note(min(busy)))
                    tell(sum(self._signals.shares))
                    interrupts.raise_if_asked()
        except BrokenProcessPool as error:
            done = [future for future in pending if future.done() and not future.exception()]
            for future in done:
                yield pending[future][0], future.result()
            pending.clear()
            self.close()
            raise TrainingError(
                "A worker process ended unexpectedly. Finished runs are kept. Either memory ran out"
                " (try fewer workers), or this is a script without an"
                " 'if __name__ == \"__main__\":' guard, which workers need."
            ) from error
        finally:
            self._cancel(pending)

    def room(self) -> Room:
        """What is left for one worker."""
        left = self._allowance.left()
        return replace(left, free=max(0, left.free - WORKER_BYTES))

    def _allowed(self, job: Job[Any], given: Sequence[int]) -> int | None:
        """Bytes that the process of a job may hold; None: it waits until others have finished.

        All are allowed the same, so that together they hold what may be used. A job that needs
        more than that gets everything if it is alone, and what it needs if that is left.

        Args:
            job: The job.
            given: What those under way are allowed. No more than workers run; the others wait in
                line.
        """
        left = self._allowance.left().free
        if not given or left < (1 - _NOTABLE_GROWTH) * self._to_share:
            self._to_share = left
        total = self._to_share
        equal = total // self.workers
        memory = getattr(job, "memory", 0)
        needed = WORKER_BYTES + memory
        allowed = equal if needed <= equal or memory == 0 else needed if given else total
        at_once = sorted([allowed, *given], reverse=True)[: self.workers]
        fits = sum(at_once) <= total or memory == 0 or not given
        return allowed if fits else None

    def close(self) -> None:
        """End the processes, and give back what was shared with them."""
        if self._pool is not None:
            self._signals.canceled.set()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
            drop_copies()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Spawned, not forked: a fork of a process that has used OpenMP or a GPU may hang.
            context = torch.multiprocessing.get_context("spawn")
            # One job more than workers, so that none waits for the next.
            shares = context.Array("d", self.workers + 1, lock=False)
            notes = context.Array("c", _NOTE * (self.workers + 1), lock=False)
            self._signals = _Signals(shares, notes, context.Event())
            self._pool = ProcessPoolExecutor(
                self.workers,
                mp_context=context,
                initializer=_start_worker,
                initargs=(self._signals,),
            )
        return self._pool

    def _cancel(self, pending: dict[Future[Any], Any]) -> None:
        if not pending:
            return
        self._signals.canceled.set()
        try:
            for future in pending:
                future.cancel()
            wait(pending)
        finally:  # also after a second Ctrl-C
            self._signals.canceled.clear()


def _packed(job: Job[Any]) -> bytes:
    with unsendable_told("a worker process", "in a module that can be imported, or use one worker"):
        return pack(job)


def _is_broken(future: Future[Any]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except GaugError as error:
        return error


class _Signals:
    """State that the workers share with this process."""

    def __init__(self, shares: Any, notes: Any, canceled: Any) -> None:
        self.shares = shares
        self.notes = notes
        self.canceled = canceled

    def set_note(self, slot: int, note: str) -> None:
        # Without a lock: a note that is read while it is written is a little odd, and soon gone.
        self.notes[slot * _NOTE : (slot + 1) * _NOTE] = note.encode()[:_NOTE].ljust(_NOTE)

    def note(self, slot: int) -> str:
        found: bytes = self.notes[slot * _NOTE : (slot + 1) * _NOTE]
        return found.strip(b" \0").decode(errors="ignore")


class _CanceledError(Exception):
    pass


_signals: _Signals | None = None


def _start_worker(signals: _Signals) -> None:
    global _signals
    # Ctrl-C reaches the whole group; only the parent decides, and signals by the event.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _signals = signals


def _end_with_parent() -> None:
    parent = torch.multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # the parent was killed


def _work(packed: bytes, slot: int, allowed: int) -> Any:
    signals = _signals
    assert signals is not None
    set_share(allowed)
    job: Job[Any] = unpack(packed)

    def tell(share: float, note: str = "") -> None:
        if signals.canceled.is_set():
            raise _CanceledError
        signals.shares[slot] = share
        if note:
            signals.set_note(slot, note)

    tell(0.0)
    return job(tell)
