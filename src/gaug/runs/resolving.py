"""Settings that are left to gaug, decided for a graph: GAug-O's engine and the size of batches."""

from __future__ import annotations

import dataclasses

import torch

from gaug.errors import ConfigError
from gaug.memory import Room, size_text
from gaug.models.calling import hops_of
from gaug.models.spec import ModelSpec
from gaug.runs.plan import Plan
from gaug.runs.run_memory import GraphSize, run_memory
from gaug.training.batches import MiniBatches
from gaug.training.config import TrainingConfig
from gaug.training.task import Task

# Batches that are looked at, and how much larger others may be.
_LOOKED_AT = 2
_OTHERS = 1.1
_SMALLEST_BATCH = 16
_LARGEST_BATCH = 65_536
# A batch size is taken if a run needs this share of what is free at most: a little less is free
# when the run begins.
_SHARE = 0.9


@dataclasses.dataclass(frozen=True)
class Resolved:
    """A plan whose settings are all decided.

    Attributes:
        plan: The plan.
        note: What was decided by the memory at hand, and why; None if nothing was.
    """

    plan: Plan
    note: str | None = None


def resolved(plan: Plan, task: Task, room: Room | None = None) -> Resolved:
    """Decide what a plan leaves open.

    Args:
        plan: The plan.
        task: Its graph, laid out.
        room: The memory that a run may take; by default what is left at this moment.
    """
    config = plan.method.config.resolved(task.adjacency.num_nodes)
    plan = dataclasses.replace(plan, method=dataclasses.replace(plan.method, config=config))
    if plan.training.batch_size != "auto":
        return Resolved(plan)
    room = room or Room.left()
    whole = dataclasses.replace(plan.training, batch_size=None, fanout=None, batch_hops=None)
    needed = _needed(plan, task, whole)
    if needed <= room.free:
        return Resolved(
            dataclasses.replace(plan, training=whole),
            f"batch_size=auto trains on the whole graph: a run takes about {size_text(needed)}, and"
            f" {room}.",
        )
    size = min(_LARGEST_BATCH, 1 << (task.train.numel().bit_length() - 1))
    while size >= min(_SMALLEST_BATCH, task.train.numel()):
        batched = dataclasses.replace(plan.training, batch_size=size)
        taken = _needed(plan, task, batched)
        if taken <= _SHARE * room.free:
            return Resolved(
                dataclasses.replace(plan, training=batched),
                f"batch_size=auto is {size:,}, which takes about {size_text(taken)}: the whole"
                f" graph would take about {size_text(needed)}, and {room}.",
            )
        size //= 2
    fanout = "" if plan.training.fanout is not None else " Set a fanout, for instance fanout=10."
    raise ConfigError(
        f"No batch_size fits: even batches of {_SMALLEST_BATCH} training nodes take about"
        f" {size_text(taken)}, and {room}.{fanout}"
    )


def size_of(plan: Plan, task: Task) -> GraphSize:
    """The size of a graph, and of what one step of a plan's training holds.

    Args:
        plan: The plan.
        task: Its graph, laid out.
    """
    return _size(plan.model, task, plan.training)


def _needed(plan: Plan, task: Task, training: TrainingConfig) -> int:
    size = _size(plan.model, task, training)
    return run_memory(size, plan.model, plan.method.config).least


def _size(model: ModelSpec, task: Task, training: TrainingConfig) -> GraphSize:
    whole = GraphSize.of(task.features, task.adjacency.pattern.nnz // 2)
    size = dataclasses.replace(whole, passes=max(1, training.consistency_passes))
    if not isinstance(training.batch_size, int):
        return size
    hops = training.batch_hops
    if hops is None:
        with torch.random.fork_rng(devices=[]):
            hops = hops_of(model.build(task.in_features, task.num_classes))
    batches = MiniBatches(
        task,
        task.adjacency,
        batch_size=training.batch_size,
        hops=hops or 0,  # an unknown depth is refused when training begins
        fanout=training.fanout,
        seed=(0,),
        ahead=0,
    )
    graphs = [
        batch.adjacency for batch, _ in zip(batches.epoch(0), range(_LOOKED_AT), strict=False)
    ]
    nodes = max(graph.num_nodes for graph in graphs)
    pairs = max(graph.num_pairs for graph in graphs)
    return dataclasses.replace(
        size,
        step_nodes=min(size.nodes, int(_OTHERS * nodes)),
        step_pairs=min(size.pairs, int(_OTHERS * pairs)),
    )
