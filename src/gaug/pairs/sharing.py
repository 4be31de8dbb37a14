"""Work on tiles of pairs, shared out among threads.

A tile is too little work for several threads: they would wait for each other longer than they
work. So each thread has tiles of its own, and works on them alone.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from gaug.pairs.tiles import Tile, tiles

_Result = TypeVar("_Result")


def share_tiles(
    work: Callable[[Iterator[Tile]], _Result], num_nodes: int, side: int, device: torch.device
) -> list[_Result]:
    """What each thread makes of its tiles, without a gradient.

    There are as many threads as PyTorch may use here; on another device than the CPU, one. Who
    has which tiles does not depend on who is faster, so a sum over the results is the same each
    time.

    Args:
        work: Goes through the tiles that it is given.
        num_nodes: Number of nodes.
        side: Nodes along a side of a tile.
        device: Where the work is done.
    """
    bands = -(-num_nodes // side)
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    shares = min(threads, bands * (bands + 1) // 2)
    alone = torch.no_grad()(work)
    if shares <= 1:
        return [alone(tiles(num_nodes, side))]
    parts = [itertools.islice(tiles(num_nodes, side), k, None, shares) for k in range(shares)]
    return list(_pool(threads).map(alone, parts))


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads for each of which PyTorch works without others."""
    pool = ThreadPoolExecutor(threads, "gaug-tiles")
    all_there = threading.Barrier(threads)

    def settle() -> None:
        torch.get_num_threads()  # a thread takes over the process's number once, on first use
        torch.set_num_threads(1)
        all_there.wait()

    for settled in [pool.submit(settle) for _ in range(threads)]:
        settled.result()
    # The number is kept for each thread, but also for all that come later: those have it back.
    torch.set_num_threads(threads)
    return pool


if hasattr(os, "register_at_fork"):
    # A forked process has the pool, but none of its threads: it would wait for them for ever.
    os.register_at_fork(after_in_child=_pool.cache_clear)
