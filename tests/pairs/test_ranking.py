"""The exact ranking, against sorting a dense matrix."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from torch import Tensor

from gaug.errors import DataError, TrainingError
from gaug.memory import free_memory
from gaug.pairs import best_pairs
from gaug.pairs.blocks import default_block
from gaug.pairs.distance import DistanceScores
from gaug.pairs.hashing import pair_hash
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.ranking import (
    RankedPairs,
    bottom_edges,
    num_non_edges,
    top_non_edges,
    top_non_edges_per_node,
)
from tests.tie_hash import tie_hash


class DenseScores:
    """Scores from a symmetric matrix, with ties in plenty."""

    slack = 0.0

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        return self.matrix[start:stop, first_column:]

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        return self.matrix[start:stop, first_column:]

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return self.matrix[pairs[0], pairs[1]]


class NoisyScores(DenseScores):
    """Rows that are off by up to the slack, as fast arithmetic is."""

    slack = 0.4

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        exact = super().score_rows(start, stop, first_column)
        generator = torch.Generator().manual_seed(start)
        return exact + 0.39 * (2 * torch.rand(exact.shape, generator=generator) - 1)


class ListedScores(DenseScores):
    """Those that are not 0 are listed, and some that are."""

    mostly_zero = True
    block_rows = 3

    def nonzero_rows(self, start: int, stop: int) -> csr_matrix:
        rows = self.matrix[start:stop].numpy()
        row, column = np.nonzero((rows != 0) | (np.indices(rows.shape).sum(axis=0) % 3 == 0))
        return csr_matrix((rows[row, column], (row, column)), shape=rows.shape)


def tied_scores(num_nodes: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    half = torch.randint(-2, 3, (num_nodes, num_nodes), generator=generator).float().triu(1)
    return half + half.t()


def random_edges(num_nodes: int, share: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed + 1)
    pairs = torch.triu_indices(num_nodes, num_nodes, offset=1)
    return pairs[:, torch.rand(pairs.size(1), generator=generator) < share]


def non_edges(num_nodes: int, edges: Tensor) -> list[tuple[int, int]]:
    present = {tuple(pair) for pair in edges.t().tolist()}
    return [
        (u, v) for u in range(num_nodes) for v in range(u + 1, num_nodes) if (u, v) not in present
    ]


def as_list(pairs: Tensor) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in pairs.t().tolist()]


SCORES = [DenseScores, NoisyScores, ListedScores]
cases = st.tuples(st.integers(2, 12), st.floats(0, 1), st.integers(0, 100_000), st.integers(1, 60))


@settings(max_examples=400)
@given(cases, st.sampled_from(SCORES), st.floats(0, 1))
def test_top_non_edges_are_those_of_a_full_sort(
    case: tuple[int, float, int, int], kind: type[DenseScores], share: float
) -> None:
    num_nodes, density, seed, block = case
    matrix, edges = tied_scores(num_nodes, seed), random_edges(num_nodes, density, seed)
    free = non_edges(num_nodes, edges)
    count = round(share * len(free))
    expected = sorted(free, key=lambda pair: (-matrix[pair].item(), tie_hash(pair)))[:count]
    ranked = top_non_edges(kind(matrix), edges, num_nodes, count, block_elements=block)
    assert as_list(ranked.pairs) == expected
    assert ranked.logits.tolist() == [matrix[pair].item() for pair in expected]


@settings(max_examples=300)
@given(cases, st.sampled_from(SCORES), st.floats(0, 1))
def test_per_node_offers_follow_the_rounds(
    case: tuple[int, float, int, int], kind: type[DenseScores], share: float
) -> None:
    num_nodes, density, seed, block = case
    matrix, edges = tied_scores(num_nodes, seed), random_edges(num_nodes, density, seed)
    free = non_edges(num_nodes, edges)
    count = round(share * len(free))
    # The slow way: each node's list of partners, then round after round.
    partners = {
        u: [
            v
            for *_, v in sorted(
                (-matrix[u, v].item(), tie_hash((u, v)), v)
                for v in range(num_nodes)
                if (min(u, v), max(u, v)) in set(free) and u != v
            )
        ]
        for u in range(num_nodes)
    }
    expected: list[tuple[int, int]] = []
    for number in range(num_nodes):
        offered = {
            (min(u, chosen[number]), max(u, chosen[number]))
            for u, chosen in partners.items()
            if number < len(chosen)
        }
        fresh = offered - set(expected)
        expected += sorted(fresh, key=lambda pair: (-matrix[pair].item(), tie_hash(pair)))
    ranked = top_non_edges_per_node(kind(matrix), edges, num_nodes, count, block_elements=block)
    assert as_list(ranked.pairs) == expected[:count]


@given(cases, st.floats(0, 1))
def test_bottom_edges_are_those_of_a_full_sort(
    case: tuple[int, float, int, int], share: float
) -> None:
    num_nodes, density, seed, _ = case
    matrix, edges = tied_scores(num_nodes, seed), random_edges(num_nodes, density, seed)
    count = round(share * edges.size(1))
    expected = sorted(as_list(edges), key=lambda pair: (matrix[pair].item(), tie_hash(pair)))[
        :count
    ]
    ranked = bottom_edges(DenseScores(matrix), edges, num_nodes, count)
    assert as_list(ranked.pairs) == expected


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 40), st.integers(1, 8), st.integers(0, 10_000), st.integers(1, 300))
def test_inner_products_rank_the_same_whatever_the_block(
    num_nodes: int, width: int, seed: int, block: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    # Few distinct embeddings, so that many products tie exactly.
    z = torch.randn(4, width, generator=generator)[
        torch.randint(4, (num_nodes,), generator=generator)
    ]
    edges = random_edges(num_nodes, 0.2, seed)
    count = len(non_edges(num_nodes, edges)) // 2
    scores = InnerProductScores(z)
    exact = (z.double() @ z.double().t()).float()
    expected = sorted(
        non_edges(num_nodes, edges),
        key=lambda pair: (
            -scores.edge_logits(torch.tensor(pair)[:, None]).item(),
            tie_hash(pair),
        ),
    )[:count]
    ranked = top_non_edges(scores, edges, num_nodes, count, block_elements=block)
    assert as_list(ranked.pairs) == expected
    torch.testing.assert_close(ranked.logits, exact[ranked.pairs[0], ranked.pairs[1]])


class Counted:
    """Counts the pairs that are scored one by one."""

    def __init__(self, scores: InnerProductScores | DistanceScores) -> None:
        self.scores, self.slack, self.num_scored = scores, scores.slack, 0
        self.score_rows = scores.score_rows
        one_by_one = scores.edge_logits

        def counting(pairs: Tensor) -> Tensor:
            self.num_scored += pairs.size(1)
            return one_by_one(pairs)

        # The exact rows score some of their pairs one by one, too.
        scores.edge_logits = self.edge_logits = counting  # type: ignore[method-assign]
        self.exact_rows = scores.exact_rows


def embeddings_of(kind: str, num_nodes: int, width: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(num_nodes, width, generator=generator)
    groups = torch.randint(min(4, num_nodes), (num_nodes,), generator=generator)
    lengths = 10 ** (12 * torch.rand(num_nodes, 1, generator=generator) - 6)
    made: dict[str, Callable[[], Tensor]] = {
        "zero": lambda: torch.zeros_like(z),
        "equal": lambda: z[:1].expand_as(z),
        "equal up to rounding": lambda: z[:1] * (1 + 1e-7 * z),
        "four kinds": lambda: z[groups],
        "four directions": lambda: z[groups] * lengths,
        "lengths from 1e-6 to 1e6": lambda: z * lengths,
        "signs": lambda: z.sign(),
        "one column each": lambda: torch.eye(width)[groups % width] * lengths,
    }
    return made[kind]()


KINDS = [
    "zero",
    "equal",
    "equal up to rounding",
    "four kinds",
    "four directions",
    "lengths from 1e-6 to 1e6",
    "signs",
    "one column each",
]


@pytest.mark.parametrize("scoring", [InnerProductScores, DistanceScores])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [top_non_edges, top_non_edges_per_node])
def test_ties_are_not_scored_one_by_one_whatever_the_embeddings(
    rank: Callable[..., RankedPairs],
    kind: str,
    scoring: type[InnerProductScores | DistanceScores],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At most the result, what may be undecided at once, and a small share of all pairs."""
    num_nodes, count, undecided = 700, 2000, 500
    monkeypatch.setattr(best_pairs, "_UNDECIDED", undecided)
    z = embeddings_of(kind, num_nodes, 8, 0)
    edges = random_edges(num_nodes, 0.01, 0)
    scores = Counted(scoring(z))
    block = 7000
    found = rank(scores, edges, num_nodes, count, block_elements=block)
    rounds = -(-2 * count // num_nodes)
    num_pairs = num_nodes * num_nodes
    if rank is top_non_edges:
        most = 3 * max(count, undecided) + 16_384 + block + num_pairs // 2 // 64
    else:
        most = rounds * num_nodes + num_pairs // 64
    assert scores.num_scored <= most + num_pairs // 100  # scores whose rounding is open
    # Against scoring every pair.
    pairs = torch.triu_indices(num_nodes, num_nodes, 1)
    keys = pairs[0] * num_nodes + pairs[1]
    pairs = pairs[:, ~torch.isin(keys, edges[0] * num_nodes + edges[1])]
    exact = scoring(z).edge_logits(pairs)
    hashes = pair_hash(*pairs.numpy())
    order = np.lexsort((hashes, -exact.double().numpy()))
    if rank is top_non_edges_per_node:
        order = by_rounds(pairs.numpy(), order, num_nodes)
    assert torch.equal(found.pairs, pairs[:, order[:count]])
    assert torch.equal(found.logits, exact[order[:count]])


def by_rounds(pairs: np.ndarray, order: np.ndarray, num_nodes: int) -> np.ndarray:
    """The same order, sorted by the round in which either end offers the pair."""
    offered = np.zeros(num_nodes, dtype=np.int64)
    rounds = np.empty(order.size, dtype=np.int64)
    for place, (u, v) in enumerate(pairs[:, order].T.tolist()):
        rounds[place] = min(offered[u], offered[v])
        offered[[u, v]] += 1
    return order[np.argsort(rounds, kind="stable")]


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from([InnerProductScores, DistanceScores]),
    st.sampled_from(KINDS),
    st.integers(2, 40),
    st.integers(1, 20),
    st.integers(0, 10_000),
)
def test_exact_rows_are_the_scores_of_single_pairs(
    scoring: type[InnerProductScores | DistanceScores],
    kind: str,
    num_nodes: int,
    width: int,
    seed: int,
) -> None:
    scores = scoring(embeddings_of(kind, num_nodes, width, seed))
    start, stop, first = num_nodes // 3, num_nodes // 3 + 1 + num_nodes // 2, num_nodes // 4
    pairs = torch.cartesian_prod(torch.arange(start, stop), torch.arange(first, num_nodes)).t()
    expected = scores.edge_logits(pairs).view(stop - start, num_nodes - first)
    assert torch.equal(scores.exact_rows(start, stop, first), expected)


