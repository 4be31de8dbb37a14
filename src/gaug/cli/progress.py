"""Progress on standard error, with the remaining time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

# Without a terminal, print a line at this interval instead of a bar.
_SECONDS_BETWEEN_LINES = 30.0


@contextlib.contextmanager
def run_progress(
    what: str, total: int, *, quiet: bool, unit: str = "runs"
) -> Iterator[Callable[[float], None]]:
    """A progress bar over runs or other units; yields the function that updates it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit},"),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

        def move(done: float) -> None:
            nonlocal next_line
            bar.update(task, completed=round(done, 1))
            if bar.disable and not quiet and time.monotonic() >= next_line:
                next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
                console.print(f"{what}: {int(done)} of {total} {unit}", highlight=False)

        yield move
