"""Processes that train together, for tests: each is a rank of a process group of gloo."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

# Imported once, by the process that all others are forked from.
_PRELOADED = ["gaug.methods.gaug_m.method", "gaug.methods.gaug_o.method", "torch.distributed"]


class EndedEarlyError(Exception):
    """A process ended without a result."""


def together(
    size: int, work: Callable[[int, Path], Any], folder: Path, *, lost: int | None = None
) -> list[Any]:
    """What some work gives on each rank; raises what one of them raises.

    Args:
        size: Number of ranks.
        work: A function of a module, called with the rank and the folder.
        folder: A folder that nobody else uses.
        lost: A rank that is expected to die; its result is None.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    processes = [
        context.Process(target=_member, args=(work, rank, size, folder)) for rank in range(size)
    ]
    for process in processes:
        process.start()
    running: dict[Any, Any] = {process.sentinel: process for process in processes}
    try:
        while running:
            for ended in multiprocessing.connection.wait(list(running)):
                process = running.pop(ended)
                process.join()
                rank = processes.index(process)
                if rank != lost and not _path(folder, rank).exists():
                    problem = folder / f"{rank}.traceback"
                    told = problem.read_text() if problem.exists() else f"exit {process.exitcode}"
                    raise EndedEarlyError(f"rank {rank}: {told}")
    finally:
        for process in running.values():
            process.kill()
            process.join()
    if lost is not None:
        assert processes[lost].exitcode == -signal.SIGKILL
    return [
        None if rank == lost else torch.load(_path(folder, rank), weights_only=False)
        for rank in range(size)
    ]


def _member(work: Callable[[int, Path], Any], rank: int, size: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=size,
        timeout=timedelta(minutes=2),
    )
    try:
        result = work(rank, folder)
    except BaseException:
        (folder / f"{rank}.traceback").write_text(traceback.format_exc())
        raise
    torch.save(result, _path(folder, rank))


def _path(folder: Path, rank: int) -> Path:
    return folder / f"{rank}.result"
