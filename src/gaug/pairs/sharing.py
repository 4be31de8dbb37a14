"""Work on tiles of pairs, divided among threads.

A tile is too little work for several threads: they would spend more time waiting than working. So
each thread works alone on its own tiles.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from gaug.pairs.tiles import Tile, tiles

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def share_tiles(
    work: Callable[[Iterator[Tile]], _Result], num_nodes: int, side: int, device: torch.device
) -> list[_Result]:
    """The result of each thread for its tiles, as `share_out` gives them.

    Args:
        work: Processes the tiles that it is given.
        num_nodes: Number of nodes.
        side: Nodes along a side of a tile.
        device: Where to compute.
    """
    bands = -(-num_nodes // side)
    count = bands * (bands + 1) // 2
    return share_out(work, lambda: tiles(num_nodes, side), count, device)


def share_out(
    work: Callable[[Iterator[_Item]], _Result],
    items: Callable[[], Iterable[_Item]],
    count: int,
    device: torch.device,
) -> list[_Result]:
    """The result of each thread for its items, without a gradient.

    Uses as many threads as PyTorch may use, or one on any device other than the CPU. The assignment
    of items to threads is fixed, so a sum over the results is reproducible.

    Args:
        work: Processes the items that it is given.
        items: Makes the items, in the same order each time.
        count: Number of items.
        device: Where to compute.
    """
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    shares = min(threads, count)
    alone = torch.no_grad()(work)
    if shares <= 1:
        return [alone(iter(items()))]
    parts = [itertools.islice(items(), k, None, shares) for k in range(shares)]
    return list(_pool(threads).map(alone, parts))


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads in each of which PyTorch itself uses a single thread."""
    pool = ThreadPoolExecutor(threads, "gaug-tiles")
    all_there = threading.Barrier(threads)

    def settle() -> None:
        torch.get_num_threads()  # a thread copies the process's setting once, on first use
        torch.set_num_threads(1)
        all_there.wait()

    for settled in [pool.submit(settle) for _ in range(threads)]:
        settled.result()
    # The setting is per thread, but later threads inherit it: restore it for them.
    torch.set_num_threads(threads)
    return pool


if hasattr(os, "register_at_fork"):
    # A forked process inherits the pool without its threads and would wait for them forever.
    os.register_at_fork(after_in_child=_pool.cache_clear)
