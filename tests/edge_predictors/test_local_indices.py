"""The local indices: by hand, against slow references, and the same however they are asked for."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from itertools import combinations, combinations_with_replacement
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from gaug import load_graph
from gaug.edge_predictors import common_neighbors
from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.common_neighbors import shared_weight_of_pairs, shared_weight_of_rows
from gaug.edge_predictors.local_indices import (
    CAR,
    Jaccard,
    LocalLeichtHolmeNewman,
    LocalNaiveBayes,
    ResourceAllocation,
)
from gaug.errors import DataError, TrainingError
from gaug.graph.matrices import to_scipy
from gaug.pairs.scores import are_mostly_zero
from tests.tie_hash import tie_hash

Pair = tuple[int, int]
Neighbors = list[set[int]]

INDICES = [Jaccard, ResourceAllocation, LocalLeichtHolmeNewman, CAR, LocalNaiveBayes]
every_index = pytest.mark.parametrize("index", INDICES)


def graph(num_nodes: int, edges: list[Pair]) -> Data:
    both = sorted(edges + [(v, u) for u, v in edges])
    return Data(
        x=torch.ones(num_nodes, 1),
        edge_index=torch.tensor(both).t().contiguous(),
        num_nodes=num_nodes,
    )


def score(predictor: EdgePredictor, pairs: list[Pair]) -> list[float]:
    return predictor.edge_logits(torch.tensor(pairs).t()).tolist()


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Pair]]:
    """Any graph of up to 12 nodes with at least one edge; dense ones as often as sparse ones."""
    num_nodes = draw(st.integers(2, 12))
    pairs = list(combinations(range(num_nodes), 2))
    one = draw(st.sampled_from(pairs))
    share = draw(st.floats(0, 1))
    seed = draw(st.integers(0, 10_000))
    drawn = torch.rand(len(pairs), generator=torch.Generator().manual_seed(seed)) < share
    kept = {pair for pair, keep in zip(pairs, drawn.tolist(), strict=True) if keep} | {one}
    return num_nodes, sorted(kept)


# Slow references: pure Python over sets.


def neighbors_of(num_nodes: int, edges: list[Pair]) -> Neighbors:
    neighbors: Neighbors = [set() for _ in range(num_nodes)]
    for u, v in edges:
        neighbors[u].add(v)
        neighbors[v].add(u)
    return neighbors


def num_links(nodes: set[int], neighbors: Neighbors) -> int:
    return sum(b in neighbors[a] for a, b in combinations(sorted(nodes), 2))


def slow_jaccard(u: int, v: int, near: Neighbors) -> float:
    either = near[u] | near[v]
    return len(near[u] & near[v]) / len(either) if either else 0.0


def slow_ra(u: int, v: int, near: Neighbors) -> float:
    return sum(1 / len(near[w]) for w in sorted(near[u] & near[v]))


def slow_llhn(u: int, v: int, near: Neighbors) -> float:
    common = near[u] & near[v]
    return len(common) / (len(near[u]) * len(near[v])) if common else 0.0


def slow_car(u: int, v: int, near: Neighbors) -> float:
    common = near[u] & near[v]
    return len(common) * num_links(common, near)


def slow_lnb(u: int, v: int, near: Neighbors) -> float:
    num_edges = sum(len(adjacent) for adjacent in near) / 2
    eta = len(near) * (len(near) - 1) / (2 * num_edges) - 1
    total = 0.0
    for w in sorted(near[u] & near[v]):
        linked = num_links(near[w], near)
        unlinked = math.comb(len(near[w]), 2) - linked
        total += (math.log(eta) if eta else 0.0) + math.log((linked + 1) / (unlinked + 1))
    return total


SLOW: dict[type[EdgePredictor], Callable[[int, int, Neighbors], float]] = {
    Jaccard: slow_jaccard,
    ResourceAllocation: slow_ra,
    LocalLeichtHolmeNewman: slow_llhn,
    CAR: slow_car,
    LocalNaiveBayes: slow_lnb,
}


# 0 and 3 share the linked neighbors 1 and 2, node 4 hangs on 2, node 5 is on its own:
#
#     0 - 1        degrees 2 3 4 2 1 0, 6 edges of 15 pairs
#     | / |        eta = 15 / 6 - 1 = 3/2
#     2 - 3        linked and unlinked pairs of neighbors, hence R = (T + 1) / (S + 1):
#     |            R_0 = R_3 = (1 + 1) / (0 + 1) = 2      (their neighbors are 1 - 2)
#     4   5        R_1 = (2 + 1) / (1 + 1) = 3/2          (of 0, 2, 3: 0 - 2 and 2 - 3)
#                  R_2 = (2 + 1) / (4 + 1) = 3/5          (of 0, 1, 3, 4: 0 - 1 and 1 - 3)
KITE = graph(6, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4)])
#        common neighbors 1, 2 (linked); 2; 0, 3 (not linked); 2; none
ASKED = [(0, 3), (0, 4), (1, 2), (0, 1), (0, 5)]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        # Either has 1, 2; the same; 0, 1, 2, 3, 4; 0, 1, 2, 3.
        (Jaccard, [1, 1 / 2, 2 / 5, 1 / 4, 0]),
        # 1/3 + 1/4, 1/4, 1/2 + 1/2, 1/4
        (ResourceAllocation, [7 / 12, 1 / 4, 1, 1 / 4, 0]),
        # 2 / (2 2), 1 / (2 1), 2 / (3 4), 1 / (2 3)
        (LocalLeichtHolmeNewman, [1 / 2, 1 / 2, 1 / 6, 1 / 6, 0]),
        # 2 · 1, 1 · 0, 2 · 0, 1 · 0
        (CAR, [2, 0, 0, 0, 0]),
        # 3/2 3/2 · 3/2 3/5 = 2.025, 3/2 · 3/5 = 0.9, 3/2 2 · 3/2 2 = 9, 0.9
        (LocalNaiveBayes, [math.log(2.025), math.log(0.9), math.log(9), math.log(0.9), 0]),
    ],
)
def test_scores_of_a_kite_are_those_computed_by_hand(
    index: type[EdgePredictor], expected: list[float]
) -> None:
    assert score(index().fit(KITE), ASKED) == pytest.approx(expected, rel=1e-6)


@given(graphs())
def test_jaccard_is_that_of_networkx(drawn: tuple[int, list[Pair]]) -> None:
    assert_equals_networkx(Jaccard(), nx.jaccard_coefficient, drawn)


@given(graphs())
def test_resource_allocation_is_that_of_networkx(drawn: tuple[int, list[Pair]]) -> None:
    assert_equals_networkx(ResourceAllocation(), nx.resource_allocation_index, drawn)


def assert_equals_networkx(
    predictor: EdgePredictor, oracle: Callable, drawn: tuple[int, list[Pair]]
) -> None:
    num_nodes, edges = drawn
    same = nx.Graph(edges)
    same.add_nodes_from(range(num_nodes))
    pairs = list(combinations(range(num_nodes), 2))
    expected = [value for _, _, value in oracle(same, pairs)]
    assert score(predictor.fit(graph(*drawn)), pairs) == pytest.approx(expected, abs=1e-6)


@every_index
@given(drawn=graphs())
def test_scores_are_those_of_a_slow_reference(
    index: type[EdgePredictor], drawn: tuple[int, list[Pair]]
) -> None:
    pairs = list(combinations_with_replacement(range(drawn[0]), 2))
    near = neighbors_of(*drawn)
    expected = [SLOW[index](u, v, near) for u, v in pairs]
    assert score(index().fit(graph(*drawn)), pairs) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@every_index
@given(drawn=graphs(), chunk=st.integers(1, 40), data=st.data())
def test_a_score_is_the_same_to_the_bit_however_it_is_asked_for(
    index: type[EdgePredictor], drawn: tuple[int, list[Pair]], chunk: int, data: st.DataObject
) -> None:
    predictor, num_nodes = index().fit(graph(*drawn)), drawn[0]
    table = dense(predictor, num_nodes)
    assert torch.equal(table, table.t())
    assert torch.equal(predictor.score_rows(0, num_nodes, 0), table)

    start = data.draw(st.integers(0, num_nodes - 1), label="start")
    stop = data.draw(st.integers(start + 1, num_nodes), label="stop")
    first = data.draw(st.integers(0, num_nodes - 1), label="first column")
    node = st.integers(0, num_nodes - 1)
    few = data.draw(st.lists(st.tuples(node, node), min_size=1, max_size=5), label="pairs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common_neighbors, "CHUNK_ENTRIES", chunk)
        again = index().fit(graph(*drawn))
        assert torch.equal(again.score_rows(start, stop, first), table[start:stop, first:])
        assert score(again, few) == [float(table[pair]) for pair in few]
        assert torch.equal(dense(again, num_nodes), table)


@given(st.integers(0, 1000), st.integers(1, 60))
def test_long_sums_are_the_same_to_the_bit_by_rows_and_by_pairs(seed: int, height: int) -> None:
    # In double precision: single precision would hide most differences in the order of a sum.
    random = nx.gnp_random_graph(60, 0.5, seed=seed)
    adjacency = to_scipy(graph(60, list(random.edges)).edge_index, 60).astype(np.float64)
    weights = np.random.default_rng(seed).normal(size=60)
    pairs = np.indices((60, 60)).reshape(2, -1)
    table = shared_weight_of_pairs(adjacency, weights, pairs).reshape(60, 60)
    assert np.array_equal(table, table.T)
    for start in range(0, 60, height):
        stop = min(60, start + height)
        rows = shared_weight_of_rows(adjacency, weights, start, stop, start)
        assert np.array_equal(rows, table[start:stop, start:])


def dense(predictor: EdgePredictor, num_nodes: int) -> Tensor:
    """The score of every ordered pair, asked for in a random order."""
    places = torch.cartesian_prod(torch.arange(num_nodes), torch.arange(num_nodes)).t()
    shuffled = torch.randperm(places.size(1), generator=torch.Generator().manual_seed(0))
    table = torch.full((num_nodes, num_nodes), torch.nan)
    table[places[0, shuffled], places[1, shuffled]] = predictor.edge_logits(places[:, shuffled])
    return table


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        # Two of five nodes share the other three, which are linked to one another; k = 4.
        (Jaccard, 3 / 5),
        (ResourceAllocation, 3 / 4),
        (LocalLeichtHolmeNewman, 3 / 16),
        (CAR, 9),
        # T = 6, S = 0, and eta = 0 is left out.
        (LocalNaiveBayes, 3 * math.log(7)),
    ],
)
def test_in_a_complete_graph_all_pairs_have_one_finite_score(
    index: type[EdgePredictor], expected: float
) -> None:
    pairs = list(combinations(range(5), 2))
    predictor = index().fit(graph(5, pairs))
    assert score(predictor, pairs) == pytest.approx([expected] * 10, rel=1e-6)
    assert len(predictor.top_non_edges(0)) == 0


@every_index
def test_isolated_nodes_score_zero_with_all_nodes(index: type[EdgePredictor]) -> None:
    predictor = index().fit(graph(6, [(1, 2), (1, 3), (2, 3), (3, 4)]))  # 0 and 5 are isolated
    assert score(predictor, [(0, 5), (0, 0), (0, 3), (4, 5)]) == [0, 0, 0, 0]
    assert predictor.score_rows(0, 1, 0).tolist() == [[0] * 6]


@every_index
def test_two_joined_nodes_have_nothing_in_common(index: type[EdgePredictor]) -> None:
    predictor = index().fit(graph(2, [(0, 1)]))
    assert score(predictor, [(0, 1), (1, 0)]) == [0, 0]
    assert predictor.bottom_edges(1).pairs.tolist() == [[0], [1]]


@every_index
@given(drawn=graphs(), data=st.data())
def test_ranked_pairs_are_those_of_sorting_all_pairs(
    index: type[EdgePredictor], drawn: tuple[int, list[Pair]], data: st.DataObject
) -> None:
    num_nodes, edges = drawn
    predictor = index().fit(graph(num_nodes, edges))
    table = dense(predictor, num_nodes)
    free = [pair for pair in combinations(range(num_nodes), 2) if pair not in set(edges)]
    best = sorted(free, key=lambda pair: (-float(table[pair]), tie_hash(pair)))
    worst = sorted(edges, key=lambda pair: (float(table[pair]), tie_hash(pair)))
    for count in {data.draw(st.integers(0, len(free)), label="non-edges"), len(free)}:
        top = predictor.top_non_edges(count)
        assert [tuple(pair) for pair in top.pairs.t().tolist()] == best[:count]
        assert top.logits.tolist() == [float(table[pair]) for pair in best[:count]]
    for count in {data.draw(st.integers(0, len(edges)), label="edges"), len(edges)}:
        bottom = predictor.bottom_edges(count)
        assert [tuple(pair) for pair in bottom.pairs.t().tolist()] == worst[:count]


@every_index
def test_pairs_without_common_neighbors_follow_in_the_order_of_their_hashes(
    index: type[EdgePredictor],
) -> None:
    # A triangle with a tail, 2 - 3 - 4: only (0, 3), (1, 3) and (2, 4) are two steps apart.
    predictor = index().fit(graph(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)]))
    ranked = [tuple(pair) for pair in predictor.top_non_edges(10).pairs.t().tolist()]
    apart = [pair for pair in ranked if pair not in {(0, 3), (1, 3), (2, 4)}]
    assert apart == [(4, 5), (1, 5), (1, 4), (0, 5), (0, 4), (3, 5), (2, 5)]


@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("count", [40, 2000])
@every_index
def test_listing_pairs_with_common_neighbors_gives_the_ranking_of_all_pairs(
    index: type[EdgePredictor], count: int, per_node: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 are more pairs than score above 0."""
    edges = list(nx.gnm_random_graph(150, 120, seed=3).edges)
    listed, whole = index().fit(graph(150, edges)), index().fit(graph(150, edges))
    assert are_mostly_zero(listed) is (index is not CAR)  # whose links are found by rows
    monkeypatch.setattr(whole, "mostly_zero", False)
    found, expected = (one.top_non_edges(count, per_node=per_node) for one in (listed, whole))
    assert found.pairs.tolist() == expected.pairs.tolist()
    assert found.logits.tolist() == expected.logits.tolist()


