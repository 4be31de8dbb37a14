"""What the memory at hand decided, in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gaug.errors import GaugError

if TYPE_CHECKING:
    from gaug.methods.run_memory import RunMemory
    from gaug.runs.graphs import Graphs, PlacedPlan
    from gaug.runs.plan import Plan


def tell_memory(
    plans: Sequence[Plan],
    graphs: Graphs,
    *,
    workers: int | None = 1,
    wanted: int = 1,
    quiet: bool = False,
) -> None:
    """Report on standard error what memory decided: under a limit always, else what it changed.

    Args:
        plans: What will run. Of one alone everything is told, of several the number of workers.
        graphs: Where graphs come from.
        workers: The number of workers that fit; None: they are elsewhere.
        wanted: Their number without regard to memory.
        quiet: Whether to report nothing.
    """
    if quiet or (wanted == 1 and len(plans) > 1):
        return
    from gaug.memory import free_memory
    from gaug.runs.memory import largest_run

    try:
        placed = graphs.place(plans[0]) if len(plans) == 1 else None
    except GaugError:
        return  # told when its turn comes
    largest = largest_run(plans, graphs)
    if workers is not None and largest.least > free_memory():
        return  # refused in its own words
    words: list[str] = []
    # A note on the batch size has the figures of a run already.
    noted = placed is not None and placed.note is not None
    if workers is not None and largest.peak > 0 and (wanted > 1 or not noted):
        words += _of_workers(largest, workers, wanted)
    if placed is not None:
        words += _of_plan(plans[0], placed)
        words += _of_pairs(placed, largest) if workers is not None else []
    if words:
        print(f"gaug: {' '.join(words)}", file=sys.stderr)


def _of_workers(largest: RunMemory, workers: int, wanted: int) -> Iterator[str]:
    from gaug.memory import Room, max_memory, size_text
    from gaug.runs.memory import worker_memory

    if workers == wanted and max_memory() is None:
        return
    room = Room.left()
    number = f"{workers} worker{'s' if workers > 1 else ''}"
    instead = f" instead of {wanted}" if workers < wanted else ""
    what, each = ("worker", worker_memory(largest)) if wanted > 1 else ("run", largest.least)
    source = "are free" if room.limit is None else "may be used (--max-memory)"
    yield (
        f"{number}{instead}: a {what} takes about {size_text(each)} and {size_text(room.free)}"
        f" {source}."
    )


def _of_plan(asked: Plan, placed: PlacedPlan) -> Iterator[str]:
    from gaug.memory import max_memory

    if placed.note is not None:
        yield placed.note
    if max_memory() is not None and _engine(asked) == "auto":
        yield f"engine=auto is {_engine(placed.plan)}, by the number of nodes and the settings."


def _of_pairs(placed: PlacedPlan, memory: RunMemory) -> Iterator[str]:
    from gaug.edge_predictors.config import GAEConfig
    from gaug.memory import free_memory
    from gaug.pairs.blocks import default_block, usual_block

    plan, num_nodes = placed.plan, placed.task.adjacency.num_nodes
    if _engine(plan) == "blocked" and memory.peak > free_memory():
        yield (
            "The graphs that GAug-O draws may not fit; each is checked before it is drawn."
            " engine=sparse limits them."
        )
    block = default_block(num_nodes)
    ranks = any(isinstance(config, GAEConfig) for config in plan.method.predictors.values())
    if ranks and block < usual_block(num_nodes):
        yield (
            f"All pairs are ranked by about {block:,} at a time instead of"
            f" {usual_block(num_nodes):,}: an eighth of the memory that is left."
        )


def _engine(plan: Plan) -> str | None:
    return getattr(plan.method.config, "engine", None)
