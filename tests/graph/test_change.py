from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import contains_self_loops, is_undirected, to_undirected

from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import DataError
from gaug.graph.change import GraphChange, omniscient_change, random_change
from gaug.graph.edges import pair_keys
from gaug.graph.fingerprint import graph_hash

NO_PAIRS = torch.empty(2, 0, dtype=torch.long)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def pairs_of(edge_index):
    return {(u, v) for u, v in edge_index.t().tolist() if u < v}


def listed(pairs):
    return list(map(tuple, pairs.t().tolist()))


@st.composite
def graphs(draw):
    """A valid graph of 3 to 7 nodes with two classes."""
    num_nodes = draw(st.integers(3, 7))
    every = list(itertools.combinations(range(num_nodes), 2))
    pairs = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    both = sorted(pairs + [(v, u) for u, v in pairs])
    labels = draw(st.lists(st.integers(-1, 1), min_size=num_nodes, max_size=num_nodes))
    return Data(
        x=torch.ones(num_nodes, 1),
        edge_index=torch.tensor(both).t().contiguous(),
        y=torch.tensor(labels),
        num_nodes=num_nodes,
    )


def test_a_change_adds_and_removes_exactly_its_pairs(path_graph):
    change = GraphChange(added=torch.tensor([[0, 0], [3, 2]]), removed=torch.tensor([[1], [2]]))
    changed = change.apply(path_graph)
    assert changed.edge_index.tolist() == [[0, 0, 0, 1, 2, 2, 3, 3], [1, 2, 3, 0, 0, 3, 0, 2]]


def test_a_change_leaves_the_graph_it_is_applied_to_alone(path_graph):
    before = graph_hash(path_graph)
    GraphChange(added=torch.tensor([[0], [3]]), removed=torch.tensor([[0], [1]])).apply(path_graph)
    assert graph_hash(path_graph) == before


def test_an_empty_change_gives_the_same_graph(two_cliques):
    changed = GraphChange(NO_PAIRS, NO_PAIRS).apply(two_cliques)
    assert graph_hash(changed) == graph_hash(two_cliques)


def test_features_and_labels_stay_as_they_are(path_graph):
    changed = GraphChange(torch.tensor([[0], [3]]), NO_PAIRS).apply(path_graph)
    assert torch.equal(changed.x, path_graph.x)
    assert torch.equal(changed.y, path_graph.y)


def test_keys_number_the_pairs_in_their_order():
    every = list(itertools.combinations(range(5), 2))
    keys = pair_keys(torch.tensor(every).t(), 5).tolist()
    assert len(set(keys)) == len(every)
    assert keys == sorted(keys)


@given(graphs(), st.data())
def test_a_random_change_has_the_counts_asked_for_and_fits_the_graph(data, draws):
    edges = pairs_of(data.edge_index)
    free = set(itertools.combinations(range(data.num_nodes), 2)) - edges
    num_added = draws.draw(st.integers(0, len(free)))
    num_removed = draws.draw(st.integers(0, len(edges)))
    change = random_change(data, num_added, num_removed, seeded(draws.draw(st.integers(0, 99))))
    assert len(set(listed(change.added))) == len(listed(change.added)) == num_added
    assert len(set(listed(change.removed))) == len(listed(change.removed)) == num_removed
    assert set(listed(change.added)) <= free
    assert set(listed(change.removed)) <= edges
    changed = change.apply(data)
    expected = (edges - set(listed(change.removed))) | set(listed(change.added))
    assert pairs_of(changed.edge_index) == expected
    assert changed.edge_index.size(1) == 2 * len(expected)
    if expected:
        assert is_undirected(changed.edge_index)
        assert not contains_self_loops(changed.edge_index)
        assert changed.is_coalesced()


