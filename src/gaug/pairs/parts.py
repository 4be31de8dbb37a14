"""The parts of a ranking: ranges of rows, each ranked alone, here or on other machines.

The best pairs of all are among the best of the parts, and the score of a pair depends neither on
its part nor on its block. So the result is the same to the last bit, however rows are divided.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from gaug.pairs.best_pairs import BestPairs
from gaug.pairs.blocks import default_block, row_blocks, row_ranges, square_blocks
from gaug.pairs.listed_offers import ListedOffers
from gaug.pairs.offers import Offers
from gaug.pairs.scores import PairScores, are_mostly_zero

#: Called with the share of the work done so far.
OnShare = Callable[[float], None]

#: Pairs in a part: some seconds of work.
PAIRS_IN_PART = 1 << 30
# Parts of a ranking at most: each costs a little to send.
_MOST_PARTS = 4096

# Bytes of a part beyond its block, which takes no more than is free: per edge and direction that it
# knows, and per pair that it looks for.
_FIXED, _EDGE, _PAIR = 400_000_000, 55, 100


class Gatherer(Protocol):
    """Looks at one block of rows after the other, and keeps what is of use."""

    def visit(self, start: int, stop: int) -> None:
        """Look at the rows of nodes start to stop."""
        ...

    def collected(self) -> tuple[np.ndarray, ...]:
        """What was found."""
        ...


@dataclass(frozen=True)
class Part:
    """Some rows of a ranking, with everything that it takes to rank them.

    Attributes:
        scores: Scores of all pairs.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        num_nodes: Number of nodes.
        count: Number of pairs to find, or of pairs that each node offers.
        rows: The rows.
        per_node: Whether nodes offer pairs.
        block_elements: Scores computed at a time; None: by the memory at hand.
        floor: A score that pairs must reach to be of use.
        positive: Whether only pairs with a positive score are of use.
    """

    scores: PairScores
    edges: Tensor
    num_nodes: int
    count: int
    rows: range
    per_node: bool = False
    block_elements: int | None = None
    floor: float = -np.inf
    positive: bool = False

    @property
    def memory(self) -> int:
        """Bytes that it takes, about."""
        directions, offering = (2, len(self.rows)) if self.per_node else (1, 1)
        return _FIXED + _EDGE * directions * self.edges.size(1) + _PAIR * self.count * offering

    def __call__(self, tell: OnShare) -> tuple[np.ndarray, ...]:
        """What is found: scores and keys of pairs, and first the round of each if nodes offer."""
        seen = self._gatherer()
        pairs = self._pairs_to(self.rows.stop)
        for block in self._blocks():
            seen.visit(block.start, block.stop)
            tell(self._pairs_to(block.stop) / pairs)
        return seen.collected()

    def _gatherer(self) -> Gatherer:
        """What looks at the blocks."""
        graph = (self.edges, self.num_nodes, self.count)
        if not self.per_node:
            return BestPairs(self.scores, *graph, self.floor, positive=self.positive)
        if are_mostly_zero(self.scores):
            return ListedOffers(self.scores, *graph)
        return Offers(self.scores, *graph)

    def _blocks(self) -> Iterator[range]:
        """The rows that are looked at together."""
        if are_mostly_zero(self.scores) and (self.per_node or self.positive):
            return row_ranges(self.rows, self.scores.block_rows)
        size = self.block_elements or default_block(self.num_nodes)
        if self.per_node:
            return square_blocks(self.num_nodes, size, self.rows)
        return row_blocks(self.num_nodes, size, self.rows)

    def _pairs_to(self, row: int) -> int:
        """Pairs in the rows before this one."""
        if self.per_node:
            return (row - self.rows.start) * self.num_nodes
        return pairs_before(row, self.num_nodes) - pairs_before(self.rows.start, self.num_nodes)


def pairs_before(row: int, num_nodes: int) -> int:
    """Pairs, on and above the diagonal, in the rows before this one."""
    return row * num_nodes - row * (row - 1) // 2


def equal_parts(num_nodes: int, num_rows: int, *, triangle: bool) -> list[range]:
    """The first rows in ranges with about as many pairs each.

    Args:
        num_nodes: Number of nodes.
        num_rows: Number of rows.
        triangle: Whether only pairs on and above the diagonal count.
    """
    total = pairs_before(num_rows, num_nodes) if triangle else num_rows * num_nodes
    wanted = min(max(1, total // PAIRS_IN_PART), _MOST_PARTS, max(1, num_rows))
    places = np.arange(1, wanted) / wanted
    if triangle:
        # Where so many of the pairs are above: the root of row * num_nodes - row² / 2.
        stops = num_nodes - np.sqrt(np.maximum(num_nodes**2 - 2.0 * places * total, 0))
    else:
        stops = places * num_rows
    edges = [0, *np.unique(stops.astype(np.int64).clip(1, max(1, num_rows - 1))).tolist(), num_rows]
    return [range(*pair) for pair in itertools.pairwise(edges) if pair[0] < pair[1]]


#: Does parts in any order and yields each with what it found, or with an error; is called, besides
#: the parts, with what to call with the sum of the shares of those under way.
DoParts = Callable[[Iterable[Any], OnShare], Iterator[tuple[Any, Any]]]

_elsewhere: ContextVar[DoParts | None] = ContextVar("elsewhere", default=None)


@contextlib.contextmanager
def parts_done_by(do_parts: DoParts) -> Iterator[None]:
    """Within the block, rankings of more than one part are done that way."""
    token = _elsewhere.set(do_parts)
    try:
        yield
    finally:
        _elsewhere.reset(token)


_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@contextlib.contextmanager
def ranking_threads(threads: int) -> Iterator[None]:
    """Within the block, rankings that are done here compute with so many threads.

    Whatever else is computed there may depend on the number of threads; a ranking does not.
    """
    token = _threads.set(threads)
    try:
        yield
    finally:
        _threads.reset(token)


def do_parts(
    rows: Iterable[range],
    make: Callable[[range], Part],
    take: Callable[[tuple[np.ndarray, ...]], None],
    on_share: OnShare | None,
) -> None:
    """Do the parts of a ranking where that is done.

    Args:
        rows: The rows of each.
        make: Makes the part of some rows, when its turn comes.
        take: Called with what each part found.
        on_share: Called with the share of the work done so far.
    """
    rows = list(rows)
    do, done = _elsewhere.get(), 0

    def tell(under_way: float) -> None:
        if on_share is not None and rows:
            on_share(min(1.0, (done + under_way) / len(rows)))

    if do is None or len(rows) < 2:
        with _with_threads(_threads.get()):
            for some in rows:
                take(make(some)(tell))
                done += 1
        return
    results = do((make(some) for some in rows), tell)
    with contextlib.closing(results):  # type: ignore[type-var]
        for _, found in results:
            if isinstance(found, Exception):
                raise found
            take(found)
            done += 1
    tell(0.0)


@contextlib.contextmanager
def _with_threads(threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
