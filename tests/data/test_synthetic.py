from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import contains_self_loops, is_undirected

from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph.fingerprint import graph_hash
from gaug.graph.homophily import edge_homophily
from gaug.graph.matrices import feature_density
from gaug.graph.valid import standardize

CONFIGS = st.builds(
    SyntheticConfig,
    num_nodes=st.integers(40, 120),
    num_classes=st.integers(2, 4),
    degree=st.floats(0.5, 4.0),
    homophily=st.floats(0.0, 1.0),
    heavy_tailed=st.booleans(),
    num_features=st.integers(1, 30),
    feature_density=st.floats(0.01, 1.0),
    feature_signal=st.floats(0.0, 1.0),
    seed=st.integers(0, 1000),
)


def keys_of(edge_index, num_nodes):
    return set((edge_index[0] * num_nodes + edge_index[1]).tolist())


def max_degree(data):
    return int(torch.bincount(data.edge_index[0]).max())


@pytest.mark.parametrize("homophily", [0.0, 0.25, 0.8, 1.0])
@pytest.mark.parametrize("heavy_tailed", [False, True])
def test_homophily_is_exactly_the_one_asked_for(homophily, heavy_tailed):
    config = SyntheticConfig(
        num_nodes=400, degree=10, homophily=homophily, heavy_tailed=heavy_tailed
    )
    data = planted_graph(config)
    assert edge_homophily(data.edge_index, data.y) == homophily


@given(CONFIGS)
def test_both_graphs_have_exactly_the_edges_asked_for(config):
    data = planted_graph(config)
    expected = 2 * int(config.num_nodes * config.degree / 2)
    assert data.edge_index.size(1) == expected
    assert data.ideal_edge_index.size(1) == expected


@given(CONFIGS)
def test_the_ideal_graph_joins_only_nodes_of_one_class(config):
    data = planted_graph(config)
    u, v = data.ideal_edge_index
    assert torch.equal(data.y[u], data.y[v])