@given(graphs(), st.integers(0, 99))
def test_a_change_and_its_reverse_give_the_graph_back(data, seed):
    change = random_change(data, 0, data.edge_index.size(1) // 2, seeded(seed))
    back = GraphChange(added=change.removed, removed=change.added)
    assert graph_hash(back.apply(change.apply(data))) == graph_hash(data)


def test_adding_every_non_edge_gives_the_complete_graph(two_cliques):
    changed = random_change(two_cliques, 15 - 7, 0, seeded()).apply(two_cliques)
    assert pairs_of(changed.edge_index) == set(itertools.combinations(range(6), 2))


def test_removing_every_edge_leaves_none(two_cliques):
    changed = random_change(two_cliques, 0, 7, seeded()).apply(two_cliques)
    assert changed.edge_index.tolist() == [[], []]


def test_more_edges_to_remove_than_there_are_is_refused(path_graph):
    with pytest.raises(DataError, match=r"edges to remove must be from 0 to 3, got 4\.$"):
        random_change(path_graph, 0, 4, seeded())


def test_more_edges_to_add_than_there_are_non_edges_is_refused(path_graph):
    with pytest.raises(DataError, match=r"edges to add must be from 0 to 3, got 4\.$"):
        random_change(path_graph, 4, 0, seeded())


@pytest.mark.parametrize("draw", [random_change, omniscient_change])
def test_the_same_seed_draws_the_same_change(two_cliques, draw):
    first, second = (draw(two_cliques, 3, 1, seeded(5)) for _ in range(2))
    assert torch.equal(first.added, second.added)
    assert torch.equal(first.removed, second.removed)


def test_another_seed_draws_another_change():
    data = planted_graph(SyntheticConfig(num_nodes=200))
    first, second = (random_change(data, 50, 50, seeded(seed)) for seed in (1, 2))
    assert set(listed(first.added)) != set(listed(second.added))
    assert set(listed(first.removed)) != set(listed(second.removed))


def test_every_pair_is_drawn_equally_often(path_graph):
    draws, generator = 2000, seeded()
    changes = [random_change(path_graph, 1, 1, generator) for _ in range(draws)]
    # Each count is binomial with p = 1/3; five deviations are passed once in a million.
    bound = 5 * math.sqrt(draws * (1 / 3) * (2 / 3))
    for part, pairs in (
        ("added", [(0, 2), (0, 3), (1, 3)]),
        ("removed", [(0, 1), (1, 2), (2, 3)]),
    ):
        drawn = [listed(getattr(change, part))[0] for change in changes]
        for pair in pairs:
            assert abs(drawn.count(pair) - draws / 3) < bound


@given(graphs(), st.data())
def test_an_omniscient_change_adds_within_and_removes_between_classes(data, draws):
    edges = pairs_of(data.edge_index)
    free = set(itertools.combinations(range(data.num_nodes), 2)) - edges

    def classes(pair):
        return [int(data.y[node]) for node in pair]

    def known(pair):
        return min(classes(pair)) >= 0

    def within(pair):
        return len(set(classes(pair))) == 1

    num_added = draws.draw(st.integers(0, len(free)))
    num_removed = draws.draw(st.integers(0, len(edges)))
    change = omniscient_change(data, num_added, num_removed, seeded())
    right_to_add = {pair for pair in free if known(pair) and within(pair)}
    right_to_remove = {pair for pair in edges if known(pair) and not within(pair)}
    assert set(listed(change.added)) <= right_to_add
    assert set(listed(change.removed)) <= right_to_remove
    assert len(set(listed(change.added))) == change.added.size(1)
    assert len(set(listed(change.removed))) == change.removed.size(1)
    # All of the right kind where there are fewer than asked.
    assert change.added.size(1) == min(num_added, len(right_to_add))
    assert change.removed.size(1) == min(num_removed, len(right_to_remove))


def test_an_omniscient_change_of_two_cliques_is_known(two_cliques):
    change = omniscient_change(two_cliques, 5, 5, seeded())
    assert listed(change.added) == []  # both cliques are complete
    assert listed(change.removed) == [(2, 3)]


def test_an_omniscient_change_leaves_nodes_without_a_label_alone(path_graph):
    path_graph.y = torch.tensor([0, -1, 1, 0])  # of the edges only 2 - 3 is known to be wrong
    change = omniscient_change(path_graph, 3, 3, seeded())
    assert listed(change.added) == [(0, 3)]
    assert listed(change.removed) == [(2, 3)]


def test_an_omniscient_change_of_several_labels_a_node_is_refused(path_graph):
    path_graph.y = torch.ones(4, 2)
    with pytest.raises(DataError, match=r"needs exactly one class per node\.$"):
        omniscient_change(path_graph, 1, 1, seeded())


@pytest.fixture(scope="module")
def large_graph():
    # So many pairs of nodes that they are not listed but drawn by trial.
    return planted_graph(SyntheticConfig(num_nodes=3000, num_classes=3, degree=4))


def test_a_change_of_a_large_graph_has_the_counts_asked_for_and_fits(large_graph):
    edges = pairs_of(large_graph.edge_index)
    change = random_change(large_graph, 5000, 1000, seeded())
    added, removed = set(listed(change.added)), set(listed(change.removed))
    assert len(added) == change.added.size(1) == 5000
    assert len(removed) == change.removed.size(1) == 1000
    assert not added & edges
    assert removed <= edges
    assert all(u < v for u, v in added)


def test_an_omniscient_change_of_a_large_graph_keeps_to_classes(large_graph):
    labels = large_graph.y
    change = omniscient_change(large_graph, 2000, 100, seeded())
    assert change.added.size(1) == 2000
    assert (labels[change.added[0]] == labels[change.added[1]]).all()
    assert (labels[change.removed[0]] != labels[change.removed[1]]).all()


def ring(labels):
    """A valid graph of the given labels in which each node is joined to the next."""
    num_nodes = labels.numel()
    nodes = torch.arange(num_nodes)
    edge_index = to_undirected(torch.stack([nodes, (nodes + 1) % num_nodes]))
    x = torch.ones(num_nodes, 1)
    return Data(x=x, edge_index=edge_index, y=labels, num_nodes=num_nodes)


def test_an_omniscient_change_of_a_large_graph_of_different_classes_adds_nothing():
    change = omniscient_change(ring(torch.arange(3000)), 5, 4, seeded())
    assert change.added.tolist() == [[], []]
    assert change.removed.size(1) == 4


def test_an_omniscient_change_of_a_large_graph_adds_all_there_are_where_more_are_asked():
    labels = torch.arange(3000)
    labels[[7, 8, 2000]] = 7  # 7 - 8 is an edge already
    change = omniscient_change(ring(labels), 5, 0, seeded())
    assert sorted(listed(change.added)) == [(7, 2000), (8, 2000)]


# The pairs within a class are listed outright in the first, and drawn by trial in the others.
@pytest.mark.parametrize("sizes", [(220, 220), (2300, 2300), (2900, 1000)])
def test_an_omniscient_change_of_a_large_graph_draws_what_is_asked_within_classes(sizes):
    labels = torch.tensor([0] * sizes[0] + [1] * sizes[1] + [-1] * 10 + [2])
    data = ring(labels)
    count = 20_000
    change = omniscient_change(data, count, 2, seeded())
    added = set(listed(change.added))
    assert len(added) == change.added.size(1) == count
    assert all(u < v for u, v in added)
    assert not added & pairs_of(data.edge_index)
    ends = labels[change.added]
    assert torch.equal(ends[0], ends[1])
    assert (ends >= 0).all()
    assert set(listed(change.removed)) == {(sizes[0] - 1, sizes[0]), (0, sum(sizes) + 10)}
    # Each class has its share of the pairs, within five deviations of the binomial.
    pairs = [size * (size - 1) / 2 for size in sizes]
    share = pairs[0] / sum(pairs)
    assert abs(int((ends[0] == 0).sum()) - share * count) < 5 * math.sqrt(
        count * share * (1 - share)
    )


def test_pairs_added_to_a_large_graph_favour_no_node(large_graph):
    count = 20_000
    added = random_change(large_graph, count, 0, seeded()).added
    half = large_graph.num_nodes // 2
    within_first_half = int(((added[0] < half) & (added[1] < half)).sum())
    share = (half * (half - 1) / 2) / (large_graph.num_nodes * (large_graph.num_nodes - 1) / 2)
    # Drawing without replacement only narrows the binomial; the few edges shift it far less.
    assert abs(within_first_half - share * count) < 5 * math.sqrt(count * share * (1 - share))


def test_a_kept_edge_keeps_its_weight_and_an_added_one_weighs_1(path_graph):
    path_graph.edge_weight = torch.tensor([2.0, 2.0, 3.0, 3.0, 5.0, 5.0])
    change = GraphChange(added=torch.tensor([[0], [3]]), removed=torch.tensor([[1], [2]]))
    changed = change.apply(path_graph)
    assert changed.edge_index.tolist() == [[0, 0, 1, 2, 3, 3], [1, 3, 0, 3, 0, 2]]
    assert changed.edge_weight.tolist() == [2.0, 1.0, 2.0, 5.0, 1.0, 5.0]
    assert path_graph.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0, 5.0, 5.0]


