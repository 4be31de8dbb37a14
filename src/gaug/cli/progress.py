"""Progress on standard error, with the remaining time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from gaug.training.time_left import TimeLeft

# Without a terminal, print a line at this interval instead of a bar.
_SECONDS_BETWEEN_LINES = 30.0


class Moving:
    """A progress bar: call it with what is done so far.

    Args:
        bar: The bar.
        what: What it is about.
        total: How much there is to do.
        unit: What is counted.
        quiet: Whether nothing is shown.
    """

    def __init__(self, bar: Progress, what: str, total: int, unit: str, quiet: bool) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total, note="")
        self._start = f"{what}: "
        self._end = f" of {total} {unit}"
        self._total = total
        self._before: float | None = None  # what was done when it began
        self._left = TimeLeft(time.monotonic)
        self._quiet = quiet
        self._note = ""
        self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def __call__(self, done: float) -> None:
        """Show what is done."""
        self._bar.update(self._task, completed=round(done, 1))
        self._before = done if self._before is None else self._before
        if self._bar.disable and not self._quiet and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            note = f" ({self._note})" if self._note else ""
            share = (done - self._before) / max(self._total - self._before, 1e-9)
            line = f"{self._start}{int(done)}{self._end}{self._left.words(share)}{note}"
            self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def note(self, words: str) -> None:
        """Show a few words about what is going on."""
        self._note = words
        self._bar.update(self._task, note=words)


@contextlib.contextmanager
def run_progress(what: str, total: int, *, quiet: bool, unit: str = "runs") -> Iterator[Moving]:
    """A progress bar over runs or other units."""
    columns = (
        TextColumn("{task.description}", markup=False),  # it has names of users
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit},"),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("{task.fields[note]}", markup=False),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        yield Moving(bar, what, total, unit, quiet)
