"""Ctrl-C while worker processes are running: what is finished is handed on first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Inherited by processes started meanwhile, so that none dies while it imports."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class DeferredInterrupts:
    """Defers Ctrl-C within the block, so that finished results are returned first.

    An exception while a lock is held or a record is written could corrupt either. A second Ctrl-C
    raises at once.
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

    def undeferred(self, jobs: Iterator[T]) -> T | None:
        """The next job, if any; while it is prepared, Ctrl-C acts at once."""
        if not self._in_main_thread:
            return next(jobs, None)
        signal.signal(signal.SIGINT, self._before)
        try:
            return next(jobs, None)
        except KeyboardInterrupt:
            self._asked.set()  # results finished meanwhile are returned first
            return None
        finally:
            signal.signal(signal.SIGINT, self._note)

    def raise_if_asked(self) -> None:
        """Raise `KeyboardInterrupt` if Ctrl-C was pressed."""
        if self._asked.is_set():
            raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        self._asked.set()
        signal.signal(signal.SIGINT, self._before)
