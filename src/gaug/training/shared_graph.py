"""One copy of a graph for all processes of a machine that train together."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from pathlib import Path

from safetensors import SafetensorError
from torch_geometric.data import Data

from gaug.errors import DataError, reason_of
from gaug.graph.fingerprint import graph_hash
from gaug.graph.mapped_graph import MappedGraph, map_graph, write_graph
from gaug.training.ranks import Ranks

_FILE = "graph.safetensors"


def shared_graph(graph: Data | None, ranks: Ranks) -> Data:
    """The same graph on all ranks, from one file on each machine.

    The first rank of a machine that has the graph writes it to a scratch file, which all ranks of
    the machine map into memory. The file is deleted as soon as they have: its contents are there
    until the last of them ends.

    Args:
        graph: A valid graph with its masks, on the CPU; None if another rank of this machine has
            it. The caller should not hold on to it.
        ranks: This process among those that train together.

    Raises:
        DataError: If ranks have different graphs, or a machine has none.
    """
    if ranks.size == 1 or isinstance(graph, MappedGraph):
        assert graph is not None, "a process alone has the graph"
        return graph
    fingerprint = None if graph is None else graph_hash(graph)
    machines = ranks.gathered((_machine(), fingerprint))
    _check_same([known for _, known in machines])
    having = [machine for machine, known in machines if known is not None]
    if missing := [machine for machine, _ in machines if machine not in having]:
        raise DataError(f"No process on machine {missing[0]} has the graph.")
    here = [rank for rank, (machine, _) in enumerate(machines) if machine == _machine()]
    writer = next(rank for rank in here if machines[rank][1] is not None)
    folder, problem = None, None
    with contextlib.ExitStack() as cleanup:
        if ranks.rank == writer and graph is not None:
            try:
                folder = tempfile.mkdtemp(prefix="gaug-")
                cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
                write_graph(graph, Path(folder, _FILE))
            except (OSError, SafetensorError) as error:
                problem = reason_of(error)
        files = ranks.gathered((folder, problem))
        for failed in [problem for _, problem in files if problem is not None]:
            raise DataError(
                f"The graph cannot be written to {tempfile.gettempdir()} ({failed}), from where all"
                " processes of a machine read it. Make room there, or set TMPDIR."
            )
        written = files[writer][0]
        assert written is not None
        mapped = map_graph(Path(written, _FILE))
        ranks.gathered(None)  # all have mapped it
    return mapped


def _machine() -> str:
    """What tells machines apart: torchrun's number of it, else its name."""
    return os.environ.get("GROUP_RANK") or socket.gethostname()


def _check_same(fingerprints: list[str | None]) -> None:
    known = {rank: one for rank, one in enumerate(fingerprints) if one is not None}
    first = min(known, default=0)
    for rank, one in known.items():
        if one != known[first]:
            raise DataError(
                "All processes must train on the same graph, got one with the fingerprint"
                f" {known[first]} on rank {first} and {one} on rank {rank}."
            )
