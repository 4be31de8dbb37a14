"""Exact ranking of all node pairs in memory proportional to a block, the result and the edges.

Ties go to the smaller node ids, so that a result does not depend on block size or threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gaug.change import pair_keys
from gaug.errors import DataError, TrainingError
from gaug.pairs.scores import PairScores

#: Told the share of the work that is done.
OnShare = Callable[[float], None]

#: Scores computed at a time, by default.
BLOCK_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class RankedPairs:
    """Node pairs in order, each as (smaller id, larger id), with their scores.

    Attributes:
        pairs: The pairs, first the first choice.  [2, k]
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
    block_elements: int = BLOCK_ELEMENTS,
    on_share: OnShare | None = None,
) -> RankedPairs:
    """The ``count`` pairs with the highest scores among those that are no edges.

    Args:
        scores: Scores of all pairs.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        num_nodes: Number of nodes.
        count: How many.
        block_elements: Scores computed at a time; changes memory and speed, never the result.
        on_share: Called with the share of the work that is done.
    """
    check_count(count, num_nodes, edges.size(1))
    edge_keys = pair_keys(edges, num_nodes).sort().values.numpy()
    best = _BestPairs(count)
    for start, stop in row_blocks(num_nodes, block_elements):
        block = scores.score_rows(start, stop, start).contiguous()  # [b, N - start]
        check_finite(block)
        threshold = best.threshold - scores.slack
        if count > 0 and float(block.max()) >= threshold:
            # Pairs come in the order of their ids: a later one that merely ties has lost.
            tie_loses = scores.slack == 0 and best.threshold > -np.inf
            chosen = (block > threshold if tie_loses else block >= threshold).numpy()
            # Only the part above the diagonal: a pair is looked at from its smaller id.
            chosen[:, : stop - start] &= np.tri(stop - start, k=0, dtype=bool).T ^ np.eye(
                stop - start, dtype=bool
            )
            row, column = np.nonzero(chosen)
            keys = (row + start) * num_nodes + (column + start)
            free = ~_contained(keys, edge_keys)
            keys = keys[free]
            if scores.slack > 0:
                values = _exact(scores, keys, num_nodes)
            else:
                values = block.numpy()[row[free], column[free]]
            best.offer(values, keys)
        if on_share is not None:
            remaining = (num_nodes - stop) / num_nodes
            on_share(1 - remaining * remaining)
    values, keys = best.ranked()
    return _ranked(values, keys, num_nodes)


