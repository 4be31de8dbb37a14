"""The executors to choose from."""

from __future__ import annotations

from collections.abc import Iterable

from gaug.config import check_count
from gaug.runs.executor import Executor, ThisProcess
from gaug.runs.graphs import Graphs
from gaug.runs.memory import fitting_workers
from gaug.runs.plan import Plan
from gaug.runs.worker_processes import WorkerProcesses


def choose_executor(
    workers: int | None, cluster: str | None, *, plans: Iterable[Plan], graphs: Graphs
) -> Executor:
    """A cluster if one is given, else this machine with as many workers as fit.

    Args:
        workers: Number of runs at a time at most. None: as many as a cluster has room for; without
            a cluster, one.
        cluster: Address of a Ray cluster; None: this machine.
        plans: What will run.
        graphs: Where graphs come from.
    """
    if cluster is not None:
        return cluster_executor(cluster, workers)
    return local_executor(fitting_workers(1 if workers is None else workers, plans, graphs))


def local_executor(workers: int) -> Executor:
    """The executor for a number of workers: one runs in this process, more in processes."""
    check_count("workers", workers)
    return ThisProcess() if workers == 1 else WorkerProcesses(workers)


def cluster_executor(address: str, workers: int | None = None) -> Executor:
    """The executor on a Ray cluster; see `gaug.runs.ray_cluster.RayCluster`."""
    from gaug.runs.ray_cluster import RayCluster  # slow to import, and often not installed

    return RayCluster(address, workers)
