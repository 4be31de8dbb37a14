"""Work on tiles of pairs, shared out among threads.

A tile is too little work for several threads: they would wait for each other longer than they
work. So each thread works alone, on one share of the tiles after the other.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from gaug.pairs.tiles import Tile, tiles

# Few, for each has results of its own; more than cores, so that a slow core holds up little.
_SHARES = 8

_Result = TypeVar("_Result")


def share_tiles(
    work: Callable[[list[Tile]], _Result], num_nodes: int, side: int, device: torch.device
) -> Iterator[_Result]:
    """What the work makes of each share of the tiles, without a gradient, in order.

    The shares are the same whatever the number of threads and whoever is faster, and so is a sum
    over the results. There are as many threads as PyTorch may use here; on another device than the
    CPU, one.

    Args:
        work: Goes through the tiles that it is given.
        num_nodes: Number of nodes.
        side: Nodes along a side of a tile.
        device: Where the work is done.
    """
    every = list(tiles(num_nodes, side))
    shares = [every[k::_SHARES] for k in range(min(_SHARES, len(every)))]
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    alone = torch.no_grad()(work)
    if min(threads, len(shares)) <= 1:
        return map(alone, shares)
    return _pool(threads).map(alone, shares)


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