def top_non_edges_per_node(
    scores: PairScores,
    edges: Tensor,
    num_nodes: int,
    count: int,
    *,
    block_elements: int = BLOCK_ELEMENTS,
    on_share: OnShare | None = None,
) -> RankedPairs:
    """Non-edges spread over the nodes: each offers its best, then its second best, and so on.

    In a round each node offers the best partner that it has not offered yet; a pair counts in the
    first round in which either end offers it. Rounds follow each other until ``count`` pairs are
    there; within a round the higher score comes first, then the smaller ids.
    """
    check_count(count, num_nodes, edges.size(1))
    rounds = max(1, -(-2 * count // num_nodes))  # each round brings N / 2 new pairs at least
    while True:
        round_of, values, keys = _offers(scores, edges, num_nodes, rounds, block_elements, on_share)
        if keys.size >= count:
            break
        rounds *= 2  # nodes that are joined to almost all others offer fewer
    order = np.lexsort((keys, -values, round_of))[:count]
    return _ranked(values[order], keys[order], num_nodes)


def bottom_edges(scores: PairScores, edges: Tensor, num_nodes: int, count: int) -> RankedPairs:
    """The ``count`` edges with the lowest scores, the lowest first."""
    if not 0 <= count <= edges.size(1):
        raise DataError(
            f"The number of edges to remove must be from 0 to {edges.size(1)}, got {count}."
        )
    logits = scores.edge_logits(edges)
    check_finite(logits)
    values = logits.double().numpy()
    keys = pair_keys(edges, num_nodes).numpy()
    order = np.lexsort((keys, values))[:count]
    return _ranked(values[order], keys[order], num_nodes)


def check_count(count: int, num_nodes: int, num_edges: int) -> None:
    """Raise if there are not so many non-edges."""
    free = num_nodes * (num_nodes - 1) // 2 - num_edges
    if not 0 <= count <= free:
        raise DataError(
            f"The number of edges to add must be from 0 to the number of non-edges ({free}),"
            f" got {count}. With {num_edges} edges the largest possible fraction is"
            f" {free / max(1, num_edges):.4g}."
        )


def check_finite(scores: Tensor) -> None:
    """Raise if a predictor gave something that cannot be ranked."""
    if bool(torch.isnan(scores).any()):
        raise TrainingError(
            "The edge predictor gave scores that are not numbers (NaN). Its training may have"
            " diverged: try a lower learning_rate, or another predictor."
        )


def row_blocks(num_nodes: int, block_elements: int) -> list[tuple[int, int]]:
    """Ranges of rows whose part from the diagonal on has about so many elements."""
    blocks, start = [], 0
    while start < num_nodes:
        height = max(1, block_elements // (num_nodes - start))
        stop = min(num_nodes, start + min(height, 4096))
        blocks.append((start, stop))
        start = stop
    return blocks


class _BestPairs:
    """The best pairs seen so far; candidates are gathered and cut down when there are many."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.values = np.empty(0)
        self.keys = np.empty(0, dtype=np.int64)
        self.waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self.num_waiting = 0
        self.threshold = -np.inf

    def offer(self, values: np.ndarray, keys: np.ndarray) -> None:
        self.waiting.append((values.astype(np.float64), keys))
        self.num_waiting += keys.size
        if self.num_waiting >= max(self.count, 1 << 16):
            self._cut()

    def ranked(self) -> tuple[np.ndarray, np.ndarray]:
        self._cut()
        order = np.lexsort((self.keys, -self.values))
        return self.values[order], self.keys[order]

    def _cut(self) -> None:
        values = np.concatenate([self.values, *(values for values, _ in self.waiting)])
        keys = np.concatenate([self.keys, *(keys for _, keys in self.waiting)])
        self.waiting, self.num_waiting = [], 0
        if self.count == 0:
            return
        if values.size > self.count:
            place = values.size - self.count
            limit = np.partition(values, place)[place]  # the count-th best
            above = np.flatnonzero(values > limit)
            tied = np.flatnonzero(values == limit)
            tied = tied[np.argsort(keys[tied], kind="stable")][: self.count - above.size]
            kept = np.concatenate([above, tied])
            values, keys = values[kept], keys[kept]
        self.values, self.keys = values, keys
        if values.size >= self.count:
            self.threshold = float(values.min())


def _offers(
    scores: PairScores,
    edges: Tensor,
    num_nodes: int,
    rounds: int,
    block_elements: int,
    on_share: OnShare | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each pair that a node offers in the first rounds: its first round, score and key."""
    adjacency = torch.cat([edges, edges.flip(0)], dim=1)
    order = torch.argsort(adjacency[0], stable=True)
    neighbour = adjacency[1, order]
    starts = torch.cat(
        [torch.zeros(1, dtype=torch.long), torch.bincount(adjacency[0], minlength=num_nodes)]
    ).cumsum(0)
    rounds = min(rounds, num_nodes - 1)
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    height = max(1, min(4096, block_elements // num_nodes))
    for start in range(0, num_nodes, height):
        stop = min(num_nodes, start + height)
        block = scores.score_rows(start, stop, 0).clone()
        check_finite(block)
        degrees = starts[start + 1 : stop + 1] - starts[start:stop]
        own = torch.repeat_interleave(degrees)
        block[own, neighbour[starts[start] : starts[stop]]] = -torch.inf
        block[torch.arange(stop - start), torch.arange(start, stop)] = -torch.inf
        limit = block.topk(rounds, dim=1).values[:, -1:]
        # The limit may be too high by the slack, and a score that belongs here too low by it.
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
        rank = np.arange(row.size) - np.searchsorted(row, row)  # place within its row
        kept = rank < rounds
        found.append((rank[kept], values[kept], keys[kept]))
        if on_share is not None:
            on_share(stop / num_nodes)
    rank, values, keys = (np.concatenate(parts) for parts in zip(*found, strict=True))
    first = np.lexsort((rank, keys))
    rank, values, keys = rank[first], values[first], keys[first]
    distinct = np.ones(keys.size, dtype=bool)
    distinct[1:] = keys[1:] != keys[:-1]
    return rank[distinct], values[distinct], keys[distinct]


def _exact(scores: PairScores, keys: np.ndarray, num_nodes: int) -> np.ndarray:
    pairs = torch.from_numpy(np.stack([keys // num_nodes, keys % num_nodes]))
    return scores.edge_logits(pairs).double().numpy()


def _contained(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    if ordered.size == 0:
        return np.zeros(keys.size, dtype=bool)
    place = np.minimum(np.searchsorted(ordered, keys), ordered.size - 1)
    return np.asarray(ordered[place] == keys)


def _ranked(values: np.ndarray, keys: np.ndarray, num_nodes: int) -> RankedPairs:
    pairs = np.stack([keys // num_nodes, keys % num_nodes])
    return RankedPairs(torch.from_numpy(pairs), torch.from_numpy(values.astype(np.float32)))
