"""Exact ranking of all node pairs, in memory for one block, the result and the edges.

Ties go to the pair with the lowest `gaug.pairs.hashing.pair_hash`, so the result depends neither on
block size or threads nor on the order of the nodes' classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gaug.errors import DataError
from gaug.graph.edges import keys_to_pairs, pair_keys
from gaug.memory import free_memory
from gaug.pairs.best_pairs import BestPairs
from gaug.pairs.hashing import key_hash
from gaug.pairs.offers import Offers
from gaug.pairs.scores import PairScores, check_not_nan

#: Called with the share of the work done so far.
OnShare = Callable[[float], None]


def part_of_work(on_share: OnShare | None, place: int, count: int) -> OnShare | None:
    """The progress callback for one of several equal parts of the work."""
    if on_share is None:
        return None
    return lambda share: on_share((place + share) / count)


# Default number of scores computed at a time: what fits into a core's own cache, or a few rows.
_BLOCK_ELEMENTS = 1 << 18
_BLOCK_ROWS = 16
_MOST_ROWS = 4096
# A block takes at most this share of the free memory: scores in single and in double precision with
# their bounds, masks, places and hashes.
_SHARE_OF_FREE = 8
_BYTES_PER_SCORE = 48


@dataclass(frozen=True)
class RankedPairs:
    """Node pairs in order, each as (smaller id, larger id), with their scores.

    Attributes:
        pairs: The pairs, first choice first.  [2, k]
        logits: Their scores.  [k]
    """

    pairs: Tensor
    logits: Tensor

    def __len__(self) -> int:
        return self.logits.numel()

    def first(self, count: int) -> RankedPairs:
        """The first ones."""
        return RankedPairs(self.pairs[:, :count], self.logits[:count])


def top_non_edges(
    scores: PairScores,
    edges: Tensor,
    num_nodes: int,
    count: int,
    *,
    among_first: int | None = None,
    block_elements: int | None = None,
    on_share: OnShare | None = None,
) -> RankedPairs:
    """The ``count`` non-edges with the highest scores.

    Args:
        scores: Scores of all pairs.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        num_nodes: Number of nodes.
        count: Number of pairs.
        among_first: Only rank pairs with an end among this many first nodes; None: all pairs.
        block_elements: Scores computed at a time; changes memory and speed, never the result.
        on_share: Called with the share of the work done so far.
    """
    check_count(count, num_nodes, edges, among_first)
    block_elements = block_elements or default_block(num_nodes)
    best = BestPairs(scores, edges, num_nodes, count)
    # Each pair is visited from its smaller id.
    for start, stop in row_blocks(num_nodes, block_elements, among_first):
        best.visit(start, stop)
        if on_share is not None:
            remaining = (num_nodes - stop) / num_nodes
            on_share(1 - remaining * remaining)
    values, keys = best.collected()
    order = np.lexsort((key_hash(keys, num_nodes), -values))[:count]
    return _ranked(values[order], keys[order], num_nodes)


def top_non_edges_per_node(
    scores: PairScores,
    edges: Tensor,
    num_nodes: int,
    count: int,
    *,
    among_first: int | None = None,
    block_elements: int | None = None,
    on_share: OnShare | None = None,
) -> RankedPairs:
    """Non-edges spread over the nodes: each offers its best, then its second best, and so on.

    In each round, every node offers the best partner that it has not offered yet. A pair counts in
    the first round in which either end offers it. Rounds continue until there are ``count`` pairs;
    within a round, higher scores come first. With ``among_first``, only those nodes offer pairs.
    """
    check_count(count, num_nodes, edges, among_first)
    block_elements = block_elements or default_block(num_nodes)
    offering = num_nodes if among_first is None else among_first
    rounds = max(1, -(-2 * count // offering))  # each brings at least one new pair per two nodes
    height = max(1, min(_MOST_ROWS, block_elements // num_nodes))
    while True:
        offers = Offers(scores, edges, num_nodes, min(rounds, num_nodes - 1))
        for start in range(0, offering, height):
            stop = min(offering, start + height)
            offers.visit(start, stop)
            if on_share is not None:
                on_share(stop / offering)
        round_of, values, keys = offers.collected()
        if keys.size >= count:
            break
        rounds *= 2  # nodes with edges to almost all others offer fewer
    order = np.lexsort((key_hash(keys, num_nodes), -values, round_of))[:count]
    return _ranked(values[order], keys[order], num_nodes)


def bottom_edges(scores: PairScores, edges: Tensor, num_nodes: int, count: int) -> RankedPairs:
    """The ``count`` edges with the lowest scores, the lowest first."""
    if not 0 <= count <= edges.size(1):
        raise DataError(
            f"The number of edges to remove must be from 0 to {edges.size(1)}, got {count}."
        )
    logits = scores.edge_logits(edges)
    if logits.numel():
        check_not_nan(float(logits.max()))
    values = logits.double().numpy()
    keys = pair_keys(edges, num_nodes).numpy()
    order = np.lexsort((key_hash(keys, num_nodes), values))[:count]
    return _ranked(values[order], keys[order], num_nodes)


def num_non_edges(num_nodes: int, edges: Tensor, among_first: int | None = None) -> int:
    """Number of non-edges, of all pairs or of those with an end among the first nodes."""
    others = 0 if among_first is None else num_nodes - among_first
    inside = 0 if among_first is None else int((edges.min(dim=0).values >= among_first).sum())
    pairs = num_nodes * (num_nodes - 1) // 2 - others * (others - 1) // 2
    return pairs - (edges.size(1) - inside)


def check_count(count: int, num_nodes: int, edges: Tensor, among_first: int | None = None) -> None:
    """Raise if there are fewer non-edges than that."""
    free, num_edges = num_non_edges(num_nodes, edges, among_first), edges.size(1)
    if not 0 <= count <= free:
        raise DataError(
            f"The number of edges to add must be from 0 to the number of non-edges ({free}),"
            f" got {count}. With {num_edges} edges the largest possible fraction is"
            f" {free / max(1, num_edges):.4g}."
        )


def default_block(num_nodes: int) -> int:
    """Number of scores to compute at a time: a few rows, fewer if memory is short."""
    wanted = max(_BLOCK_ELEMENTS, _BLOCK_ROWS * num_nodes)
    return max(1, min(wanted, free_memory() // (_SHARE_OF_FREE * _BYTES_PER_SCORE)))


def row_blocks(
    num_nodes: int, block_elements: int, num_rows: int | None = None
) -> list[tuple[int, int]]:
    """Ranges of rows with about this many elements on and above the diagonal."""
    blocks, start = [], 0
    num_rows = num_nodes if num_rows is None else num_rows
    while start < num_rows:
        height = max(1, block_elements // (num_nodes - start))
        stop = min(num_rows, start + min(height, _MOST_ROWS))
        blocks.append((start, stop))
        start = stop
    return blocks


def _ranked(values: np.ndarray, keys: np.ndarray, num_nodes: int) -> RankedPairs:
    pairs = keys_to_pairs(torch.from_numpy(keys), num_nodes)
    return RankedPairs(pairs, torch.from_numpy(values.astype(np.float32)))