def test_evidence_against_a_link_ranks_below_no_evidence() -> None:
    ranked = LocalNaiveBayes().fit(KITE).top_non_edges(9)
    # log 2.025, then the pairs of node 5 with 0, then those that only node 2 joins with log 0.9
    expected = [(0, 3), (4, 5), (1, 5), (0, 5), (3, 5), (2, 5), (1, 4), (0, 4), (3, 4)]
    assert [tuple(pair) for pair in ranked.pairs.t().tolist()] == expected
    assert float(ranked.logits[-1]) < 0


@every_index
def test_memory_is_far_below_that_of_all_pairs(index: type[EdgePredictor]) -> None:
    num_nodes = 20_000  # a bit a pair would take 50 MB
    ring = [(u, (u + step) % num_nodes) for u in range(num_nodes) for step in (1, 2)]
    data = graph(num_nodes, [(min(pair), max(pair)) for pair in ring])
    tracemalloc.start()
    predictor = index().fit(data)
    predictor.score_rows(0, 10, 0)
    predictor.edge_logits(predictor.edges_)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6


@every_index
def test_only_pairs_of_a_fitted_graph_are_scored(index: type[EdgePredictor]) -> None:
    with pytest.raises(TrainingError, match="not fitted"):
        index().edge_logits(torch.tensor([[0], [1]]))
    with pytest.raises(TrainingError, match="not fitted"):
        index().score_rows(0, 1, 0)
    with pytest.raises(DataError, match="from 0 to 5, got 6"):
        index().fit(KITE).edge_logits(torch.tensor([[0], [6]]))
    assert index().fit(KITE).edge_logits(torch.empty(2, 0, dtype=torch.long)).tolist() == []


@pytest.mark.real
@every_index
def test_the_best_non_edges_of_cora_join_one_class_more_often_than_chance(
    index: type[EdgePredictor], data_root: Path
) -> None:
    data = load_graph("cora", root=data_root)
    ends = data.y[index().fit(data).top_non_edges(500).pairs]
    share = float((ends[0] == ends[1]).double().mean())
    sizes = torch.bincount(data.y).double()
    by_chance = float((sizes * (sizes - 1)).sum() / (data.num_nodes * (data.num_nodes - 1)))
    # Five standard deviations of the share of 500 random pairs.
    assert share > by_chance + 5 * math.sqrt(by_chance * (1 - by_chance) / 500)