@given(graphs(), st.data())
def test_a_changed_weighted_graph_is_the_one_of_the_dense_matrix(data, draws):
    num_nodes = data.num_nodes
    weight = torch.rand(num_nodes, num_nodes, generator=seeded()) + 0.5
    weight = weight + weight.t()
    data.edge_weight = weight[tuple(data.edge_index)]
    dense = np.zeros((num_nodes, num_nodes), dtype=np.float32)
    dense[tuple(data.edge_index.numpy())] = data.edge_weight.numpy()
    num_edges = data.num_edges // 2
    num_free = num_nodes * (num_nodes - 1) // 2 - num_edges
    num_added = draws.draw(st.integers(0, num_free))
    num_removed = draws.draw(st.integers(0, num_edges))
    change = random_change(data, num_added, num_removed, seeded())
    changed = change.apply(data)
    for pairs, value in ((change.removed, 0.0), (change.added, 1.0)):
        for u, v in listed(pairs):
            dense[u, v] = dense[v, u] = value
    found = np.zeros_like(dense)
    found[tuple(changed.edge_index.numpy())] = changed.edge_weight.numpy()
    assert changed.edge_weight.size(0) == changed.edge_index.size(1)
    assert np.array_equal(found, dense)


@pytest.mark.parametrize("draw", [random_change, omniscient_change])
@pytest.mark.parametrize(("counts", "verb"), [((-1, 0), "add"), ((0, -1), "remove")])
def test_a_negative_count_is_refused(two_cliques, draw, counts, verb):
    message = rf"^The number of edges to {verb} must be from 0 to \d+, got -1\.$"
    with pytest.raises(DataError, match=message):
        draw(two_cliques, *counts, seeded())
