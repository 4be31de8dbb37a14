"""The memory of plans: what does not fit is refused, and no more workers start than fit."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable

from gaug.errors import ConfigError, GaugError
from gaug.memory import Room, check_fits
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.gaug_o.memory import edge_bytes
from gaug.methods.run_memory import RunMemory, run_memory
from gaug.models.config import ModelConfig
from gaug.runs.graphs import Graphs, PlacedPlan
from gaug.runs.plan import Plan
from gaug.runs.resolving import automatic_batching
from gaug.runs.worker_processes import WORKER_BYTES

_LEAST_HIDDEN = 8
# Neighbors to follow where batches with all of them do not fit.
_FANOUT = 10


def plan_memory(placed: PlacedPlan) -> RunMemory:
    """The memory of a run of a placed plan; nothing is known of one on another device."""
    if placed.plan.device != "cpu":
        return RunMemory(0)
    plan = placed.plan
    return run_memory(placed.size, plan.model, plan.method.config, plan.method.predictors)


def check_run(placed: PlacedPlan, room: Room | None) -> None:
    """Raise if a run does not fit, with what it takes and what would fit.

    Args:
        placed: The plan.
        room: The memory that a run may take; None if it is not known.
    """
    needed = plan_memory(placed).least
    if room is not None and needed > room.free:
        nodes = placed.task.adjacency.num_nodes
        check_fits(
            needed, f"A run of {placed.plan}", _remedy(placed, room), num_nodes=nodes, room=room
        )


def _remedy(placed: PlacedPlan, room: Room) -> str:
    """Mini-batches or the widest model that fits, if either does."""
    spec, training = placed.plan.model, placed.plan.training
    for fanout in (None, _FANOUT) if training.batch_size is None else ():
        batched = dataclasses.replace(training, batch_size="auto", fanout=fanout)
        with contextlib.suppress(ConfigError):
            plan = dataclasses.replace(placed.plan, training=batched)
            size = automatic_batching(plan, placed.task, room).training.batch_size
            given = "" if fanout is None else f" with fanout={fanout}"
            return f"batch_size={size}{given} would fit."
    fewer = _fewer_drawn(placed, room)
    if fewer is not None:
        return f"max_sampled_edges={fewer} would fit."
    if isinstance(spec.config, ModelConfig):
        hidden = spec.config.hidden // 2
        while hidden >= _LEAST_HIDDEN:
            narrow = spec.with_config(dataclasses.replace(spec.config, hidden=hidden))
            method = placed.plan.method
            fitting = run_memory(placed.size, narrow, method.config, method.predictors).least
            if fitting <= room.free:
                return f"hidden={hidden} would fit."
            hidden //= 2
    return "Use a smaller graph or a machine with more memory."


def _fewer_drawn(placed: PlacedPlan, room: Room) -> int | None:
    """How many edges GAug-O may add to a graph, if that is what does not fit."""
    config, memory = placed.plan.method.config, plan_memory(placed)
    if not isinstance(config, GAugOConfig) or not memory.certain:
        return None
    each = placed.size.passes * edge_bytes(placed.plan.model)
    fewer = int((room.free - memory.run) // each)
    return fewer if memory.prepare <= room.free and fewer > 0 else None


def fitting_workers(workers: int, plans: Iterable[Plan], graphs: Graphs) -> int:
    """The number of workers, or as many as fit side by side; at least 1, which is this process.

    Args:
        workers: The most to use.
        plans: What they will run; plans that cannot be run are left out.
        graphs: Where graphs come from.
    """
    if workers < 2:
        return workers
    return workers_in(Room.left().free, largest_run(plans, graphs), workers)


def largest_run(plans: Iterable[Plan], graphs: Graphs) -> RunMemory:
    """The most that a run of any of the plans takes."""
    found = [RunMemory(0)]
    for plan in plans:
        with contextlib.suppress(GaugError):  # told when its turn comes
            found.append(plan_memory(graphs.place(plan)))
    return max(found, key=lambda memory: memory.peak)


def workers_in(free: int, memory: RunMemory, most: int) -> int:
    """How many workers fit into so many bytes, at least 1 and at most ``most``."""
    each = worker_memory(memory)
    return max(1, min(most, (free - memory.prepare) // each))


def worker_memory(memory: RunMemory) -> int:
    """What a worker takes: its own Python, and the run."""
    return WORKER_BYTES + memory.run + memory.drawn
