"""One training on several processes: time per epoch, bytes between them, and memory of each.

Run as ``torchrun --standalone --nproc-per-node RANKS -m benchmarks.ranks [STRUCTURE]``, where
STRUCTURE is a file as for `benchmarks.made_arxiv`; without it, a synthetic graph of the size of
ogbn-arxiv takes its place. A GCN with 128 hidden units, batches of 1,024 training nodes, 10
neighbors followed, no validation, each process on one core, on which it computes and prepares the
next batch. With ``--private`` each process has a copy of the graph of its own.

Prints the median seconds of an epoch after the first; the processor seconds of each process per
epoch, which mean something on a busy machine, too; the bytes that the loopback interface carried
per step, which other programs should not use at that time; and the memory that is a process's own
(USS) and its share in all memory (PSS): at their peaks, and held when training is over and every
page of the graph has been used.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import itertools
import json
import os
import statistics
import threading
import time
from pathlib import Path

import psutil
import torch
import torch.distributed as dist
from torch_geometric.data import Data

from benchmarks.batches import BATCH_SIZE, benchmark_graph
from gaug import GCNConfig, NoAugmentation
from gaug.graph.mapped_graph import MappedGraph
from gaug.training.progress import Progress
from gaug.training.ranks import ranks_here
from gaug.training.shared_graph import shared_graph

_SECONDS_BETWEEN = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("structure", nargs="?", type=Path)
    parser.add_argument("--private", action="store_true", help="A copy of the graph per process.")
    parser.add_argument("--epochs", type=int, default=4)
    given = parser.parse_args()
    torch.set_num_threads(1)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["LOCAL_RANK"]) % len(cores)]})
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    graph = _graph(given.structure, private=given.private)
    method = NoAugmentation(
        model=GCNConfig(hidden=128),
        epochs=given.epochs,
        batch_size=BATCH_SIZE,
        fanout=10,
        selection="last",
    )
    ends: list[float] = []
    sent: list[int] = []

    def note(now: Progress) -> None:
        if now.epochs == int(now.epochs):
            ends.append(time.perf_counter())
            sent.append(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)

    memory = _Memory()
    memory.start()
    before = time.process_time()
    classifier = method.fit(graph, on_progress=note)
    computed = time.process_time() - before
    memory.stop.set()
    memory.join()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # gives back what glibc keeps for what is allocated next
    dist.barrier()  # what the only process maps counts as its own
    held = psutil.Process().memory_full_info()
    dist.barrier()
    network = classifier.fitted.network
    assert network is not None
    steps = -(-int(graph.train_mask.sum()) // BATCH_SIZE)
    row = {
        "rank": f"{rank} of {size}",
        "cpu_seconds": computed / given.epochs,
        "peak_own_mb": memory.own / 1e6,
        "peak_share_mb": memory.share / 1e6,
        "held_own_mb": held.uss / 1e6,
        "held_share_mb": held.pss / 1e6,
    }
    if rank == 0:
        row |= {
            "seconds": statistics.median(b - a for a, b in itertools.pairwise(ends)),
            "parameters": sum(one.numel() for one in network.parameters()),
            "bytes_per_step": (sent[-1] - sent[0]) / (steps * (len(sent) - 1)),
        }
    print(json.dumps(row), flush=True)
    dist.destroy_process_group()


def _graph(structure: Path | None, *, private: bool) -> Data:
    if private:
        # Of this class, it is taken for one that all share.
        return MappedGraph(**benchmark_graph(structure).to_dict())
    reads = int(os.environ["LOCAL_RANK"]) == 0
    with ranks_here() as ranks:
        return shared_graph(benchmark_graph(structure) if reads else None, ranks)


class _Memory(threading.Thread):
    """Samples the memory of this process: its own, and its share in all."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self.own = self.share = 0

    def run(self) -> None:
        process = psutil.Process()
        while not self.stop.wait(_SECONDS_BETWEEN):
            now = process.memory_full_info()
            self.own, self.share = max(self.own, now.uss), max(self.share, now.pss)


if __name__ == "__main__":
    main()
