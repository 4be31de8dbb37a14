"""Every model against PyTorch Geometric's own layers with the same weights, and its properties."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.utils import add_self_loops

from gaug import (
    GAT,
    GCN,
    GATConfig,
    GCNConfig,
    GraphSAGE,
    GraphSAGEConfig,
    JKNetConfig,
    ModelConfig,
)
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency, LayeredAdjacency
from gaug.graph.dropout import dropout
from gaug.graph.sparse import SparseMatrix
from gaug.models.base import Linear
from gaug.models.gat import AttentionLayer
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec

NUM_NODES, IN, OUT = 7, 5, 3


@pytest.fixture
def edges() -> Tensor:
    path = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]])  # node 6 is isolated
    return torch.cat([path, path.flip(0)], dim=1)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(NUM_NODES, IN).relu()


def copy_linear(layer: nn.Module, weight: Tensor, bias: Tensor) -> None:
    assert isinstance(layer, Linear)
    with torch.no_grad():
        weight.copy_(layer.weight.t())
        bias.copy_(layer.bias)


def copy_attention(layer: nn.Module, target: GATConv) -> None:
    assert isinstance(layer, AttentionLayer)
    copy_linear(layer.linear, target.lin.weight, target.bias)
    with torch.no_grad():
        target.att_dst.copy_(layer.from_target.squeeze(2)[None])
        target.att_src.copy_(layer.from_source.squeeze(2)[None])


def test_gcn_equals_pytorch_geometrics_layers(edges: Tensor, x: Tensor) -> None:
    model = GCN(IN, OUT, GCNConfig(hidden=4)).eval()
    first, second = GCNConv(IN, 4), GCNConv(4, OUT)
    copy_linear(model.layers[0], first.lin.weight, first.bias)
    copy_linear(model.layers[1], second.lin.weight, second.bias)
    expected = second(first(x, edges).relu(), edges)
    torch.testing.assert_close(model(x, edges), expected)


def test_graphsage_equals_pytorch_geometrics_mean_over_node_and_neighbors(
    edges: Tensor, x: Tensor
) -> None:
    model = GraphSAGE(IN, OUT, GraphSAGEConfig(hidden=4, self_weight=1.0)).eval()
    first = SAGEConv(IN, 4, root_weight=False)
    second = SAGEConv(4, OUT, root_weight=False)
    copy_linear(model.layers[0], first.lin_l.weight, first.lin_l.bias)
    copy_linear(model.layers[1], second.lin_l.weight, second.lin_l.bias)
    looped, _ = add_self_loops(edges, num_nodes=NUM_NODES)
    expected = second(first(x, looped).relu(), looped)
    torch.testing.assert_close(model(x, edges), expected)


def test_gat_equals_pytorch_geometrics_layers(edges: Tensor, x: Tensor) -> None:
    model = GAT(IN, OUT, GATConfig(hidden=4, heads=2)).eval()
    first, second = GATConv(IN, 4, heads=2), GATConv(8, OUT, heads=1)
    for layer, target in zip(model.layers, (first, second), strict=True):
        copy_attention(layer, target)
    expected = second(nn.functional.elu(first(x, edges)), edges)
    torch.testing.assert_close(model(x, edges), expected)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_and_dense_features_give_the_same(name: str, edges: Tensor, x: Tensor) -> None:
    model = ModelSpec.of(name).build(IN, OUT).eval()
    torch.testing.assert_close(model(x.to_sparse_csr(), edges), model(x, edges))


@pytest.mark.parametrize("name", MODELS)
def test_a_prepared_adjacency_gives_the_same_as_plain_edges(
    name: str, edges: Tensor, x: Tensor
) -> None:
    model = ModelSpec.of(name).build(IN, OUT).eval()
    adjacency = Adjacency.from_edges(edges, NUM_NODES)
    torch.testing.assert_close(model(x, adjacency), model(x, edges))


def layered(edges: Tensor, *parts: slice) -> LayeredAdjacency:
    graphs = iter([Adjacency.from_edges(edges[:, part], NUM_NODES) for part in parts])
    return LayeredAdjacency(Adjacency.from_edges(edges, NUM_NODES), lambda: next(graphs))


def test_a_gcn_on_two_graphs_equals_the_dense_formula(edges: Tensor, x: Tensor) -> None:
    """The first layer on the edges from smaller to larger ids, the second on the others."""
    model = GCN(IN, OUT, GCNConfig(hidden=4)).eval()
    matrices = []
    for part in (edges[:, :6], edges[:, 6:]):
        dense = torch.eye(NUM_NODES)
        dense[part[1], part[0]] = 1.0
        scale = dense.sum(dim=1).rsqrt()
        matrices.append(scale[:, None] * dense * scale[None, :])
    first, second = model.layers
    assert isinstance(first, Linear)
    assert isinstance(second, Linear)
    hidden = (matrices[0] @ x @ first.weight + first.bias).relu()
    expected = matrices[1] @ hidden @ second.weight + second.bias
    adjacency = layered(edges, slice(0, 6), slice(6, 12))
    torch.testing.assert_close(model(x, adjacency), expected)


@pytest.mark.parametrize("name", ["gcn", "gsage", "gat", "jknet"])
def test_each_layer_multiplies_by_its_own_graph(name: str, edges: Tensor, x: Tensor) -> None:
    """A layer without edges differs from one with them, wherever it is."""
    model = ModelSpec.of(MODELS.config_type(name)(layers=3)).build(IN, OUT).eval()
    every, nothing = slice(0, 12), slice(0, 0)
    whole = model(x, edges)
    torch.testing.assert_close(model(x, layered(edges, every, every, every)), whole)
    for bare in range(3):
        parts = [nothing if number == bare else every for number in range(3)]
        assert not torch.allclose(model(x, layered(edges, *parts)), whole)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_any_depth_trains_every_weight(name: str, layers: int, edges: Tensor, x: Tensor) -> None:
    config = MODELS.config_type(name)(layers=layers, dropout=0.0, input_dropout=0.0)
    model = ModelSpec.of(config).build(IN, OUT)
    model.eval()
    model(x, edges).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("name", ["gcn", "gsage", "gat", "jknet"])
def test_a_weight_of_zero_takes_the_edge_away(name: str, edges: Tensor, x: Tensor) -> None:
    model = ModelSpec.of(name).build(IN, OUT).eval()
    weight = torch.ones(edges.size(1))
    gone = ((edges == torch.tensor([[0], [1]])) | (edges == torch.tensor([[1], [0]]))).all(dim=0)
    weight[gone] = 0.0
    torch.testing.assert_close(model(x, edges, weight), model(x, edges[:, ~gone]))


@pytest.mark.parametrize("name", ["gcn", "gsage", "gat", "jknet"])
def test_gradients_of_weights_and_features_match_finite_differences(
    name: str, edges: Tensor, x: Tensor
) -> None:
    model = ModelSpec.of(name).build(IN, OUT).eval().double()
    weight = torch.rand(edges.size(1), dtype=torch.float64).add_(0.5).requires_grad_()
    features = torch.randn(NUM_NODES, IN, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w, f: model(f, edges, w), (weight, features), atol=1e-4)


def disjoint_cliques(sizes: list[int]) -> Tensor:
    edges, start = [], 0
    for size in sizes:
        edges += [[start + u, start + v] for u in range(size) for v in range(size) if u != v]
        start += size
    return torch.tensor(edges).t()


@pytest.mark.parametrize(
    "config",
    [
        GCNConfig(layers=1),
        GCNConfig(layers=2),
        GraphSAGEConfig(layers=1, self_weight=1.0),
        GraphSAGEConfig(layers=3, self_weight=1.0),
        JKNetConfig(self_weight=1.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_theorem_1_cliques_share_an_embedding_and_differ_from_one_another(
    config: ModelConfig, seed: int
) -> None:
    torch.manual_seed(seed)
    sizes = [3, 4, 2]
    x = torch.randn(sum(sizes), IN)
    out = ModelSpec.of(config).build(IN, OUT).eval()(x, disjoint_cliques(sizes))
    owner = torch.repeat_interleave(torch.arange(3), torch.tensor(sizes))
    for clique in range(3):
        members = out[owner == clique]
        torch.testing.assert_close(members, members[:1].expand_as(members))
    first = torch.stack([out[owner == clique][0] for clique in range(3)])
    distances = torch.cdist(first, first) + 100 * torch.eye(3)
    assert distances.min() > 1e-4


def test_attention_survives_scores_that_overflow_an_exponential(edges: Tensor) -> None:
    model = GAT(IN, OUT, GATConfig(layers=1)).eval()
    x = 1000 * torch.randn(NUM_NODES, IN)
    conv = GATConv(IN, OUT, heads=1)
    copy_attention(model.layers[0], conv)
    torch.testing.assert_close(model(x, edges), conv(x, edges))


def test_an_edge_of_weight_0_is_not_there_however_large_its_score(edges: Tensor) -> None:
    torch.manual_seed(1)
    model = GAT(IN, OUT, GATConfig(layers=1)).eval()
    x = 1000 * torch.randn(NUM_NODES, IN)
    weight = (torch.arange(edges.size(1)) % 3 > 0).float()
    without = model(x, edges[:, weight > 0])
    assert bool(torch.isfinite(without).all())
    torch.testing.assert_close(model(x, edges, weight), without)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.6, 0.99])
def test_dropout_drops_the_asked_share_and_keeps_the_expectation(share: float) -> None:
    count = 200_000
    dropped = dropout(torch.ones(count), share, training=True)
    assert isinstance(dropped, Tensor)
    zeros = (dropped == 0).double().mean().item()
    # Five standard deviations of a binomial share, and the rounding of the share to 16 bits.
    bound = 5 * (share * (1 - share) / count) ** 0.5 + 1 / 65536
    assert abs(zeros - share) < bound
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - share)), rtol=1e-2, atol=0)


def test_dropout_of_sparse_features_touches_only_stored_entries() -> None:
    x = SparseMatrix.from_torch(torch.eye(1000).to_sparse_csr())
    dropped = dropout(x, 0.5, training=True)
    assert isinstance(dropped, SparseMatrix)
    assert dropped.pattern is x.pattern
    assert set(dropped.values.tolist()) == {0.0, 2.0}


def test_dropout_does_nothing_outside_training(x: Tensor) -> None:
    assert dropout(x, 0.5, training=False) is x


@pytest.mark.parametrize(
    ("setting", "value"),
    [("layers", 0), ("hidden", 0), ("dropout", -0.1), ("dropout", 1.0), ("learning_rate", 0.0)],
)
def test_settings_out_of_range_are_refused_by_name(setting: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{setting} must be .*, got {value:g}"):
        GCNConfig(**{setting: value})


def test_an_unknown_model_is_refused_with_the_choices() -> None:
    with pytest.raises(ConfigError, match=r"Unknown model 'gnc'. Choose from: gat, gcn, gsage,"):
        ModelSpec.of("gnc")
