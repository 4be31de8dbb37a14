"""What each node offers: its best partners, one in each round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gaug.graph.edges import directed_keys
from gaug.pairs.hashing import key_hash, pair_hash
from gaug.pairs.scores import PairScores, check_not_nan, scores_of_keys
from gaug.pairs.settled import ONE_BY_ONE

_LAST = np.uint64(2**64 - 1)


class Offers:
    """The pairs that nodes offer in the first rounds, gathered block by block.

    Args:
        scores: Scores of all pairs.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        num_nodes: Number of nodes.
        rounds: Number of rounds.
    """

    def __init__(self, scores: PairScores, edges: Tensor, num_nodes: int, rounds: int) -> None:
        self._scores = scores
        self._num_nodes = num_nodes
        self._rounds = rounds
        keys = directed_keys(edges, num_nodes)
        self._neighbor = keys % num_nodes
        self._first = torch.searchsorted(keys, torch.arange(num_nodes + 1) * num_nodes)
        self._crowded = False  # with scores within the slack of each other
        self._found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def visit(self, start: int, stop: int) -> None:
        """Find the offers of nodes start to stop."""
        if self._scores.slack > 0 and not self._crowded:
            block = self._non_edges(self._scores.score_rows(start, stop, 0), start)
            # The limit may be too high by the slack, and a qualifying score too low by it.
            lowest = self._limit(block) - 2 * self._scores.slack
            chosen = (block >= lowest) & (block > -torch.inf)
            few = self._rounds * block.size(0) + ONE_BY_ONE * block.numel()
            if int(chosen.sum()) <= few:
                row, column = chosen.numpy().nonzero()
                keys = undirected_keys(row + start, column, self._num_nodes)
                self._add(row, keys, scores_of_keys(self._scores, keys, self._num_nodes))
                return
            self._crowded = True  # as other rows will be
        block = self._non_edges(self._scores.exact_rows(start, stop, 0), start)
        row, column = first_choices(block.numpy(), self._limit(block).numpy(), start, self._rounds)
        keys = undirected_keys(row + start, column, self._num_nodes)
        self._add(row, keys, block.numpy()[row, column])

    def collected(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The round in which each pair is first offered, its score and its key."""
        return first_offers(self._found)

    def _non_edges(self, block: Tensor, start: int) -> Tensor:
        """A copy of a block of rows in which pairs that cannot be offered score -inf."""
        check_not_nan(float(block.max()))
        block, stop = block.clone(), start + block.size(0)
        degrees = self._first[start + 1 : stop + 1] - self._first[start:stop]
        neighbor = self._neighbor[self._first[start] : self._first[stop]]
        block[torch.repeat_interleave(degrees), neighbor] = -torch.inf
        block[torch.arange(stop - start), torch.arange(start, stop)] = -torch.inf
        return block

    def _limit(self, block: Tensor) -> Tensor:
        """The score of each row's last offer.  [r, 1]"""
        return block.topk(self._rounds, dim=1).values[:, -1:]

    def _add(self, row: np.ndarray, keys: np.ndarray, values: np.ndarray) -> None:
        self._found.append(best_of_rows(row, keys, values, self._num_nodes, self._rounds))


def undirected_keys(u: np.ndarray, v: np.ndarray, num_nodes: int) -> np.ndarray:
    """The keys of pairs whose ends may be in any order.  [n]"""
    keys: np.ndarray = np.minimum(u, v) * num_nodes + np.maximum(u, v)
    return keys


def best_of_rows(
    row: np.ndarray, keys: np.ndarray, values: np.ndarray, num_nodes: int, rounds: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best pairs of each row: the round in which they are offered, their scores and keys.

    Args:
        row: The row of each pair.
        keys: Its key.
        values: Its score.
        num_nodes: Number of nodes.
        rounds: Number of pairs per row at most.
    """
    order = np.lexsort((key_hash(keys, num_nodes), -values, row))
    row, values, keys = row[order], values[order], keys[order]
    rank = np.arange(row.size) - np.searchsorted(row, row)  # rank within its row
    kept = rank < rounds
    return rank[kept], values[kept], keys[kept]


def first_offers(
    found: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair once, in the round in which it is first offered.

    Args:
        found: The round, the score and the key of each offer, in several parts.
    """
    rank, values, keys = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((rank, keys))
    rank, values, keys = rank[order], values[order], keys[order]
    first = np.ones(keys.size, dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    return rank[first], values[first].astype(np.float64), keys[first]


def first_choices(
    block: np.ndarray, limit: np.ndarray, start: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the ``count`` best of each row; ties by the hash of the pair.

    Args:
        block: Scores, -inf for those that do not take part.  [r, N]
        limit: The count-th best score of each row.  [r, 1]
        start: The node of the first row.
        count: Number of choices per row.
    """
    chosen = block > limit
    tied = (block == limit) & (block > -np.inf)
    free = count - chosen.sum(axis=1)
    crowded = np.flatnonzero(tied.sum(axis=1) > free)
    if crowded.size:
        hashes = pair_hash((crowded + start)[:, None], np.arange(block.shape[1]))
        hashes[~tied[crowded]] = _LAST
        most = int(free[crowded].max())
        lowest = np.sort(np.partition(hashes, most - 1, axis=1)[:, :most], axis=1)
        tied[crowded] &= hashes <= lowest[np.arange(crowded.size), free[crowded] - 1][:, None]
    row, column = np.nonzero(chosen | tied)
    return row, column
