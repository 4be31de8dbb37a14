from __future__ import annotations

import subprocess
import sys

import networkx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import contains_self_loops, is_undirected
from torch_geometric.utils import homophily as pyg_homophily

from gaug.errors import ConfigError, DataError
from gaug.graph import valid as graph
from gaug.graph.components import induced_subgraph, largest_components
from gaug.graph.edges import undirected_pairs
from gaug.graph.fingerprint import graph_hash
from gaug.graph.homophily import edge_homophily
from gaug.graph.labels import is_multilabel, num_classes
from gaug.graph.matrices import (
    compact_features,
    feature_density,
    from_scipy,
    sparse_features,
    to_scipy,
)


def graph_of(pairs, num_nodes=4, **others):
    """A graph with the given directed edges, plain features and, by default, labels 0 and 1."""
    others.setdefault("x", torch.arange(2.0 * num_nodes).view(num_nodes, 2) + 1)
    others.setdefault("y", torch.arange(num_nodes) % 2)
    edge_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t().contiguous()
    return Data(edge_index=edge_index, **others)


def edges_of(edge_index):
    return list(map(tuple, edge_index.t().tolist()))


@st.composite
def directed_edges(draw):
    """A number of nodes and at least one directed edge that is no self-loop, among others."""
    num_nodes = draw(st.integers(2, 8))
    node = st.integers(0, num_nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=20))
    return num_nodes, [(0, 1), *pairs]


