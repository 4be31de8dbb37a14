"""The contract of executors, and the one that runs jobs in this process.

An executor knows nothing about graphs, methods or records. It takes jobs, runs them, and returns
results as they finish. A job contains everything it needs, so it can run in another process. It
writes nothing but a checkpoint of its own, which it leaves out to run on another machine; only the
caller writes to a store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

from gaug.errors import GaugError
from gaug.memory import Room

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Tell(Protocol):
    """How a job reports where it is."""

    def __call__(self, share: float, note: str = "") -> None:
        """Report the finished share, between 0 and 1, and a few words."""
        ...


class Job(Protocol[T_co]):
    """A piece of work that can be pickled; tensors in it are shared with workers, not copied.

    It may have attributes: ``memory``, the bytes that it takes (jobs that do not fit side by side
    then run one after the other); ``threads``, 1 without it; ``device``, the CPU without it. Its
    method ``elsewhere``, if there is one, gives the job that another machine is to run.
    """

    def __call__(self, tell: Tell) -> T_co:
        """Run the job and return the result; regularly report where it is."""
        ...


#: Called with the sum of the finished shares of the running jobs.
OnProgress = Callable[[float], None]
#: Called with a few words about what is going on.
OnNote = Callable[[str], None]


class Executor(ABC):
    """Runs jobs and returns results as they finish; a context manager that frees its resources.

    Jobs are taken from the iterable when there is room, so the next one can be prepared while
    others are running. Leaving the loop over the results stops the running jobs; results returned
    before are complete. An executor can be used repeatedly.
    """

    @abstractmethod
    def run(
        self,
        jobs: Iterable[Job[T]],
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> Iterator[tuple[Job[T], T | GaugError]]:
        """Run jobs and yield each with its result, or with the `GaugError` that it raised.

        Args:
            jobs: The jobs.
            on_progress: Called regularly, also while a job is running.
            on_note: Called regularly with the note of one of the running jobs.
        """

    def room(self) -> Room | None:
        """The memory that one job may take; None if it is not known here."""
        return None

    def ranking(self) -> AbstractContextManager[None]:
        """Within this context, rankings of all pairs of nodes are done where jobs are.

        By default they are done in this process; a cluster does their parts side by side.
        """
        return nullcontext()

    def close(self) -> None:  # noqa: B027 – for those that hold something
        """Stop everything that was started."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ThisProcess(Executor):
    """Runs one job after the other in this process."""

    def run(
        self,
        jobs: Iterable[Job[T]],
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> Iterator[tuple[Job[T], T | GaugError]]:
        """Do jobs and yield each with its result."""

        def tell(share: float, note: str = "") -> None:
            if on_note is not None and note:
                on_note(note)
            if on_progress is not None:
                on_progress(share)

        for job in jobs:
            result: T | GaugError
            try:
                result = job(tell)
            except GaugError as error:
                result = error
            yield job, result
            tell(0.0)

    def room(self) -> Room:
        """What this process may still take."""
        return Room.left()
