"""Where the runs of a command are done: on this machine, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from gaug.cli import options

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
        return cluster_executor(cluster, workers)
    sensible = options.sensible_workers(workers, runs)
    return local_executor(options.workers_that_fit(sensible, plans, graphs, quiet=quiet))
