"""Where the time of an epoch goes, and what bounds it."""

from __future__ import annotations

import time

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.graphs import benchmark_graph
from benchmarks.ours import Job
from gaug.graph.sparse import SparseMatrix
from gaug.training.task import Task

_EPOCHS = 20
_KINDS = {
    "sparse products": ("embedding_bag",),
    "dense products": ("mm",),
    "random numbers": ("random_",),
    "optimizer": ("adam",),
    "other arithmetic": ("aten::",),
}


def epoch_breakdown(name: str) -> list[str]:
    """Lines that say how an epoch divides, with one thread."""
    torch.set_num_threads(1)
    data, title = benchmark_graph(name)
    task = Task.of(data)
    warm, job = Job(task, 0, epochs=2), Job(task, 0, epochs=_EPOCHS)
    warm(lambda *_: None)
    start = time.perf_counter()
    job(lambda *_: None)
    wall = (time.perf_counter() - start) / _EPOCHS
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        job(lambda *_: None)
    spent = dict.fromkeys(_KINDS, 0.0)
    for row in profiler.key_averages():
        key = row.key.lower()
        kind = next((kind for kind, words in _KINDS.items() if any(w in key for w in words)), None)
        if kind is not None:
            spent[kind] += row.self_cpu_time_total / 1e6 / _EPOCHS
    lines = [f"{title}, GCN, one thread: {1e3 * wall:.1f} ms an epoch, validation included"]
    lines += [f"  {1e3 * seconds:6.2f} ms  {kind}" for kind, seconds in spent.items()]
    rest = max(0.0, wall - sum(spent.values()))
    lines.append(f"  {1e3 * rest:6.2f} ms  Python and dispatch")
    # Each stored entry reads its index, its value and one row of the dense factor.
    pattern = task.adjacency.looped[0]
    width, products = 128, 3  # forward, backward, validation
    bytes_read = products * pattern.nnz * (8 + 4 + 4 * width)
    if isinstance(task.features, SparseMatrix):
        bytes_read += products * task.features.pattern.nnz * (8 + 4 + 4 * width)
    rate = bytes_read / spent["sparse products"] / 1e9
    lines.append(
        f"  The sparse products read {rate:.0f} GB/s; copying memory here does"
        f" {_copy_rate():.0f} GB/s: "
        + ("bound by memory." if rate > 0.5 * _copy_rate() else "bound by latency and overhead.")
    )
    return lines


def _copy_rate() -> float:
    source = torch.ones(64_000_000)
    target = torch.empty_like(source)
    target.copy_(source)
    start = time.perf_counter()
    target.copy_(source)
    return 2 * 4 * source.numel() / (time.perf_counter() - start) / 1e9