def test_a_directed_graph_becomes_undirected_and_says_so():
    valid, notes = graph.standardize(graph_of([(0, 1), (1, 2), (2, 1)]))
    assert edges_of(valid.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert notes == ["Made the graph undirected: added 1 reverse edges."]


def test_self_loops_are_left_out_and_it_says_so():
    valid, notes = graph.standardize(graph_of([(0, 1), (1, 0), (2, 2), (3, 3)]))
    assert edges_of(valid.edge_index) == [(0, 1), (1, 0)]
    assert notes == ["Left out self-loops (2); each layer adds its own."]


def test_repeated_edges_are_merged_and_it_says_so():
    valid, notes = graph.standardize(graph_of([(0, 1), (1, 0), (0, 1), (0, 1)]))
    assert edges_of(valid.edge_index) == [(0, 1), (1, 0)]
    assert notes == ["Merged 2 repeated edges, their weights averaged if they had any."]


def test_weights_of_repeated_edges_and_of_both_directions_are_averaged():
    data = graph_of([(0, 1), (0, 1), (1, 0), (1, 2)], edge_weight=torch.tensor([1, 3, 6, 5]))
    valid, _ = graph.standardize(data)
    assert edges_of(valid.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert valid.edge_weight.tolist() == [4.0, 4.0, 5.0, 5.0]


def test_a_self_loop_takes_its_weight_with_it():
    data = graph_of([(0, 0), (0, 1), (1, 0)], edge_weight=torch.tensor([9.0, 2.0, 2.0]))
    assert graph.standardize(data)[0].edge_weight.tolist() == [2.0, 2.0]


def test_a_valid_graph_stays_as_it_is_without_a_note(two_cliques):
    valid, notes = graph.standardize(two_cliques)
    assert notes == []
    assert graph_hash(valid) == graph_hash(two_cliques)


def test_the_input_is_untouched_by_every_conversion():
    data = graph_of([(0, 1), (0, 1), (2, 2)], edge_weight=torch.tensor([1.0, 2.0, 3.0]))
    data.x = torch.tensor([[1, 0, 0, 0, 0, 0, 0]] * 4)  # will be float and sparse
    data.y = torch.tensor([[0.0], [1.0], [1.0], [-1.0]])  # will be flat whole numbers
    before = {key: (value, value.clone()) for key, value in data.to_dict().items()}
    graph.standardize(data)
    assert data.to_dict().keys() == before.keys()
    for key, (same_tensor, copy) in before.items():
        assert data[key] is same_tensor
        assert torch.equal(data[key], copy)


@given(directed_edges())
def test_a_standardized_graph_is_what_networkx_calls_the_undirected_graph(case):
    num_nodes, pairs = case
    valid, _ = graph.standardize(graph_of(pairs, num_nodes))
    oracle: networkx.Graph = networkx.Graph(pairs)
    oracle.remove_edges_from(list(networkx.selfloop_edges(oracle)))
    assert {frozenset(pair) for pair in edges_of(valid.edge_index)} == {
        frozenset(pair) for pair in oracle.edges
    }
    assert valid.edge_index.size(1) == 2 * oracle.number_of_edges()
    assert is_undirected(valid.edge_index)
    assert not contains_self_loops(valid.edge_index)
    assert valid.is_coalesced()


@given(directed_edges())
def test_standardizing_twice_is_standardizing_once(case):
    num_nodes, pairs = case
    once, _ = graph.standardize(graph_of(pairs, num_nodes))
    twice, notes = graph.standardize(once)
    assert notes == []
    assert graph_hash(twice) == graph_hash(once)


def test_isolated_nodes_are_accepted_and_stay():
    valid, notes = graph.standardize(graph_of([(1, 2), (2, 1)], num_nodes=6))
    assert valid.num_nodes == 6
    assert valid.x.size(0) == valid.y.size(0) == 6
    assert notes == []


def test_a_graph_without_edges_is_refused():
    with pytest.raises(DataError, match=r"^The graph has no edges: .* Check the edge file"):
        graph.standardize(graph_of([]))


def test_a_graph_of_self_loops_alone_is_refused():
    with pytest.raises(DataError, match=r"^The graph has no edges but self-loops.$"):
        graph.standardize(graph_of([(0, 0), (2, 2)]))


@pytest.mark.parametrize("bad", [4, 100, -1])
def test_an_edge_to_a_node_that_is_not_there_is_refused_with_its_id(bad):
    with pytest.raises(DataError, match=rf"from 0 to 3, got {bad}\.$"):
        graph.standardize(graph_of([(0, 1), (1, bad)]))


def test_edges_of_another_type_or_shape_are_refused():
    data = graph_of([(0, 1)])
    for edge_index in (data.edge_index.int(), data.edge_index.float(), torch.zeros(3, 2).long()):
        data.edge_index = edge_index
        with pytest.raises(DataError, match=r"^edge_index must be a tensor of 64-bit integers"):
            graph.standardize(data)


def test_a_graph_without_nodes_is_refused():
    with pytest.raises(DataError, match=r"^The graph has no nodes.$"):
        graph.standardize(graph_of([], num_nodes=0))


def test_a_graph_without_edge_index_is_refused():
    with pytest.raises(DataError, match=r"^The graph has no edge_index"):
        graph.standardize(Data(x=torch.ones(3, 1)))


def test_a_graph_without_features_is_refused_with_a_remedy():
    with pytest.raises(DataError, match=r"^The graph has no features x.*OneHotDegree"):
        graph.standardize(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"one number per edge \(2\), got shape \[1\]"),
        ([1.0, -2.0], "finite and not negative"),
        ([1.0, float("nan")], "finite and not negative"),
        ([1.0, float("inf")], "finite and not negative"),
    ],
)
def test_bad_edge_weights_are_refused(weight, message):
    with pytest.raises(DataError, match=f"^edge_weight must .*{message}"):
        graph.standardize(graph_of([(0, 1), (1, 0)], edge_weight=torch.tensor(weight)))


