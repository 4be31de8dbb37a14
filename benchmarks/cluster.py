"""The same runs by worker processes and on a Ray cluster of this machine: time, and bytes sent.

``python -m benchmarks.cluster [GRAPH] [--runs N] [--times N]`` does the runs on two workers and on
a Ray node of two CPUs, in turn, each with new processes, and compares the records. The node is
started before. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from gaug.runs.execute import execute
from gaug.runs.executor import Executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.ray_cluster import RayCluster
from gaug.runs.worker_processes import WorkerProcesses

_CPUS = 2


def main() -> None:
    """Print the times of both, their ratio, and what was sent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", default="cora", help="A graph of the catalog.")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--times", type=int, default=1, help="Measurements of each.")
    given = parser.parse_args()
    from ray.cluster_utils import Cluster

    size = {"num_cpus": _CPUS, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=size)
    plan, graphs = Plan.of(given.graph), Graphs()
    graphs.place(plan)
    ratios = []
    try:
        for _ in range(given.times):
            here, expected = _timed(lambda: WorkerProcesses(_CPUS), plan, given.runs, graphs)
            there, found = _timed(lambda: RayCluster(cluster.address), plan, given.runs, graphs)
            assert found == expected, "the records must be the same"
            ratios.append(there / here)
            print(f"workers {here:.1f} s, Ray {there:.1f} s, ratio {ratios[-1]:.2f}", flush=True)
        print(f"ratio: {statistics.median(ratios):.2f} (median of {given.times})")
        _print_bytes(cluster.address, plan, graphs)
    finally:
        cluster.shutdown()


def _timed(
    open_executor: Callable[[], Executor], plan: Plan, runs: int, graphs: Graphs
) -> tuple[float, list[Any]]:
    """Seconds from the start of the executor to its end, and the scores."""
    begun = time.perf_counter()
    with open_executor() as executor:
        records = execute(plan, runs=runs, executor=executor, graphs=graphs)
    seconds = time.perf_counter() - begun
    return seconds, [(record.val_score, record.test_score) for record in records]


def _print_bytes(address: str, plan: Plan, graphs: Graphs) -> None:
    from gaug.runs.object_store import ObjectStore
    from gaug.runs.run_job import RunJob

    with RayCluster(address) as executor:
        execute(plan, runs=1, executor=executor, graphs=graphs)  # lays the graph out
        prepared = graphs.prepare(graphs.place(plan), hide_test=False)
        store = ObjectStore()
        sizes = [len(store.pack(RunJob(prepared, run))[0]) for run in range(3)]
        print(f"sent once: {sum(store.sizes):,} bytes in {len(store.sizes)} objects")
    print(f"sent per run: {max(sizes):,} bytes")


if __name__ == "__main__":
    main()
