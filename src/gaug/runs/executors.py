"""Repeated runs, in this process or spread over several.

A run computes with a fixed number of threads, one by default, however many workers there are: sums
of floating-point numbers depend on how they are split, and a run must come out the same whatever
the number of workers. Runs are what is spread over the cores.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, Protocol, TypeVar

import torch
import torch.multiprocessing

from gaug.errors import TrainingError
from gaug.training.loop import OnEpoch

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Told how many runs are done, with the parts of the runs under way.
OnProgress = Callable[[float], None]


class Job(Protocol[T_co]):
    """What to do in one run. It is sent to each worker once; its tensors are shared, not copied."""

    def __call__(self, run: int, on_epoch: OnEpoch) -> T_co:
        """Do one run and return its result."""
        ...

    @property
    def epochs(self) -> int:
        """Epochs of a run at most, to tell how far it is."""
        ...


def repeat(
    job: Job[T],
    runs: Sequence[int],
    *,
    workers: int = 1,
    threads: int = 1,
    on_progress: OnProgress | None = None,
) -> Iterator[tuple[int, T]]:
    """Run a job for each number in ``runs`` and yield the results as they come.

    Leaving the loop early, by Ctrl-C for instance, ends the runs under way; what was yielded
    before is whole.

    Args:
        job: What to do.
        runs: Numbers of the runs.
        workers: Processes; 1 means this one.
        threads: Threads of each run.
        on_progress: Called now and then.
    """
    progress = on_progress or (lambda done: None)
    if workers <= 1 or len(runs) <= 1:
        yield from _in_this_process(job, runs, threads, progress)
    else:
        yield from _in_workers(job, runs, min(workers, len(runs)), threads, progress)


def _in_this_process(
    job: Job[T], runs: Sequence[int], threads: int, progress: OnProgress
) -> Iterator[tuple[int, T]]:
    before = torch.get_num_threads()
    for done, run in enumerate(runs):

        def on_epoch(epoch: int, done: int = done) -> None:
            progress(done + min(epoch / job.epochs, 1.0))

        torch.set_num_threads(threads)
        try:
            result = job(run, on_epoch)
        finally:
            torch.set_num_threads(before)
        yield run, result
        progress(done + 1)


def _in_workers(
    job: Job[T], runs: Sequence[int], workers: int, threads: int, progress: OnProgress
) -> Iterator[tuple[int, T]]:
    # Spawned, not forked: a fork of a process that has used OpenMP or a GPU may hang.
    context = torch.multiprocessing.get_context("spawn")
    shared = _Shared(job, context.Array("d", len(runs), lock=False), context.Event(), threads)
    executor = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(shared,)
    )
    try:
        with _interrupts_ignored():
            pending = {executor.submit(_work, place, run): run for place, run in enumerate(runs)}
        with _interrupts_deferred() as interrupted:
            waiting = set(pending)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield pending[future], future.result()
                progress(sum(shared.progress))
                if interrupted.is_set():
                    raise KeyboardInterrupt
    except BrokenProcessPool as error:
        raise TrainingError(
            "A worker process ended unexpectedly, most likely for lack of memory. Finished runs are"
            " kept. Try fewer workers."
        ) from error
    finally:
        shared.canceled.set()
        executor.shutdown(wait=True, cancel_futures=True)


class _Shared(Generic[T]):
    """What the workers share with this process."""

    def __init__(self, job: Job[T], progress: Any, canceled: Any, threads: int) -> None:
        self.job = job
        self.progress = progress
        self.canceled = canceled
        self.threads = threads


class _CanceledError(Exception):
    pass


_shared: _Shared[Any] | None = None


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


@contextlib.contextmanager
def _interrupts_deferred() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets, so that what is finished is handed on before all ends.

    An exception in the midst of a lock or of writing a record could leave either in disorder. A
    second Ctrl-C raises at once.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def note(*_: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker(shared: _Shared[Any]) -> None:
    global _shared
    # Ctrl-C reaches the whole group; the parent alone decides, and tells by the event.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(shared.threads)
    _shared = shared


def _end_with_parent() -> None:
    parent = torch.multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # the parent was killed and nobody waits for results any more


def _work(place: int, run: int) -> Any:
    shared = _shared
    assert shared is not None

    def on_epoch(epoch: int) -> None:
        if shared.canceled.is_set():
            raise _CanceledError
        shared.progress[place] = min(epoch / shared.job.epochs, 1.0)

    result = shared.job(run, on_epoch)
    shared.progress[place] = 1.0
    return result