def test_pairs_list_each_undirected_edge_once(two_cliques):
    pairs = edges_of(undirected_pairs(two_cliques.edge_index))
    assert pairs == [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_a_dense_feature_that_is_not_finite_is_refused_with_node_and_feature(bad):
    x = torch.ones(4, 3)
    x[2, 1] = float(bad)
    with pytest.raises(DataError, match=f"^x must be finite, got {bad} at node 2, feature 1."):
        graph.standardize(graph_of([(0, 1)], x=x))


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(("node", "feature"), [(0, 2), (2, 1), (3, 0)])
def test_a_sparse_feature_that_is_not_finite_is_refused_with_node_and_feature(bad, node, feature):
    x = torch.zeros(4, 3)
    x[0, 0] = x[2, 0] = x[2, 2] = 5.0  # node 1 has no entry, node 2 several
    x[node, feature] = float(bad)
    message = f"^x must be finite, got {bad} at node {node}, feature {feature}."
    with pytest.raises(DataError, match=message):
        graph.standardize(graph_of([(0, 1)], x=x.to_sparse_csr()))


@pytest.mark.parametrize("num_nodes", [3, 5])
def test_features_of_another_number_of_nodes_are_refused(num_nodes):
    data = graph_of([(0, 1), (1, 0)], x=torch.ones(4, 2), y=None)
    data.num_nodes = num_nodes
    with pytest.raises(
        DataError, match=rf"^x must have one row per node \({num_nodes}\), got 4\.$"
    ):
        graph.standardize(data)


def test_features_of_another_shape_are_refused():
    with pytest.raises(DataError, match=r"^x must be a matrix of shape \[N, F\], got shape \[4\]."):
        graph.standardize(graph_of([(0, 1)], x=torch.ones(4)))


@pytest.mark.parametrize("layout", ["strided", "csr", "coo"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8])
def test_features_of_any_type_and_layout_keep_their_values_in_single_precision(layout, dtype):
    dense = torch.tensor([[1, 2, 0], [0, 0, 0], [3, 0, 4], [5, 6, 7]], dtype=dtype)
    x = {"strided": dense, "csr": dense.to_sparse_csr(), "coo": dense.to_sparse()}[layout]
    valid, _ = graph.standardize(graph_of([(0, 1)], x=x))
    assert valid.x.dtype == torch.float32
    assert torch.equal(valid.x.to_dense(), dense.float())


def test_features_become_sparse_only_where_fewer_than_three_tenths_are_not_zero():
    enough = torch.zeros(5, 10)
    enough[:, 0:3] = 3.0
    below = enough.clone()
    below[0, 0] = 0.0
    assert compact_features(enough).layout == torch.strided
    assert compact_features(below).layout == torch.sparse_csr
    assert torch.equal(compact_features(below).to_dense(), below)


def test_density_counts_what_is_not_zero_in_either_layout():
    x = torch.tensor([[0.0, 1.0, 0.0, -2.0], [0.0, 0.0, 0.0, 3.0]])
    assert feature_density(x) == 3 / 8
    assert feature_density(x.to_sparse_csr()) == 3 / 8


def test_density_does_not_count_zeros_that_a_sparse_matrix_stores():
    x = sparse_features(
        torch.tensor([0, 2]), torch.tensor([0, 1]), torch.tensor([0.0, 4.0]), (1, 4)
    )
    assert feature_density(x) == 1 / 4


def test_a_sparse_matrix_with_a_column_out_of_range_is_refused():
    with pytest.raises(DataError, match=r"^x is not a valid sparse matrix"):
        sparse_features(torch.tensor([0, 1]), torch.tensor([7]), torch.ones(1), (1, 3))


@given(st.integers(0, 1000))
def test_a_scipy_matrix_keeps_its_entries_repeats_added(seed):
    generator = np.random.default_rng(seed)
    entries = (generator.random(12), (generator.integers(0, 4, 12), generator.integers(0, 3, 12)))
    matrix = scipy.sparse.coo_matrix(entries, shape=(4, 3)).tocsr()
    np.testing.assert_allclose(from_scipy(matrix).to_dense().numpy(), matrix.toarray(), rtol=1e-6)


@given(directed_edges())
def test_the_scipy_adjacency_is_the_one_of_networkx(case):
    num_nodes, pairs = case
    valid, _ = graph.standardize(graph_of(pairs, num_nodes))
    oracle: networkx.Graph = networkx.Graph([(u, v) for u, v in pairs if u != v])
    oracle.add_nodes_from(range(num_nodes))
    expected = networkx.to_numpy_array(oracle, nodelist=range(num_nodes))
    assert np.array_equal(to_scipy(valid.edge_index, num_nodes).toarray(), expected)


@pytest.mark.parametrize(("bad", "node"), [(4, 3), (-2, 1), (99, 0)])
def test_a_label_out_of_range_is_refused_with_its_node(bad, node):
    y = torch.tensor([0, 1, 1, 0])
    y[node] = bad
    message = f"^y must hold class ids from 0 to 3, or -1 for unknown, got {bad} at node {node}.$"
    with pytest.raises(DataError, match=message):
        graph.standardize(graph_of([(0, 1)], y=y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (torch.tensor([0, 1, 1]), r"^y must have shape \[4\] or \[4, C\], got \[3\]\.$"),
        (torch.tensor(1), r"^y must have shape \[4\] or \[4, C\], got \[\]\.$"),
        (torch.zeros(3, 2), r"^y must have shape \[4\] or \[4, C\], got \[3, 2\]\.$"),
        (torch.zeros(4, 0), r"^y must have shape \[4\] or \[4, C\], got \[4, 0\]\.$"),
        (torch.zeros(4, 2, 2), r"^y must have shape \[4\] or \[4, C\], got \[4, 2, 2\]\.$"),
        (torch.tensor([0.0, 0.5, 1.0, 1.0]), "^y must hold class ids"),
        (torch.tensor([0.0, float("nan"), 1.0, 1.0]), "^y must hold class ids"),
        (torch.tensor([0.0, float("inf"), 1.0, 1.0]), "^y must hold class ids"),
        (torch.tensor([-1, -1, -1, -1]), "^y holds no known label"),
        (torch.tensor([[0, 2]] * 4), "must hold only 0 and 1.$"),
        (torch.tensor([[0.0, float("nan")]] * 4), "must hold only 0 and 1.$"),
    ],
)
def test_labels_of_no_clear_meaning_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        graph.standardize(graph_of([(0, 1)], y=y))


@pytest.mark.parametrize(
    "y", [torch.tensor([[2], [0], [-1], [1]]), torch.tensor([2.0, 0.0, -1.0, 1.0])]
)
def test_class_ids_become_a_flat_list_of_whole_numbers(y):
    valid, _ = graph.standardize(graph_of([(0, 1)], y=y))
    assert valid.y.tolist() == [2, 0, -1, 1]
    assert valid.y.dtype == torch.long
    assert num_classes(valid) == 3
    assert not is_multilabel(valid)


def test_several_labels_a_node_are_kept_and_counted_by_columns():
    y = torch.tensor([[0, 1, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0]])
    valid, _ = graph.standardize(graph_of([(0, 1)], y=y))
    assert valid.y.tolist() == y.tolist()
    assert num_classes(valid) == 3
    assert is_multilabel(valid)


def test_a_graph_may_have_no_labels():
    valid, _ = graph.standardize(graph_of([(0, 1)], y=None))
    assert valid.y is None


def test_homophily_is_the_share_of_edges_within_a_class(two_cliques):
    assert edge_homophily(two_cliques.edge_index, two_cliques.y) == 6 / 7


def test_homophily_leaves_out_edges_with_an_unknown_end(path_graph):
    labels = torch.tensor([0, 0, 1, -1])  # 0-1 agrees, 1-2 does not, 2-3 is unknown
    assert edge_homophily(path_graph.edge_index, labels) == 1 / 2


def test_homophily_of_two_unknown_ends_is_not_agreement(path_graph):
    assert edge_homophily(path_graph.edge_index, torch.tensor([-1, -1, -1, 0])) is None


def test_homophily_is_not_defined_for_several_labels(path_graph):
    assert edge_homophily(path_graph.edge_index, torch.ones(4, 2)) is None


@given(directed_edges(), st.integers(0, 1000))
def test_homophily_is_that_of_pytorch_geometric_where_all_labels_are_known(case, seed):
    num_nodes, pairs = case
    labels = torch.randint(3, (num_nodes,), generator=torch.Generator().manual_seed(seed))
    edge_index = graph.standardize(graph_of(pairs, num_nodes))[0].edge_index
    expected = pyg_homophily(edge_index, labels, method="edge")
    assert edge_homophily(edge_index, labels) == pytest.approx(expected, abs=1e-6)


def test_the_largest_component_keeps_the_order_of_its_nodes():
    data, _ = graph.standardize(graph_of([(0, 4), (1, 3), (3, 5)], num_nodes=6))
    kept = largest_components(data, 1)
    assert kept.x.tolist() == data.x[[1, 3, 5]].tolist()
    assert kept.y.tolist() == data.y[[1, 3, 5]].tolist()
    assert edges_of(kept.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert kept.num_nodes == 3


@given(directed_edges(), st.integers(1, 4))
def test_the_largest_components_are_those_of_networkx(case, count):
    num_nodes, pairs = case
    data, _ = graph.standardize(graph_of(pairs, num_nodes, x=torch.arange(num_nodes).view(-1, 1)))
    oracle: networkx.Graph = networkx.Graph(pairs)
    oracle.add_nodes_from(range(num_nodes))
    components = sorted(networkx.connected_components(oracle), key=len, reverse=True)
    subgraph = largest_components(data, count)
    nodes = subgraph.x.to_dense().flatten().long().tolist()
    kept = [component for component in components if component & set(nodes)]
    assert sorted(nodes) == nodes
    assert set().union(*kept) == set(nodes)  # whole components
    assert [len(c) for c in kept] == [len(c) for c in components[:count]]  # the largest
    expected = oracle.subgraph(nodes)
    found = {frozenset((nodes[u], nodes[v])) for u, v in edges_of(subgraph.edge_index)}
    assert found == {frozenset(pair) for pair in expected.edges if pair[0] != pair[1]}


def test_a_subgraph_takes_the_same_rows_of_sparse_as_of_dense_features(two_cliques):
    keep = torch.tensor([True, False, True, True, False, False])
    sparse = two_cliques.clone()
    sparse.x = sparse.x.to_sparse_csr()
    part = induced_subgraph(sparse, keep)
    assert part.x.layout == torch.sparse_csr
    assert torch.equal(part.x.to_dense(), two_cliques.x[keep])
    assert edges_of(part.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)]


def _another_node(data):
    data.num_nodes = 7


def _another_edge(data):
    data.edge_index = data.edge_index[:, 1:]


def _another_order_of_ends(data):
    data.edge_index = data.edge_index.flip(0)


def _weights(data):
    data.edge_weight = torch.ones(data.edge_index.size(1))


def _another_feature(data):
    data.x = data.x + torch.eye(6)[:, :4] * 1e-6


def _another_layout(data):
    data.x = data.x.to_sparse_csr()


def _another_shape(data):
    data.x = data.x.view(12, 2)


def _another_label(data):
    data.y = torch.tensor([0, 0, 0, 1, 1, 0])


def _no_labels(data):
    data.y = None


@pytest.mark.parametrize(
    "change",
    [
        _another_node,
        _another_edge,
        _another_order_of_ends,
        _weights,
        _another_feature,
        _another_layout,
        _another_shape,
        _another_label,
        _no_labels,
    ],
)
def test_the_hash_changes_with_any_part_of_the_graph(two_cliques, change):
    changed = two_cliques.clone()
    change(changed)
    assert graph_hash(changed) != graph_hash(two_cliques)


def test_the_hash_changes_with_every_part_of_sparse_features(two_cliques):
    crow, col = torch.tensor([0, 1, 1, 1, 1, 1, 2]), torch.tensor([0, 1])
    variants = [
        (crow, col, torch.tensor([1.0, 2.0])),
        (crow, col, torch.tensor([1.0, 3.0])),
        (crow, torch.tensor([0, 2]), torch.tensor([1.0, 2.0])),
        (torch.tensor([0, 1, 1, 1, 1, 2, 2]), col, torch.tensor([1.0, 2.0])),
    ]
    hashes = set()
    for parts in variants:
        two_cliques.x = sparse_features(*parts, (6, 3))
        hashes.add(graph_hash(two_cliques))
    assert len(hashes) == len(variants)


def test_the_hash_of_an_equal_graph_is_the_same(two_cliques):
    copy = two_cliques.clone()
    copy.x = two_cliques.x.t().contiguous().t()  # the same numbers laid out by columns
    assert graph_hash(copy) == graph_hash(two_cliques)


def test_the_hash_is_the_same_in_another_process(path_graph):
    program = (
        "import torch\n"
        "from torch_geometric.data import Data\n"
        "from gaug.graph.fingerprint import graph_hash\n"
        f"data = Data(x=torch.tensor({path_graph.x.tolist()}),"
        f" edge_index=torch.tensor({path_graph.edge_index.tolist()}),"
        f" y=torch.tensor({path_graph.y.tolist()}), num_nodes=4)\n"
        "print(graph_hash(data))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == graph_hash(path_graph)


def test_attributes_of_edges_but_the_weight_are_left_out_and_it_says_so():
    data = graph_of(
        [(0, 1), (1, 2)],
        edge_attr=torch.ones(2, 3),
        edge_weight=torch.tensor([2.0, 3.0]),
        train_mask=torch.tensor([True, False, False, True]),
    )
    valid, notes = graph.standardize(data)
    assert "edge_attr" not in valid
    assert valid.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert valid.train_mask.tolist() == [True, False, False, True]
    assert notes == [
        "Made the graph undirected: added 2 reverse edges.",
        "Left out edge_attr: of what edges carry, only edge_weight is used.",
    ]
    assert torch.equal(data.edge_attr, torch.ones(2, 3))  # the input keeps it


def test_attributes_of_edges_are_told_from_those_of_nodes_where_there_are_as_many():
    mask = torch.tensor([True, False, True, False])
    pairs = [(0, 1), (1, 0), (1, 2), (2, 1)]
    data = graph_of(pairs, edge_attr=torch.ones(4), train_mask=mask)
    valid, _ = graph.standardize(data)
    assert "edge_attr" not in valid
    assert torch.equal(valid.train_mask, mask)


def test_components_of_a_graph_without_labels_can_be_taken():
    data, _ = graph.standardize(graph_of([(0, 1), (1, 2)], y=None))
    kept = largest_components(data, 1)
    assert kept.num_nodes == 3
    assert kept.y is None
    assert torch.equal(kept.x, data.x[:3])


def test_a_subgraph_keeps_the_masks_and_weights_of_what_it_keeps(two_cliques):
    weight = {frozenset(pair): float(sum(pair)) for pair in edges_of(two_cliques.edge_index)}
    two_cliques.edge_weight = torch.tensor(
        [weight[frozenset(pair)] for pair in edges_of(two_cliques.edge_index)]
    )
    two_cliques.train_mask = torch.tensor([True, True, False, True, False, False])
    part = induced_subgraph(two_cliques, torch.tensor([True, False, True, True, False, False]))
    assert edges_of(part.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert part.edge_weight.tolist() == [2.0, 2.0, 5.0, 5.0]  # 0 - 2 and 2 - 3
    assert part.train_mask.tolist() == [True, False, True]
    assert part.y.tolist() == [0, 0, 1]


def test_components_keep_masks_and_weights_where_edges_are_as_many_as_nodes():
    data, _ = graph.standardize(
        graph_of(
            [(0, 2), (2, 3)],
            edge_weight=torch.tensor([2.0, 3.0]),
            val_mask=torch.tensor([False, True, True, False]),
        )
    )
    kept = largest_components(data, 1)  # without the isolated node 1
    assert edges_of(kept.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert kept.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert kept.val_mask.tolist() == [False, True, False]


@given(directed_edges(), st.data())
def test_a_subgraph_is_the_one_of_networkx_with_its_weights(case, draws):
    num_nodes, pairs = case
    weights = torch.arange(len(pairs)) + 1.0
    data, _ = graph.standardize(graph_of(pairs, num_nodes, edge_weight=weights))
    keep = draws.draw(st.lists(st.booleans(), min_size=num_nodes, max_size=num_nodes))
    oracle: networkx.Graph = networkx.Graph()
    oracle.add_nodes_from(range(num_nodes))
    for (u, v), weight in zip(edges_of(data.edge_index), data.edge_weight.tolist(), strict=True):
        oracle.add_edge(u, v, weight=weight)
    nodes = [node for node in range(num_nodes) if keep[node]]
    part = induced_subgraph(data, torch.tensor(keep))
    dense = np.zeros((len(nodes), len(nodes)))
    dense[tuple(part.edge_index.numpy())] = part.edge_weight.numpy()
    expected = oracle.subgraph(nodes)
    assert part.edge_index.size(1) == 2 * expected.number_of_edges()
    if nodes:
        assert np.array_equal(dense, networkx.to_numpy_array(expected, nodelist=nodes))


def test_a_graph_too_large_for_the_memory_is_refused_before_it_is_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "1MB")
    data = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]).repeat(1, 60_000))
    with pytest.raises(ConfigError, match=r"^Sorting the edges of the graph needs about .* left"):
        graph.standardize(data)