@pytest.mark.parametrize("rank", [top_non_edges, top_non_edges_per_node])
def test_in_a_graph_sorted_by_class_ties_go_to_all_classes(
    rank: Callable[..., RankedPairs],
) -> None:
    """All scores are equal: the 300 pairs are a random sample of 19,900."""
    nothing = torch.empty(2, 0, dtype=torch.long)
    found = rank(DenseScores(torch.zeros(200, 200)), nothing, 200, 300)
    ends = torch.bincount(found.pairs.flatten() // 50, minlength=4)
    # 150 of 600 ends in each quarter of the nodes, +-10.6.
    assert float((ends - 150).abs().max()) < 4 * 10.6


def test_the_number_of_threads_does_not_change_a_ranking() -> None:
    z = torch.randn(400, 16, generator=torch.Generator().manual_seed(0))
    edges = random_edges(400, 0.02, 0)
    before, results = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append(top_non_edges(InnerProductScores(z), edges, 400, 3000))
    torch.set_num_threads(before)
    assert torch.equal(results[0].pairs, results[1].pairs)
    assert torch.equal(results[0].logits, results[1].logits)


def test_a_shorter_ranking_is_the_beginning_of_a_longer_one() -> None:
    matrix, edges = tied_scores(30, 3), random_edges(30, 0.2, 3)
    for rank in (top_non_edges, top_non_edges_per_node):
        long = rank(DenseScores(matrix), edges, 30, 200)
        short = rank(DenseScores(matrix), edges, 30, 70)
        assert torch.equal(long.first(70).pairs, short.pairs)


def test_per_node_reaches_every_node_before_any_second_choice() -> None:
    z = (
        torch.randn(50, 4, generator=torch.Generator().manual_seed(1))
        * torch.linspace(1, 9, 50)[:, None]
    )
    edges = random_edges(50, 0.05, 1)
    spread = top_non_edges_per_node(InnerProductScores(z), edges, 50, 50)
    crowded = top_non_edges(InnerProductScores(z), edges, 50, 50)
    assert spread.pairs.unique().numel() == 50
    assert crowded.pairs.unique().numel() < 40


@pytest.mark.parametrize("rank", [top_non_edges, top_non_edges_per_node])
def test_more_than_there_are_is_refused_with_the_largest_fraction(
    rank: Callable[..., RankedPairs],
) -> None:
    edges = torch.tensor([[0, 0], [1, 2]])
    with pytest.raises(DataError, match=r"from 0 to the number of non-edges \(1\), got 2.* 0\.5"):
        rank(DenseScores(torch.zeros(3, 3)), edges, 3, 2)


def test_in_a_complete_graph_there_is_nothing_to_add() -> None:
    edges = torch.triu_indices(4, 4, offset=1)
    ranked = top_non_edges(DenseScores(torch.zeros(4, 4)), edges, 4, 0)
    assert len(ranked) == 0


def test_scores_that_are_not_numbers_are_refused() -> None:
    matrix = torch.zeros(3, 3)
    matrix[0, 2] = np.nan
    edges = torch.tensor([[0], [1]])
    with pytest.raises(TrainingError, match="not numbers"):
        top_non_edges(DenseScores(matrix), edges, 3, 1)


def test_progress_rises_to_one() -> None:
    shares: list[float] = []
    top_non_edges(
        DenseScores(torch.zeros(9, 9)),
        torch.tensor([[0], [1]]),
        9,
        3,
        block_elements=10,
        on_share=shares.append,
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("first", [1, 5, 20])
def test_pairs_with_an_end_among_the_first_nodes(per_node: bool, first: int) -> None:
    """Against sorting all pairs: global by score, per node by the rounds of the first nodes."""
    num_nodes, generator = 20, torch.Generator().manual_seed(first)
    matrix = torch.rand(num_nodes, num_nodes, generator=generator)
    scores = DenseScores(matrix.triu(1) + matrix.triu(1).t())
    every = torch.triu_indices(num_nodes, num_nodes, offset=1)
    edges = every[:, torch.rand(every.size(1), generator=generator) < 0.2]
    edge_set = set(map(tuple, edges.t().tolist()))
    free = [pair for pair in map(tuple, every.t().tolist()) if pair not in edge_set]
    free = [pair for pair in free if min(pair) < first]
    assert num_non_edges(num_nodes, edges, first) == len(free)
    count = len(free) // 2
    if per_node:
        offers: dict[tuple[int, int], tuple[int, float]] = {}
        for node in range(first):
            own = sorted((p for p in free if node in p), key=lambda p: -float(scores.matrix[p]))
            for place, pair in enumerate(own):
                known = offers.get(pair, (place, 0.0))[0]
                offers[pair] = (min(place, known), -float(scores.matrix[pair]))
        expected = sorted(offers, key=lambda pair: offers[pair])[:count]
    else:
        expected = sorted(free, key=lambda pair: -float(scores.matrix[pair]))[:count]
    rank = top_non_edges_per_node if per_node else top_non_edges
    found = rank(scores, edges, num_nodes, count, among_first=first, block_elements=60)
    assert list(map(tuple, found.pairs.t().tolist())) == expected
    with pytest.raises(DataError, match="must be from 0 to the number of non-edges"):
        rank(scores, edges, num_nodes, len(free) + 1, among_first=first)


def test_a_block_is_a_few_rows_unless_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_block(100) == 1 << 18  # what a core's cache holds
    assert default_block(100_000) == 16 * 100_000
    available = SimpleNamespace(available=300_000_000)  # of which 200 MB are left alone
    monkeypatch.setattr(psutil, "virtual_memory", lambda: available)
    assert default_block(1_000_000) * 48 <= free_memory() / 8 < default_block(1_000_000) * 48 + 48
    available.available = 0
    assert default_block(1_000_000) == 1


@pytest.mark.parametrize("rank", [top_non_edges, top_non_edges_per_node])
def test_a_ranking_does_not_depend_on_the_free_memory(
    rank: Callable[..., RankedPairs], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, edges = tied_scores(40, 0), random_edges(40, 0.2, 0)
    plenty = rank(DenseScores(matrix), edges, 40, 100)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=0))
    short = rank(DenseScores(matrix), edges, 40, 100)
    assert torch.equal(plenty.pairs, short.pairs)
    assert torch.equal(plenty.logits, short.logits)
