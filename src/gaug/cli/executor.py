"""Where the runs of a command are done: on this machine, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from gaug.cli.memory_words import tell_memory
from gaug.config import check_count
from gaug.errors import ConfigError

if TYPE_CHECKING:
    from gaug.runs.executor import Executor
    from gaug.runs.graphs import Graphs
    from gaug.runs.plan import Plan

#: The environment variable with the address of a cluster.
VARIABLE = "GAUG_CLUSTER"


def _by_environment(value: str | None) -> str | None:
    return value or os.environ.get(VARIABLE) or None


Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        callback=_by_environment,
        help=f"Ray cluster to use: auto, host:port or ray://host:port. Also {VARIABLE}.",
    ),
]


def open_executor(
    workers: int | None,
    cluster: str | None,
    *,
    runs: int,
    plans: Iterable[Plan],
    graphs: Graphs,
    quiet: bool,
) -> Executor:
    """A cluster if one is given, else as many workers as make sense and fit into memory.

    Args:
        workers: The given number of workers, if any.
        cluster: Address of a Ray cluster, if any.
        runs: Number of runs.
        plans: What will run.
        graphs: Where graphs come from.
        quiet: Whether to report nothing.
    """
    from gaug.runs.executors import cluster_executor, local_executor

    if cluster is not None:
        tell_memory(list(plans), graphs, workers=None, quiet=quiet)
        return cluster_executor(cluster, workers)
    sensible = sensible_workers(workers, runs)
    return local_executor(workers_that_fit(sensible, plans, graphs, quiet=quiet))


def check_workers(workers: int | None) -> None:
    """Raise if there is not at least one worker, before anything is loaded."""
    if workers is not None:
        check_count("workers", workers)


def check_limit(max_memory: str | None, cluster: str | None) -> None:
    """Raise if a limit of this machine is given for runs that are done on others.

    Args:
        max_memory: The limit on the command line. That of the environment may be for others.
        cluster: Address of a Ray cluster, if any.
    """
    if max_memory is not None and cluster is not None:
        raise ConfigError(
            "--max-memory limits this machine, and runs on a cluster go by the memory of its"
            f" machines, got {max_memory} and the cluster {cluster}. Leave it out, or limit the"
            " machines: ray start --memory BYTES."
        )


def sensible_workers(workers: int | None, runs: int) -> int:
    """The given number; by default one process per core, with at least four runs each.

    A process takes seconds to start, which does not pay off for one or two runs.
    """
    check_workers(workers)
    if workers is not None:
        return workers
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, runs // 4))


def workers_that_fit(workers: int, plans: Iterable[Plan], graphs: Graphs, *, quiet: bool) -> int:
    """As many of the workers as fit into memory; what memory decides is told in one line."""
    from gaug.runs.memory import fitting_workers

    plans = list(plans)
    fitting = fitting_workers(workers, plans, graphs)
    tell_memory(plans, graphs, workers=fitting, wanted=workers, quiet=quiet)
    return fitting
