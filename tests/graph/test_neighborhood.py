"""The surroundings of some nodes."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph import compiled_neighborhood, neighborhood
from gaug.graph.adjacency import Adjacency
from gaug.graph.neighborhood import OUTSIDE, Neighborhoods, chosen

# 0-1-2-3-4, and 5 hangs on 1; 6 is alone.
PATH = torch.tensor([[0, 1, 1, 2, 3], [1, 2, 5, 3, 4]])


def drawn(num_nodes: int, degree: float, seed: int) -> Adjacency:
    config = SyntheticConfig(
        num_nodes=num_nodes, num_classes=3, degree=degree, seed=seed, heavy_tailed=True
    )
    return Adjacency.of(planted_graph(config))


def test_a_path_by_hand() -> None:
    found = Neighborhoods(Adjacency.of_pairs(PATH, 7)).around(torch.tensor([2]), hops=1)
    assert found.nodes.tolist() == [1, 2, 3]
    assert found.seeds.tolist() == [1]
    assert found.adjacency.pairs.tolist() == [[0, 1], [1, 2]]
    assert found.adjacency.outside is not None
    assert found.adjacency.outside.tolist() == [2, 0, 1]  # 1 is joined with 0 and 5, 3 with 4


def test_no_hop_gives_the_seeds_and_the_edges_between_them() -> None:
    found = Neighborhoods(Adjacency.of_pairs(PATH, 7)).around(torch.tensor([1, 2, 6]), hops=0)
    assert found.nodes.tolist() == [1, 2, 6]
    assert found.adjacency.pairs.tolist() == [[0], [1]]


def test_the_nodes_and_edges_are_those_of_networkx() -> None:
    adjacency = drawn(300, 4.0, 1)
    graph: nx.Graph = nx.Graph(adjacency.pairs.t().tolist())
    graph.add_nodes_from(range(300))
    neighborhoods = Neighborhoods(adjacency)
    for hops in range(4):
        for seeds in ([5], [3, 100, 299]):
            found = neighborhoods.around(torch.tensor(seeds), hops)
            near = {
                node
                for seed in seeds
                for node in nx.single_source_shortest_path_length(graph, seed, cutoff=hops)
            }
            assert found.nodes.tolist() == sorted(near)
            assert found.nodes[found.seeds].tolist() == seeds
            edges = {tuple(pair) for pair in found.nodes[found.adjacency.pairs].t().tolist()}
            assert edges == {tuple(sorted(edge)) for edge in graph.subgraph(near).edges}


def test_weights_and_what_leads_out_of_a_part_follow_their_edges() -> None:
    whole = Adjacency.of_pairs(PATH, 7)
    weights = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])  # of (0,1), (1,2), (1,5), (2,3), (3,4)
    weighted = Adjacency(whole.pattern, weights[whole.pair_of_entry], symmetric=True)
    found = Neighborhoods(weighted).around(torch.tensor([2]), hops=1)
    assert found.adjacency.weight is not None
    assert found.adjacency.weight.tolist() == [2, 2, 8, 8]
    assert found.adjacency.outside is not None
    assert found.adjacency.outside.tolist() == [5, 0, 16]


def test_one_that_holds_the_whole_graph_is_the_whole_graph() -> None:
    adjacency = drawn(60, 6.0, 0)
    found = Neighborhoods(adjacency).around(torch.arange(60), hops=2)
    assert torch.equal(found.nodes, torch.arange(60))
    assert torch.equal(found.adjacency.edge_index, adjacency.edge_index)
    assert found.adjacency.outside is None


def test_a_fanout_follows_so_many_distinct_neighbors_and_all_of_the_others() -> None:
    star = torch.stack([torch.zeros(50, dtype=torch.long), torch.arange(1, 51)])
    neighborhoods = Neighborhoods(Adjacency.of_pairs(star, 51))
    sizes = {
        neighborhoods.around(torch.tensor([0]), 1, fanout=7, key=key).nodes.numel()
        for key in range(20)
    }
    assert sizes == {8}
    assert neighborhoods.around(torch.tensor([3]), 1, fanout=7).nodes.tolist() == [0, 3]
    assert neighborhoods.around(torch.tensor([0]), 1, fanout=50).nodes.numel() == 51


def test_a_fanout_draws_every_neighbor_equally_often() -> None:
    """Within five standard deviations of a binomial count, for each of 12 neighbors."""
    draws, degree, fanout = 6000, 12, 5
    picks = chosen(3, np.arange(draws), np.full(draws, degree), fanout)
    assert all(len(set(row)) == fanout for row in picks.tolist())
    share = fanout / degree
    counts = np.bincount(picks.ravel(), minlength=degree)
    bound = 5 * np.sqrt(draws * share * (1 - share))
    assert np.abs(counts - draws * share).max() < bound
    together = sum({0, 11} <= set(row) for row in picks.tolist())  # pairs, too
    expected = share * (fanout - 1) / (degree - 1)
    assert abs(together - draws * expected) < 5 * np.sqrt(draws * expected)


def test_another_key_follows_others_and_the_same_key_the_same() -> None:
    neighborhoods = Neighborhoods(drawn(400, 12.0, 2))

    def nodes(key: int) -> Tensor:
        return neighborhoods.around(torch.tensor([0, 1, 2]), 2, fanout=3, key=key).nodes

    assert torch.equal(nodes(5), nodes(5))
    assert not torch.equal(nodes(5), nodes(6))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    hops=st.integers(0, 4),
    fanout=st.integers(0, 6),
    key=st.integers(0, 2**63 - 1),
)
def test_the_compiled_form_finds_the_same(seed: int, hops: int, fanout: int, key: int) -> None:
    adjacency = drawn(80, 5.0, seed)
    crow, col = adjacency.pattern.crow.numpy(), adjacency.pattern.col.numpy()
    seeds = np.unique(np.random.default_rng(seed).integers(0, 80, 4))
    found = []
    for form in (neighborhood, compiled_neighborhood):
        place = np.full(80, OUTSIDE, np.int32)
        nodes = form.reached(crow, col, seeds, hops, fanout, key, place)
        parts = form.induced(crow, col, nodes, place)
        found.append([nodes, place, *parts])
    for eager, fast in zip(*found, strict=True):
        assert np.array_equal(eager, fast)


def test_it_works_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = drawn(200, 6.0, 3)
    fast = Neighborhoods(adjacency).around(torch.tensor([7, 9]), 2, fanout=2, key=4)
    monkeypatch.setattr(neighborhood, "compiled_form", lambda _: None)
    eager = Neighborhoods(adjacency).around(torch.tensor([7, 9]), 2, fanout=2, key=4)
    assert torch.equal(fast.nodes, eager.nodes)
    assert torch.equal(fast.adjacency.edge_index, eager.adjacency.edge_index)


def test_the_work_does_not_grow_with_the_rest_of_the_graph() -> None:
    """The same surroundings within a graph ten times as large visit the same entries."""
    small = drawn(100, 6.0, 0)
    rest = drawn(1000, 6.0, 1).pairs + 100
    large = Adjacency.of_pairs(torch.cat([small.pairs, rest], dim=1), 1100)
    seen = []
    for adjacency in (small, large):
        crow = adjacency.pattern.crow.numpy()
        col = _Counting(adjacency.pattern.col.numpy())
        place = np.full(adjacency.num_nodes, OUTSIDE, np.int32)
        nodes = neighborhood.reached(crow, col, np.array([4]), 2, 0, 0, place)  # type: ignore[arg-type]
        neighborhood.induced(crow, col, nodes, place)  # type: ignore[arg-type]
        seen.append(col.read)
    assert seen[0] == seen[1] > 0


@pytest.mark.parametrize("form", [neighborhood, compiled_neighborhood])
def test_nodes_elsewhere_are_neither_looked_at_nor_reset(
    form: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marks at all of them survive a search that finds the same as without them."""
    rest = drawn(1000, 6.0, 1).pairs + 100
    graph = Adjacency.of_pairs(torch.cat([drawn(100, 6.0, 0).pairs, rest], dim=1), 1100)
    used: list[np.ndarray] = []

    def reached(*given: Any) -> np.ndarray:
        used.append(given[-1])
        found: np.ndarray = form.reached(*given)
        return found

    watched = SimpleNamespace(reached=reached, induced=form.induced)
    monkeypatch.setattr(neighborhood, "compiled_form", lambda _: watched)
    neighborhoods, seeds = Neighborhoods(graph), torch.tensor([4])
    first = neighborhoods.around(seeds, 2)
    used[0][100:] = 7
    second = neighborhoods.around(seeds, 2)
    assert used[1] is used[0]
    assert set(used[0][:100].tolist()) == {OUTSIDE}
    assert set(used[0][100:].tolist()) == {7}
    assert torch.equal(first.nodes, second.nodes)
    assert torch.equal(first.adjacency.edge_index, second.adjacency.edge_index)


class _Counting:
    """Counts the entries of an array that are read."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.read = values, 0

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        self.read += places.size
        found: np.ndarray = self.values[places]
        return found


def test_impossible_requests_are_refused() -> None:
    neighborhoods = Neighborhoods(Adjacency.of_pairs(PATH, 7))
    with pytest.raises(ConfigError, match="fanout must be at least 1, got 0"):
        neighborhoods.around(torch.tensor([0]), 1, fanout=0)
    with pytest.raises(ConfigError, match="hops must be at least 0, got -1"):
        neighborhoods.around(torch.tensor([0]), -1)
