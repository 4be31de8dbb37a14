"""Where jobs are done: in this process, or spread over worker processes.

An executor knows nothing of graphs, methods or records. It takes jobs, does them somewhere, and
hands the results back as they come. A job brings everything that it needs with it and leaves
nothing behind but its result, so that it can be done in another process or on another machine; only
the caller writes to a store.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

import torch.multiprocessing

from gaug.errors import ConfigError, GaugError, TrainingError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
#: Told which share of a job is done, between 0 and 1.
OnShare = Callable[[float], None]


class Job(Protocol[T_co]):
    """A piece of work that can be pickled; tensors in it are shared with workers, not copied."""

    def __call__(self, on_share: OnShare) -> T_co:
        """Do it and return the result; tell now and then which share is done."""
        ...


#: Told the shares of the jobs under way, added up.
OnProgress = Callable[[float], None]


class Executor(ABC):
    """Runs jobs and hands results back as they come; a context manager that lets go of its means.

    Jobs are taken from the iterable when there is room for one, so the next one can be prepared
    while others are under way. Leaving the loop over the results ends the jobs under way; what was
    handed back before is whole. The same executor can be used again and again.
    """

    @abstractmethod
    def run(
        self, jobs: Iterable[Job[T]], on_progress: OnProgress | None = None
    ) -> Iterator[tuple[Job[T], T | GaugError]]:
        """Do jobs and yield each with its result, or with the error that it raised on purpose.

        Args:
            jobs: What to do.
            on_progress: Called now and then, also while a job is under way.
        """

    def close(self) -> None:  # noqa: B027 – for those that hold something
        """End what was started."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def local_executor(workers: int) -> Executor:
    """The executor for so many workers: one works here, more are processes of their own."""
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}.")
    return ThisProcess() if workers == 1 else WorkerProcesses(workers)


class ThisProcess(Executor):
    """Does one job after the other, here."""

    def run(
        self, jobs: Iterable[Job[T]], on_progress: OnProgress | None = None
    ) -> Iterator[tuple[Job[T], T | GaugError]]:
        """Do jobs and yield each with its result."""
        tell = on_progress or (lambda share: None)
        for job in jobs:
            result: T | GaugError
            try:
                result = job(tell)
            except GaugError as error:
                result = error
            yield job, result
            tell(0.0)


class WorkerProcesses(Executor):
    """Spreads jobs over processes of this machine, which are kept until `close`.

    Args:
        workers: Number of processes; each starts when there is work for it.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def run(
        self, jobs: Iterable[Job[T]], on_progress: OnProgress | None = None
    ) -> Iterator[tuple[Job[T], T | GaugError]]:
        """Do jobs and yield each with its result."""
        tell = on_progress or (lambda share: None)
        pool = self._started()
        waiting = iter(jobs)
        free = list(range(len(self._signals.shares)))
        pending: dict[Future[Any], tuple[Job[T], int]] = {}
        interrupts = _DeferredInterrupts()
        try:
            with interrupts:
                while True:
                    while free and (job := interrupts.undeferred(waiting)) is not None:
                        slot = free.pop()
                        self._signals.shares[slot] = 0.0
                        with _interrupts_ignored():  # which a new process inherits
                            pending[pool.submit(_work, job, slot)] = (job, slot)
                    if not pending:
                        return
                    finished, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in finished:
                        job, slot = pending.pop(future)
                        self._signals.shares[slot] = 0.0
                        free.append(slot)
                        yield job, _result(future)
                    tell(sum(self._signals.shares))
                    interrupts.raise_if_asked()
        except BrokenProcessPool as error:
            pending.clear()
            self.close()
            raise TrainingError(
                "A worker process ended unexpectedly, most likely for lack of memory. Finished runs"
                " are kept. Try fewer workers."
            ) from error
        finally:
            self._cancel(pending)

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._signals.canceled.set()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Spawned, not forked: a fork of a process that has used OpenMP or a GPU may hang.
            context = torch.multiprocessing.get_context("spawn")
            # One job more than workers, so that none waits for the next.
            shares = context.Array("d", self.workers + 1, lock=False)
            self._signals = _Signals(shares, context.Event())
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
        for future in pending:
            future.cancel()
        wait(pending)
        self._signals.canceled.clear()


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except GaugError as error:
        return error
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if "pickle" in f"{type(error).__name__} {error}".lower():
            raise ConfigError(
                f"A run cannot be sent to a worker process: {error}. Define models, methods and"
                " predictors of your own in a module that can be imported, or use one worker."
            ) from error
        raise


class _Signals:
    """What the workers share with this process."""

    def __init__(self, shares: Any, canceled: Any) -> None:
        self.shares = shares
        self.canceled = canceled


class _CanceledError(Exception):
    pass


_signals: _Signals | None = None


def _start_worker(signals: _Signals) -> None:
    global _signals
    # Ctrl-C reaches the whole group; the parent alone decides, and tells by the event.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _signals = signals


def _end_with_parent() -> None:
    parent = torch.multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # the parent was killed and nobody waits for results any more


def _work(job: Job[T], slot: int) -> T:
    signals = _signals
    assert signals is not None

    def on_share(share: float) -> None:
        if signals.canceled.is_set():
            raise _CanceledError
        signals.shares[slot] = share

    on_share(0.0)
    return job(on_share)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes that are started meanwhile inherit it, so that none dies while it imports."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _DeferredInterrupts:
    """Within the block Ctrl-C is noted, so that what is finished is handed on before all ends.

    An exception in the midst of a lock or of writing a record could leave either in disorder. A
    second Ctrl-C raises at once.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._in_main_thread = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._in_main_thread:
            self._before = signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        if self._in_main_thread:
            signal.signal(signal.SIGINT, self._before)

    def undeferred(self, jobs: Iterator[Job[T]]) -> Job[T] | None:
        """The next job, if there is one; while it is prepared, Ctrl-C acts at once."""
        if not self._in_main_thread:
            return next(jobs, None)
        signal.signal(signal.SIGINT, self._before)
        try:
            return next(jobs, None)
        except KeyboardInterrupt:
            self._asked.set()  # what others have finished meanwhile is handed on first
            return None
        finally:
            signal.signal(signal.SIGINT, self._note)

    def raise_if_asked(self) -> None:
        if self._asked.is_set():
            raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        self._asked.set()
        signal.signal(signal.SIGINT, self._before)
