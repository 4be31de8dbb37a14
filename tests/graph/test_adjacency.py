"""Normalizations of the adjacency, against dense formulas and PyTorch Geometric."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gaug.errors import TrainingError
from gaug.graph.adjacency import Adjacency, LayeredAdjacency
from gaug.graph.valid import standardize


def random_graph(num_nodes: int, num_edges: int, seed: int, weighted: bool = False) -> Data:
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(num_nodes, (2, num_edges), generator=generator)
    edge_index = torch.cat([edge_index, torch.tensor([[0], [1]])], dim=1)
    data = Data(x=torch.ones(num_nodes, 1), edge_index=edge_index)
    if weighted:
        data.edge_weight = torch.rand(edge_index.size(1), generator=generator) + 0.1
    return standardize(data)[0]


def dense_adjacency(data: Data) -> Tensor:
    dense = torch.zeros(data.num_nodes, data.num_nodes)
    weight = data.get("edge_weight")
    dense[data.edge_index[0], data.edge_index[1]] = 1.0 if weight is None else weight
    return dense


graphs = st.builds(
    random_graph, st.integers(2, 9), st.integers(0, 20), st.integers(0, 10_000), st.booleans()
)


@given(graphs)
def test_symmetric_rule_equals_the_dense_formula(data: Data) -> None:
    looped = dense_adjacency(data) + torch.eye(data.num_nodes)
    scale = looped.sum(dim=1).rsqrt()
    expected = scale[:, None] * looped * scale[None, :]
    actual = Adjacency.of(data).symmetric(torch.eye(data.num_nodes))
    torch.testing.assert_close(actual, expected)


@given(graphs, st.sampled_from([0.5, 1.0, 2.0]))
def test_mean_rule_equals_the_dense_formula(data: Data, self_weight: float) -> None:
    looped = dense_adjacency(data) + self_weight * torch.eye(data.num_nodes)
    expected = looped / looped.sum(dim=1, keepdim=True)
    actual = Adjacency.of(data).mean(torch.eye(data.num_nodes), self_weight)
    torch.testing.assert_close(actual, expected)


def test_the_mean_of_no_neighbors_without_the_node_itself_is_zero() -> None:
    adjacency = Adjacency.of_pairs(torch.tensor([[0], [1]]), 3)
    expected = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert torch.equal(adjacency.mean(torch.eye(3), self_weight=0.0), expected)


def test_symmetric_rule_on_a_path_of_three_nodes_by_hand() -> None:
    data, _ = standardize(Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]])))
    a, b = 1 / 2, 1 / 6**0.5
    expected = torch.tensor([[a, b, 0], [b, 1 / 3, b], [0, b, a]])
    torch.testing.assert_close(Adjacency.of(data).symmetric(torch.eye(3)), expected)


@given(st.integers(2, 8), st.integers(1, 20), st.integers(0, 1000))
def test_directed_weighted_edges_are_normalized_as_pytorch_geometric_does(
    num_nodes: int, num_edges: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(num_nodes, (2, num_edges), generator=generator)
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    weight = torch.rand(edge_index.size(1), generator=generator) + 0.1
    looped, norm = gcn_norm(edge_index, weight, num_nodes)
    expected = torch.zeros(num_nodes, num_nodes)
    expected.index_put_((looped[1], looped[0]), norm, accumulate=True)
    adjacency = Adjacency.from_edges(edge_index, num_nodes, weight)
    torch.testing.assert_close(adjacency.symmetric(torch.eye(num_nodes)), expected)


@given(graphs)
def test_a_graph_and_its_plain_edges_give_the_same_result(data: Data) -> None:
    h = torch.randn(data.num_nodes, 3)
    plain = Adjacency.from_edges(data.edge_index, data.num_nodes, data.get("edge_weight"))
    torch.testing.assert_close(plain.symmetric(h), Adjacency.of(data).symmetric(h))
    torch.testing.assert_close(plain.mean(h), Adjacency.of(data).mean(h))


def test_self_loops_of_the_input_do_not_count_twice() -> None:
    edges = torch.tensor([[0, 1, 0], [1, 0, 0]])
    with_loop = Adjacency.from_edges(edges, 2).symmetric(torch.eye(2))
    without = Adjacency.from_edges(edges[:, :2], 2).symmetric(torch.eye(2))
    assert torch.equal(with_loop, without)


@given(graphs)
def test_gradients_are_the_same_with_and_without_the_symmetric_shortcut(data: Data) -> None:
    h = torch.randn(data.num_nodes, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(data.num_nodes, 2, dtype=torch.float64)
    double = data.clone()
    double.edge_weight = data.get("edge_weight", torch.ones(data.num_edges)).double()
    gradients = []
    for adjacency in (
        Adjacency.of(double),
        Adjacency.from_edges(double.edge_index, double.num_nodes, double.edge_weight),
    ):
        loss = ((adjacency.symmetric(h) + adjacency.mean(h)) * weights).sum()
        gradients.append(torch.autograd.grad(loss, h)[0])
    torch.testing.assert_close(*gradients)


def test_gradient_reaches_the_weights_through_the_degrees() -> None:
    data = random_graph(5, 8, 0)
    weight = torch.rand(data.num_edges, dtype=torch.float64, requires_grad=True)
    h = torch.randn(5, 2, dtype=torch.float64)

    def propagate(weight: Tensor) -> Tensor:
        adjacency = Adjacency.from_edges(data.edge_index, 5, weight)
        return adjacency.symmetric(h) + adjacency.mean(h, 2.0)

    assert torch.autograd.gradcheck(propagate, (weight,))


@given(graphs, st.integers(0, 1000))
def test_kept_pairs_lose_both_directions_of_the_others(data: Data, seed: int) -> None:
    adjacency = Adjacency.of(data)
    generator = torch.Generator().manual_seed(seed)
    keep = torch.rand(adjacency.num_pairs, generator=generator) < 0.5
    pairs = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    kept = adjacency.keep_pairs(keep)
    expected = dense_adjacency(data)
    for u, v in pairs[:, ~keep].t().tolist():
        expected[u, v] = expected[v, u] = 0
    actual = torch.zeros_like(expected)
    weight = 1.0 if kept.weight is None else kept.weight
    actual[kept.edge_index[1], kept.edge_index[0]] = weight
    assert torch.equal(actual, expected)
    torch.testing.assert_close(
        kept.symmetric(torch.eye(data.num_nodes)),
        Adjacency.from_edges(kept.edge_index, data.num_nodes, kept.weight).symmetric(
            torch.eye(data.num_nodes)
        ),
    )


@given(graphs)
def test_a_graph_comes_back_from_its_adjacency(data: Data) -> None:
    back = Adjacency.of(data).to_data()
    assert torch.equal(back.edge_index, data.edge_index)
    assert back.num_nodes == data.num_nodes
    weight = data.get("edge_weight")
    assert ("edge_weight" in back) == (weight is not None)
    assert weight is None or torch.equal(back.edge_weight, weight)


def test_a_layer_keeps_the_graph_that_was_drawn_for_it() -> None:
    whole = Adjacency.of(random_graph(6, 9, 0))
    assert whole.layer(0) is whole.layer(7) is whole
    draws = [Adjacency.of(random_graph(6, 9, seed)) for seed in (1, 2, 3)]
    waiting = iter(draws)
    layered = LayeredAdjacency(whole, lambda: next(waiting))
    assert layered.layer(1) is draws[1]  # however the layers are asked, they are drawn in order
    assert layered.layer(0) is draws[0]
    assert layered.layer(1) is draws[1]
    assert layered.layer(2) is draws[2]
    assert layered.num_nodes == 6


@given(graphs)
def test_listed_pairs_are_the_undirected_edges_each_once(data: Data) -> None:
    pairs = Adjacency.of(data).listed_pairs
    assert pairs is not None
    listed = [tuple(pair) for pair in pairs.t().tolist()]
    assert len(listed) == len(set(listed))
    assert set(listed) == {(u, v) for u, v in data.edge_index.t().tolist() if u < v}


def test_graphs_that_differ_between_layers_have_no_one_list_of_edges() -> None:
    whole = Adjacency.of(random_graph(6, 9, 0))
    assert LayeredAdjacency(whole, lambda: whole).listed_pairs is None


def test_graphs_that_differ_between_layers_cannot_be_taken_for_one() -> None:
    whole = Adjacency.of(random_graph(6, 9, 0))
    layered = LayeredAdjacency(whole, lambda: whole)
    for use in (
        lambda: layered.symmetric(torch.eye(6)),
        lambda: layered.mean(torch.eye(6)),
        lambda: layered.looped,
        lambda: layered.edge_index,
    ):
        with pytest.raises(TrainingError, match=r"uses one graph for all layers. Set layer_wise"):
            use()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("looking", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("rule", ["symmetric", "mean"])
def test_whoever_looks_without_gradient_takes_it_from_nobody(
    two_cliques: Data, rule: str, looking: Any, weighted: bool
) -> None:
    grads = []
    for look_first in (False, True):
        weight = torch.ones(two_cliques.num_edges, requires_grad=True) if weighted else None
        adjacency = Adjacency.from_edges(two_cliques.edge_index, 6, weight)
        h = torch.arange(12.0).view(6, 2).requires_grad_()
        if look_first:
            with looking():
                getattr(adjacency, rule)(h.detach())
        getattr(adjacency, rule)(h).square().sum().backward()
        grads.append([tensor.grad for tensor in (h, weight) if tensor is not None])
    assert all(grad is not None and bool(grad.any()) for grad in grads[0])
    torch.testing.assert_close(*grads)
