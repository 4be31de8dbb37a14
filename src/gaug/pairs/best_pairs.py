"""The best pairs of all, gathered block by block."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from gaug.graph.edges import pair_keys
from gaug.pairs.hashing import key_hash
from gaug.pairs.scores import (
    NonzeroScores,
    PairScores,
    are_mostly_zero,
    check_not_nan,
    scores_of_keys,
)
from gaug.pairs.settled import ONE_BY_ONE

# Extra pairs that are kept until exact scores decide between them.
_UNDECIDED = 1 << 16
_FEWEST_TO_CUT = 1 << 14


class BestPairs:
    """The non-edges seen so far that may be among the best, pruned when there are too many.

    A score may be off by the slack. A pair that scores more than twice the slack below the count-th
    best is worse than count other pairs, whatever the exact scores are. If too many scores are too
    close for this to prune much, exact scores decide, from then on.

    Args:
        scores: Scores of all pairs.
        edges: Undirected edges, each once as (smaller id, larger id).  [2, E]
        num_nodes: Number of nodes.
        count: Number of pairs.
        floor: A score that pairs must reach: that of the last of ``count`` others.
        positive: Whether to look at pairs with a positive score alone, which are listed.
    """

    def __init__(
        self,
        scores: PairScores,
        edges: Tensor,
        num_nodes: int,
        count: int,
        floor: float = -np.inf,
        *,
        positive: bool = False,
    ) -> None:
        self._listed = scores if positive and are_mostly_zero(scores) else None
        self._scores = scores
        self._num_nodes = num_nodes
        self._count = count
        self._edge_keys = pair_keys(edges, num_nodes).sort().values.numpy()
        self._exact = scores.slack == 0
        # The count-th best so far, and the last hash of its ties, if there are that many.
        self._full = False
        self._limit, self._last_hash = np.float32(-np.inf), np.uint64(0)
        self._floor = _less(floor, scores.slack)
        self._threshold = self._floor
        self._crowded = False  # whether too many candidates of the last block were close
        self._most_undecided = max(2 * count, _UNDECIDED)
        self._values = np.empty(0, dtype=np.float32)
        self._keys = np.empty(0, dtype=np.int64)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._num_waiting = 0

    def visit(self, start: int, stop: int) -> None:
        """Look at the pairs of nodes start to stop with later nodes."""
        if self._listed is not None:
            self._offer_free(*self._positive(self._listed, start, stop))
            return
        by_rows = self._scores.exact_rows if self._crowded else self._scores.score_rows
        block = by_rows(start, stop, start)  # [b, N - start]
        highest = float(block.max())
        check_not_nan(highest)
        if self._count == 0 or highest < self._threshold:
            self._crowded = False
            return
        values, keys = self._candidates(block, start)
        if self._scores.slack > 0:
            crowded = self._is_crowded(values, block.numel())
            if crowded and not self._crowded:
                self._decide_exactly()
                values, keys = self._candidates(self._scores.exact_rows(start, stop, start), start)
            elif not crowded and self._exact:
                values = scores_of_keys(self._scores, keys, self._num_nodes)
            self._crowded = crowded  # and the next block likely, too
        self._offer_free(values, keys)

    def collected(self) -> tuple[np.ndarray, np.ndarray]:
        """Exact scores and keys of the best pairs and possibly some more."""
        self._cut()
        if not self._exact:
            self._values = scores_of_keys(self._scores, self._keys, self._num_nodes)
        return self._values.astype(np.float64), self._keys

    def _candidates(self, block: Tensor, start: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores and keys of the pairs of a block that reach the threshold, each once."""
        width = block.size(1)
        place = np.flatnonzero((block >= self._threshold).numpy())
        row = place // width
        column = place - row * width
        upper = column > row  # each pair is visited from its smaller id
        keys = (row[upper] + start) * self._num_nodes + (column[upper] + start)
        return block.reshape(-1).numpy()[place[upper]], keys

    def _positive(
        self, listed: NonzeroScores, start: int, stop: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores and keys of pairs with a positive score that reach the threshold, each once."""
        rows = listed.nonzero_rows(start, stop)
        u, v = np.repeat(np.arange(start, stop), np.diff(rows.indptr)), rows.indices
        kept = (v > u) & (rows.data > 0) & (rows.data >= self._threshold)
        return rows.data[kept], u[kept] * self._num_nodes + v[kept]

    def _is_crowded(self, values: np.ndarray, size: int) -> bool:
        """Whether so many candidates of a block are close that scoring them one by one is slow."""
        if self._exact:
            return values.size > ONE_BY_ONE * size
        if values.size <= self._most_undecided:
            return False
        place = values.size - self._count
        limit = np.partition(values, place)[place]
        undecided = values >= limit - np.float32(2 * self._scores.slack)
        return int(undecided.sum()) > self._most_undecided

    def _decide_exactly(self) -> None:
        """Score what is held one by one, and from now on whatever comes."""
        self._gather()
        if not self._exact:
            self._values = scores_of_keys(self._scores, self._keys, self._num_nodes)
            self._exact = True
        self._cut()

    def _wins(self, values: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Whether each pair beats the count-th best so far, by exact scores."""
        wins: np.ndarray = values > self._limit
        tied = np.flatnonzero(values == self._limit)
        wins[tied] = key_hash(keys[tied], self._num_nodes) < self._last_hash
        return wins

    def _offer_free(self, values: np.ndarray, keys: np.ndarray) -> None:
        """Keep candidates that are no edges and may be among the best."""
        if self._exact and self._full:
            won = self._wins(values, keys)
            values, keys = values[won], keys[won]
        free = ~is_contained(keys, self._edge_keys)
        self._offer(values[free], keys[free])

    def _offer(self, values: np.ndarray, keys: np.ndarray) -> None:
        self._waiting.append((values, keys))
        self._num_waiting += keys.size
        if self._num_waiting >= max(self._count // 2, _FEWEST_TO_CUT):
            self._cut()

    def _gather(self) -> None:
        self._values = np.concatenate([self._values, *(values for values, _ in self._waiting)])
        self._keys = np.concatenate([self._keys, *(keys for _, keys in self._waiting)])
        self._waiting, self._num_waiting = [], 0

    def _cut(self) -> None:
        """Keep the best."""
        self._gather()
        if not self._values.size >= self._count > 0:
            return
        if self._exact:
            self._find_limit(self._scores.slack)
            self._keep_best()
            return
        self._find_limit(2 * self._scores.slack)
        self._keep(self._values >= self._threshold)
        if self._values.size > self._most_undecided:
            self._decide_exactly()

    def _find_limit(self, margin: float) -> None:
        """The count-th best, and what a score by rows must reach to be considered."""
        place = self._values.size - self._count
        self._limit, self._full = np.partition(self._values, place)[place], True
        self._threshold = max(self._floor, _less(self._limit, margin))

    def _keep_best(self) -> None:
        """Of the pairs that tie with the count-th best, keep those with the lowest hashes."""
        kept = self._values > self._limit
        tied = np.flatnonzero(self._values == self._limit)
        hashes = key_hash(self._keys[tied], self._num_nodes)
        last = self._count - int(kept.sum()) - 1
        self._last_hash = np.partition(hashes, last)[last]
        kept[tied] = hashes <= self._last_hash
        self._keep(kept)

    def _keep(self, kept: np.ndarray) -> None:
        self._values, self._keys = self._values[kept], self._keys[kept]


def _less(score: float, margin: float) -> float:
    """A score less a margin, rounded down: float32 cannot raise it above one that qualifies."""
    if not margin:
        return float(score)
    return float(np.nextafter(np.float32(score) - np.float32(margin), np.float32(-np.inf)))


def is_contained(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Whether each key is among the ordered ones."""
    if ordered.size == 0:
        return np.zeros(keys.size, dtype=bool)
    place = np.minimum(np.searchsorted(ordered, keys), ordered.size - 1)
    return np.asarray(ordered[place] == keys)