@given(CONFIGS)
def test_the_observed_graph_keeps_its_share_of_the_ideal_edges_and_adds_only_noise(config):
    data = planted_graph(config)
    num_edges = data.ideal_edge_index.size(1) // 2
    observed = keys_of(data.edge_index, config.num_nodes)
    ideal = keys_of(data.ideal_edge_index, config.num_nodes)
    assert len(observed & ideal) == 2 * round(config.homophily * num_edges)
    for key in observed - ideal:
        assert data.y[key // config.num_nodes] != data.y[key % config.num_nodes]


@given(CONFIGS)
def test_both_graphs_are_undirected_without_loops_or_repeats(config):
    data = planted_graph(config)
    for edge_index in (data.edge_index, data.ideal_edge_index):
        assert is_undirected(edge_index)
        assert not contains_self_loops(edge_index)
        assert len(keys_of(edge_index, config.num_nodes)) == edge_index.size(1)


@given(CONFIGS)
def test_it_is_a_valid_graph(config):
    data = planted_graph(config)
    valid, notes = standardize(data)
    assert notes == []
    assert graph_hash(valid) == graph_hash(data) or valid.x.layout != data.x.layout
    assert torch.equal(valid.x.to_dense(), data.x.to_dense())


@given(CONFIGS)
def test_classes_are_of_equal_size(config):
    counts = torch.bincount(planted_graph(config).y)
    assert len(counts) == config.num_classes
    assert counts.sum() == config.num_nodes
    assert counts.max() - counts.min() <= 1


@given(CONFIGS)
def test_the_same_seed_gives_the_same_graph(config):
    first, second = planted_graph(config), planted_graph(config)
    assert graph_hash(first) == graph_hash(second)
    assert torch.equal(first.ideal_edge_index, second.ideal_edge_index)


def test_another_seed_gives_other_edges_features_and_labels():
    first, second = (planted_graph(SyntheticConfig(seed=seed)) for seed in (1, 2))
    assert not torch.equal(first.edge_index, second.edge_index)
    assert not torch.equal(first.x.to_dense(), second.x.to_dense())
    assert not torch.equal(first.y, second.y)


def test_drawing_a_graph_leaves_the_global_generator_alone():
    state = torch.get_rng_state()
    planted_graph()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("seed", range(3))
def test_heavy_tailed_degrees_have_larger_hubs_at_the_same_mean(seed):
    uniform, heavy = (
        planted_graph(SyntheticConfig(num_nodes=3000, heavy_tailed=tail, seed=seed))
        for tail in (False, True)
    )
    assert heavy.num_edges == uniform.num_edges
    assert max_degree(heavy) > 2 * max_degree(uniform)


def test_features_are_zeros_and_ones_at_about_the_density_asked_for():
    config = SyntheticConfig(num_nodes=500, num_features=400, feature_density=0.1)
    x = planted_graph(config).x
    assert set(x.to_dense().unique().tolist()) == {0.0, 1.0}
    # 40 draws of 400 columns, with repeats when they are from the class's own 100.
    assert 0.07 < feature_density(x) <= 0.1


def test_features_drawn_all_from_the_class_are_in_columns_of_its_own():
    config = SyntheticConfig(num_nodes=200, num_features=40, feature_signal=1.0)
    data = planted_graph(config)
    node, column = data.x.to_dense().nonzero().t()
    assert torch.equal(column // 10, data.y[node])  # 4 classes of 10 columns


def test_more_signal_puts_more_features_in_columns_of_the_class():
    shares = []
    for signal in (0.0, 0.5, 1.0):
        config = SyntheticConfig(num_nodes=2000, num_features=40, feature_signal=signal)
        data = planted_graph(config)
        node, column = data.x.to_dense().nonzero().t()
        shares.append(float((column // 10 == data.y[node]).double().mean()))
    assert shares == sorted(shares)
    assert shares[0] < 0.5 < shares[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"num_nodes": 9, "num_classes": 5},
            r"num_nodes must be at least twice num_classes \(10\)",
        ),
        ({"num_nodes": 40, "degree": 5}, r"degree must be at most .* \(4.5\), got 5."),
        ({"homophily": 1.1}, r"homophily must be in \[0, 1\], got 1.1."),
        ({"degree": 0}, "degree must be above 0, got 0."),
        ({"num_classes": 1}, "num_classes must be at least 2, got 1."),
    ],
)
def test_settings_that_no_graph_can_have_are_refused(settings, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        SyntheticConfig(**settings)


def test_the_densest_graph_that_is_allowed_can_be_drawn():
    config = SyntheticConfig(num_nodes=40, num_classes=4, degree=4.5, heavy_tailed=True)
    assert planted_graph(config).num_edges == 180


def test_a_graph_of_200_000_nodes_is_as_large_as_its_edges_and_features():
    num_nodes, degree, per_node = 200_000, 6, 5
    config = SyntheticConfig(
        num_nodes=num_nodes, degree=degree, num_features=500, feature_density=per_node / 500
    )
    data = planted_graph(config)
    num_edges = num_nodes * degree // 2
    assert data.edge_index.size(1) == data.ideal_edge_index.size(1) == 2 * num_edges
    assert edge_homophily(data.edge_index, data.y) == config.homophily
    x = data.x
    assert x.layout == torch.sparse_csr
    stored = [data.edge_index, data.ideal_edge_index, data.y]
    stored += [x.crow_indices(), x.col_indices(), x.values()]
    numbers = sum(part.numel() for part in stored)
    assert numbers <= 2 * 4 * num_edges + 2 * num_nodes + 1 + 2 * per_node * num_nodes
    assert set(data.keys()) == {"x", "edge_index", "y", "ideal_edge_index", "num_nodes"}


def test_a_degree_that_gives_no_edge_is_refused_with_the_least_that_does():
    message = r"^degree must give the graph at least one edge \(0\.5\), got 0\.49\.$"
    with pytest.raises(ConfigError, match=message):
        SyntheticConfig(num_nodes=4, num_classes=2, degree=0.49)
    config = SyntheticConfig(num_nodes=4, num_classes=2, degree=0.5)
    assert planted_graph(config).num_edges == 2  # one edge, both directions
