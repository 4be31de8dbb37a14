"""Exact ranking of all node pairs, in memory for one block, the result and the edges.

Ties go to the pair with the lowest `gaug.pairs.hashing.pair_hash`, so the result depends neither on
block size or threads nor on the order of the nodes' classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gaug.errors import DataError
from gaug.graph.edges import keys_to_pairs, pair_keys
from gaug.pairs.hashing import key_hash
from gaug.pairs.offers import first_offers
from gaug.pairs.parts import OnShare as OnShare
from gaug.pairs.parts import Part, do_parts, equal_parts
from gaug.pairs.scores import PairScores, are_mostly_zero, check_not_nan


def part_of_work(on_share: OnShare | None, place: int, count: int) -> OnShare | None:
    """The progress callback for one of several equal parts of the work."""
    if on_share is None:
        return None
    return lambda share: on_share((place + share) / count)


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
    values, keys = np.empty(0), np.empty(0, dtype=np.int64)
    positive = are_mostly_zero(scores)

    def part_of(rows: range) -> Part:
        floor = float(values[-1]) if 0 < count == values.size else -np.inf
        return Part(
            scores,
            edges,
            num_nodes,
            count,
            rows,
            block_elements=block_elements,
            floor=floor,
            positive=positive,
        )

    def take(found: tuple[np.ndarray, ...]) -> None:
        nonlocal values, keys
        values, keys = np.concatenate([values, found[0]]), np.concatenate([keys, found[1]])
        order = np.lexsort((key_hash(keys, num_nodes), -values))[:count]
        values, keys = values[order], keys[order]

    # Each pair is visited from its smaller id.
    num_rows = num_nodes if among_first is None else among_first
    parts = equal_parts(num_nodes, num_rows, triangle=True)
    do_parts(parts, part_of, take, on_share)
    if positive and keys.size < count:
        positive = False  # some of those that score 0 are among the best
        values, keys = np.empty(0), np.empty(0, dtype=np.int64)
        do_parts(parts, part_of, take, on_share)
    return _ranked(values, keys, num_nodes)


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
    offering = num_nodes if among_first is None else among_first
    rounds = max(1, -(-2 * count // offering))  # each brings at least one new pair per two nodes
    while True:
        offers: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

        def part_of(rows: range, most: int = min(rounds, num_nodes - 1)) -> Part:
            return Part(scores, edges, num_nodes, most, rows, True, block_elements)

        def take(found: Any, offers: list[Any] = offers) -> None:
            offers.append(found)

        do_parts(equal_parts(num_nodes, offering, triangle=False), part_of, take, on_share)
        round_of, values, keys = first_offers(offers)
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


def _ranked(values: np.ndarray, keys: np.ndarray, num_nodes: int) -> RankedPairs:
    pairs = keys_to_pairs(torch.from_numpy(keys), num_nodes)
    return RankedPairs(pairs, torch.from_numpy(values.astype(np.float32)))
