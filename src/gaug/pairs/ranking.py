"""Exact ranking of all node pairs, in memory for one block, the result and the edges.

Ties go to the smaller node ids, so the result does not depend on block size or threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gaug.errors import DataError, TrainingError
from gaug.graph.edges import keys_to_pairs, pair_keys
from gaug.memory import free_memory
from gaug.pairs.scores import PairScores

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
# A block takes at most this share of the free memory: scores, a copy of them, a mask, and places.
_SHARE_OF_FREE = 8
_BYTES_PER_SCORE = 16
# Extra pairs that are kept until exact scores decide between them.
_UNDECIDED = 1 << 16


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
    edge_keys = pair_keys(edges, num_nodes).sort().values.numpy()
    best = _BestPairs(count, scores.slack, lambda keys: _exact(scores, keys, num_nodes))
    # Each pair is visited from its smaller id.
    for start, stop in row_blocks(num_nodes, block_elements, among_first):
        block = scores.score_rows(start, stop, start)  # [b, N - start]
        highest = float(block.max())
        check_not_nan(highest)
        if count > 0 and highest >= best.threshold:
            best.offer(*_candidates(block, start, num_nodes, edge_keys, best))
        if on_share is not None:
            remaining = (num_nodes - stop) / num_nodes
            on_share(1 - remaining * remaining)
    values, keys = best.collected()
    if scores.slack > 0:
        values = _exact(scores, keys, num_nodes)
    order = np.lexsort((keys, -values))[:count]
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
    within a round, higher scores come first, then smaller ids. With ``among_first``, only those
    nodes offer pairs.
    """
    check_count(count, num_nodes, edges, among_first)
    block_elements = block_elements or default_block(num_nodes)
    offering = num_nodes if among_first is None else among_first
    rounds = max(1, -(-2 * count // offering))  # each brings at least one new pair per two nodes
    while True:
        round_of, values, keys = _offers(
            scores, edges, num_nodes, offering, rounds, block_elements, on_share
        )
        if keys.size >= count:
            break
        rounds *= 2  # nodes with edges to almost all others offer fewer
    order = np.lexsort((keys, -values, round_of))[:count]
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
    order = np.lexsort((keys, values))[:count]
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


def check_not_nan(highest: float) -> None:
    """Raise if a score is NaN and cannot be ranked; the maximum is NaN if any score is."""
    if math.isnan(highest):
        raise TrainingError(
            "The edge predictor gave scores that are not numbers (NaN). Its training may have"
            " diverged: try a lower learning_rate, or another predictor."
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
        stop = min(num_rows, start + min(height, 4096))
        blocks.append((start, stop))
        start = stop
    return blocks


def _candidates(
    block: Tensor, start: int, num_nodes: int, edge_keys: np.ndarray, best: _BestPairs
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and keys of the non-edges of a block that may be among the best of all."""
    # Pairs come in the order of their ids: with exact scores, a later pair loses a tie.
    tie_loses = best.slack == 0 and best.threshold > -np.inf
    chosen = block > best.threshold if tie_loses else block >= best.threshold
    place = np.flatnonzero(chosen.numpy())
    row, column = np.divmod(place, block.size(1))
    upper = column > row  # each pair is visited from its smaller id
    place, row, column = place[upper], row[upper], column[upper]
    keys = (row + start) * num_nodes + (column + start)
    free = ~_contained(keys, edge_keys)
    return block.reshape(-1).numpy()[place[free]], keys[free]


class _BestPairs:
    """The pairs seen so far that may be among the best, pruned when there are too many.

    A score may be off by the slack. A pair that scores more than twice the slack below the count-th
    best is worse than count other pairs, whatever the exact scores are. If too many scores are too
    close for this to prune much, exact scores decide.
    """

    def __init__(self, count: int, slack: float, exact: Callable[[np.ndarray], np.ndarray]) -> None:
        self.count = count
        self.slack = slack
        self.exact = exact
        self.threshold = -np.inf
        self.values = np.empty(0, dtype=np.float32)
        self.keys = np.empty(0, dtype=np.int64)
        self.waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self.num_waiting = 0

    def offer(self, values: np.ndarray, keys: np.ndarray) -> None:
        self.waiting.append((values, keys))
        self.num_waiting += keys.size
        if self.num_waiting >= max(self.count // 2, 1 << 14):
            self._cut()

    def collected(self) -> tuple[np.ndarray, np.ndarray]:
        self._cut()
        return self.values, self.keys

    def _cut(self) -> None:
        values = np.concatenate([self.values, *(values for values, _ in self.waiting)])
        keys = np.concatenate([self.keys, *(keys for _, keys in self.waiting)])
        self.waiting, self.num_waiting = [], 0
        if values.size >= self.count > 0:
            limit = self._limit(values)
            # Rounded down, so that float32 cannot raise it above a score that qualifies.
            self.threshold = float(np.nextafter(limit - np.float32(2 * self.slack), -np.inf))
            kept = values >= self.threshold
            values, keys = values[kept], keys[kept]
            decided = self.slack == 0
            if decided:
                self.threshold = float(limit)
            elif values.size > max(2 * self.count, _UNDECIDED):
                values = self.exact(keys).astype(np.float32)
                limit, decided = self._limit(values), True
            if decided:
                values, keys = self._without_lost_ties(values, keys, limit)
        self.values, self.keys = values, keys

    def _limit(self, values: np.ndarray) -> np.float32:
        """The count-th best."""
        limit: np.float32 = np.partition(values, values.size - self.count)[-self.count]
        return limit

    def _without_lost_ties(
        self, values: np.ndarray, keys: np.ndarray, limit: np.float32
    ) -> tuple[np.ndarray, np.ndarray]:
        above, tied = np.flatnonzero(values > limit), np.flatnonzero(values == limit)
        tied = tied[np.argsort(keys[tied], kind="stable")][: self.count - above.size]
        kept = np.concatenate([above, tied])
        return values[kept], keys[kept]


def _offers(
    scores: PairScores,
    edges: Tensor,
    num_nodes: int,
    num_rows: int,
    rounds: int,
    block_elements: int,
    on_share: OnShare | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Round, score and key of each pair that one of the first nodes offers in the first rounds."""
    adjacency = torch.cat([edges, edges.flip(0)], dim=1)
    order = torch.argsort(adjacency[0], stable=True)
    neighbor = adjacency[1, order]
    starts = torch.cat(
        [torch.zeros(1, dtype=torch.long), torch.bincount(adjacency[0], minlength=num_nodes)]
    ).cumsum(0)
    rounds = min(rounds, num_nodes - 1)
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    height = max(1, min(4096, block_elements // num_nodes))
    for start in range(0, num_rows, height):
        stop = min(num_rows, start + height)
        block = scores.score_rows(start, stop, 0).clone()
        check_not_nan(float(block.max()))
        degrees = starts[start + 1 : stop + 1] - starts[start:stop]
        own = torch.repeat_interleave(degrees)
        block[own, neighbor[starts[start] : starts[stop]]] = -torch.inf
        block[torch.arange(stop - start), torch.arange(start, stop)] = -torch.inf
        limit = block.topk(rounds, dim=1).values[:, -1:]
        # The limit may be too high by the slack, and a qualifying score too low by it.
        chosen = (block >= limit - 2 * scores.slack) & (block > -torch.inf)
        row, column = chosen.numpy().nonzero()
        smaller, larger = np.minimum(row + start, column), np.maximum(row + start, column)
        keys = smaller * num_nodes + larger
        if scores.slack > 0:
            values = _exact(scores, keys, num_nodes)
        else:
            values = block.numpy()[row, column].astype(np.float64)
        ranking = np.lexsort((column, -values, row))
        row, values, keys = row[ranking], values[ranking], keys[ranking]
        rank = np.arange(row.size) - np.searchsorted(row, row)  # rank within its row
        kept = rank < rounds
        found.append((rank[kept], values[kept], keys[kept]))
        if on_share is not None:
            on_share(stop / num_rows)
    rank, values, keys = (np.concatenate(parts) for parts in zip(*found, strict=True))
    first = np.lexsort((rank, keys))
    rank, values, keys = rank[first], values[first], keys[first]
    distinct = np.ones(keys.size, dtype=bool)
    distinct[1:] = keys[1:] != keys[:-1]
    return rank[distinct], values[distinct], keys[distinct]


def _exact(scores: PairScores, keys: np.ndarray, num_nodes: int) -> np.ndarray:
    pairs = keys_to_pairs(torch.from_numpy(keys), num_nodes)
    return scores.edge_logits(pairs).double().numpy()


def _contained(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    if ordered.size == 0:
        return np.zeros(keys.size, dtype=bool)
    place = np.minimum(np.searchsorted(ordered, keys), ordered.size - 1)
    return np.asarray(ordered[place] == keys)


def _ranked(values: np.ndarray, keys: np.ndarray, num_nodes: int) -> RankedPairs:
    pairs = keys_to_pairs(torch.from_numpy(keys), num_nodes)
    return RankedPairs(pairs, torch.from_numpy(values.astype(np.float32)))
