"""Settings that are left to gaug, decided for a graph: GAug-O's engine and the size of batches."""

from __future__ import annotations

import dataclasses

from gaug.errors import ConfigError
from gaug.memory import Room, size_text
from gaug.methods.run_memory import run_memory
from gaug.runs.plan import Plan
from gaug.training.config import TrainingConfig
from gaug.training.graph_size import GraphSize
from gaug.training.task import Task

_SMALLEST_BATCH = 16
_LARGEST_BATCH = 65_536
# A batch size is taken if a run needs this share of what is free at most: a little less is free
# when the run begins.
_SHARE = 0.9


@dataclasses.dataclass(frozen=True)
class Batching:
    """What ``batch_size=auto`` comes to.

    Attributes:
        training: The settings of training with the batch size that was decided.
        note: What was decided, and why.
    """

    training: TrainingConfig
    note: str


def with_engine(plan: Plan, task: Task) -> Plan:
    """A plan whose method has decided what depends on the number of nodes."""
    config = plan.method.config.resolved(task.adjacency.num_nodes)
    return dataclasses.replace(plan, method=dataclasses.replace(plan.method, config=config))


def automatic_batching(plan: Plan, task: Task, room: Room | None = None) -> Batching:
    """Decide the size of batches by the memory at hand.

    Args:
        plan: The plan.
        task: Its graph, laid out.
        room: The memory that a run may take; by default what is left at this moment.
    """
    room = room or Room.left()
    whole = dataclasses.replace(plan.training, batch_size=None, fanout=None, batch_hops=None)
    needed = _needed(plan, task, whole)
    if needed <= room.free:
        given = [
            name for name in ("fanout", "batch_hops") if getattr(plan.training, name) is not None
        ]
        unused = " and ".join(given)
        return Batching(
            whole,
            f"batch_size=auto trains on the whole graph{unused and f', without {unused}'}: a run"
            f" takes about {size_text(needed)}, and {room}. To repeat or resume it, set"
            f" batch_size=none{unused and f' and leave out {unused}'}.",
        )
    most = min(_LARGEST_BATCH, 1 << (task.train.numel().bit_length() - 1))
    smallest = size = min(_SMALLEST_BATCH, most)
    found, taken = None, 0
    # Upwards, so that no batch is looked at that is much larger than what fits.
    while size <= most:
        batched = dataclasses.replace(plan.training, batch_size=size)
        taken = _needed(plan, task, batched)
        if taken > _SHARE * room.free:
            break
        found = Batching(
            batched,
            f"batch_size=auto is {size:,}, which takes about {size_text(taken)}: the whole graph"
            f" would take about {size_text(needed)}, and {room}. To repeat or resume it, set"
            f" batch_size={size}.",
        )
        size *= 2
    if found is not None:
        return found
    fanout = "" if plan.training.fanout is not None else " Set a fanout, for instance fanout=10."
    raise ConfigError(
        f"No batch_size fits: even batches of {smallest} training nodes take about"
        f" {size_text(taken)}, and {room}.{fanout}",
        topic=room.topic,
    )


def _needed(plan: Plan, task: Task, training: TrainingConfig) -> int:
    size = GraphSize.in_training(task, plan.model, training)
    return run_memory(size, plan.model, plan.method.config, plan.method.predictors).peak
