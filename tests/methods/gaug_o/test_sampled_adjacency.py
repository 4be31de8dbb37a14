"""Graphs that carry gradient: the rules of the models, and all pairs weighted by probability."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from gaug import GAT, GATConfig
from gaug.errors import ConfigError
from gaug.graph import attention
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.sampled_adjacency import DenseSample, Interpolated
from gaug.models.calling import apply_model
from gaug.models.gat import AttentionLayer
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec


def random_graph(num_nodes: int, seed: int = 0) -> Adjacency:
    generator = torch.Generator().manual_seed(seed)
    upper = (torch.rand(num_nodes, num_nodes, generator=generator) < 0.3).triu(1)
    upper[0, 1] = True
    return Adjacency.of_pairs(upper.nonzero().t(), num_nodes)


def embeddings(num_nodes: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(num_nodes, 4, generator=generator, dtype=torch.float64).relu()
    z[0] = 2.0  # not all are zero, and one is the longest
    return z


def probabilities(z: Tensor, adjacency: Adjacency, alpha: float) -> Tensor:
    """P with zeros on the diagonal, from the formula.  [N, N]"""
    num_nodes = z.size(0)
    known = torch.zeros(num_nodes, num_nodes, dtype=z.dtype)
    known[adjacency.edge_index[0], adjacency.edge_index[1]] = 1
    scores = z @ z.t()
    p = alpha * scores / scores.max() + (1 - alpha) * known
    return p * (1 - torch.eye(num_nodes, dtype=z.dtype))


def interpolated(z: Tensor, adjacency: Adjacency, alpha: float) -> Interpolated:
    distribution = EdgeDistribution(alpha, 1.0)
    return Interpolated(distribution.prepare(z), adjacency, distribution)


@given(st.integers(2, 12), st.integers(0, 1000), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_the_rules_of_a_weighted_matrix_are_the_dense_formulas(
    num_nodes: int, seed: int, self_weight: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    upper = torch.rand(num_nodes, num_nodes, generator=generator).sub(0.4).relu().triu(1)
    matrix = upper + upper.t()
    sample, eye = DenseSample(matrix), torch.eye(num_nodes)
    total = (matrix + self_weight * eye).sum(dim=1, keepdim=True)
    expected = (matrix + self_weight * eye) / torch.where(total > 0, total, 1.0)
    torch.testing.assert_close(sample.mean(eye, self_weight), expected)
    scale = (matrix + eye).sum(dim=1).rsqrt()
    expected = scale[:, None] * (matrix + eye) * scale[None, :]
    torch.testing.assert_close(sample.symmetric(eye), expected)
    # The same graph as an ordinary adjacency, by its list of edges.
    listed = Adjacency.from_edges(sample.edge_index, num_nodes, sample.weight)
    torch.testing.assert_close(listed.symmetric(eye), expected)


@given(st.integers(2, 12), st.integers(0, 1000), st.sampled_from([0.0, 0.3, 1.0]))
def test_without_a_sample_every_rule_is_that_of_the_matrix_of_probabilities(
    num_nodes: int, seed: int, alpha: float
) -> None:
    adjacency = random_graph(num_nodes, seed)
    values, grads = [], []
    weights = torch.randn(num_nodes, 3, dtype=torch.float64)
    for dense in (True, False):
        z = embeddings(num_nodes, seed).requires_grad_()
        h = weights.flip(0).clone().requires_grad_()
        graph = (
            DenseSample(probabilities(z, adjacency, alpha))
            if dense
            else interpolated(z, adjacency, alpha)
        )
        outputs = [graph.sum(h), graph.symmetric(h), graph.mean(h), graph.mean(h, 2.0)]
        values.append([*outputs, graph.degrees()])
        loss = torch.stack([(output.tanh() * weights).sum() for output in outputs]).sum()
        grads.append(torch.autograd.grad(loss, [z, h]))
    torch.testing.assert_close(values[0], values[1])
    torch.testing.assert_close(grads[0], grads[1])


def test_the_gradient_without_a_sample_is_that_of_finite_differences() -> None:
    adjacency = random_graph(6)
    z = embeddings(6).clamp(min=0.1).requires_grad_()
    h = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)

    def propagate(z: Tensor, h: Tensor) -> Tensor:
        graph = interpolated(z, adjacency, 0.4)
        return graph.symmetric(graph.mean(h, 2.0))

    assert torch.autograd.gradcheck(propagate, (z, h))


class UserModule(nn.Module):
    """A module of a user's with PyTorch Geometric's signature."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(3, 2)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.conv(x, edge_index, edge_weight)


def plain_attention(layer: nn.Module, x: Tensor, weight: Tensor) -> Tensor:
    """One head of attention over all pairs, each exponential times its weight.  [N, out]"""
    assert isinstance(layer, AttentionLayer)
    z = x @ layer.linear.weight
    target, source = z @ layer.from_target[0], z @ layer.from_source[0]
    scores = torch.nn.functional.leaky_relu(target + source.t(), 0.2).exp() * weight
    return scores / scores.sum(dim=1, keepdim=True) @ z + layer.linear.bias


@pytest.mark.parametrize("nodes_a_block", [1, 3, 8])
def test_attention_without_a_sample_is_over_all_pairs_by_their_probabilities(
    nodes_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not over the edges of the original graph alone: the paper uses every pair, weighted."""
    heads = GATConfig(layers=1).heads
    monkeypatch.setattr(attention, "_BLOCK", nodes_a_block * heads * 8)
    adjacency, x = random_graph(8), torch.randn(8, 3, dtype=torch.float64)
    model = GAT(3, 2, GATConfig(layers=1)).double().eval()
    results = []
    for dense in (True, False):
        z = embeddings(8, seed=2).clamp(min=0.1).requires_grad_()
        if dense:
            looped = probabilities(z, adjacency, 0.4) + torch.eye(8, dtype=torch.float64)
            output = plain_attention(model.layers[0], x, looped)
        else:
            output = apply_model(model, x, interpolated(z, adjacency, 0.4))
        results.append([output, *torch.autograd.grad(output.square().sum(), [z])])
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("model", ["gcn", "a user's module"])
def test_a_users_module_without_a_sample_sums_over_all_pairs_as_a_gcn_does(model: str) -> None:
    adjacency, x = random_graph(8), torch.randn(8, 3, dtype=torch.float64)
    user = UserModule().double()
    results = []
    for dense in (True, False):
        z = embeddings(8, seed=2).clamp(min=0.1).requires_grad_()
        if dense:
            looped = probabilities(z, adjacency, 0.4) + torch.eye(8, dtype=torch.float64)
            scale = looped.sum(dim=1).rsqrt()
            weights = user.conv.lin.weight.t()
            output = scale[:, None] * looped * scale[None, :] @ x @ weights + user.conv.bias
        elif model == "gcn":
            rule = interpolated(z, adjacency, 0.4).symmetric
            output = rule(x @ user.conv.lin.weight.t()) + user.conv.bias
        else:
            output = apply_model(user, x, interpolated(z, adjacency, 0.4))
        results.append([output, *torch.autograd.grad(output.square().sum(), [z])])
    torch.testing.assert_close(results[0], results[1])


def test_without_a_sample_pairs_of_a_probability_above_0_are_listed_and_no_others() -> None:
    adjacency, z = random_graph(9), embeddings(9, seed=4)
    z[0] = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    z[1:, 0] = 0  # node 0 has something in common with no other
    graph, p = interpolated(z, adjacency, 0.4), probabilities(z, adjacency, 0.4)
    listed = torch.zeros_like(p)
    listed[graph.edge_index[0], graph.edge_index[1]] = graph.weight
    torch.testing.assert_close(listed, p)
    assert graph.edge_index.size(1) == int((p > 0).sum()) < 9 * 8
    assert graph.listed_pairs is None  # pairs with weights are not edges to be counted


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one gigabyte free."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1_200_000_000))


def test_a_graph_of_all_pairs_is_refused_only_where_it_does_not_fit(little_memory: None) -> None:
    graph = Adjacency.of_pairs(torch.tensor([[0], [1]]), 10_000)
    wide = interpolated(torch.ones(10_000, 2), graph, 0.5)
    with pytest.raises(ConfigError, match=r"A list of all pairs needs about 6.4 GB for 10,000"):
        wide.to_data()
    # A module with a list of as many pairs would take 1.4 GB and is refused.
    fits = interpolated(torch.ones(1500, 2), Adjacency.of_pairs(graph.pairs, 1500), 0.5)
    assert fits.to_data().edge_index.size(1) == 1500 * 1499
    with pytest.raises(ConfigError, match="a module that lists its edges"):
        _ = fits.edge_index


def test_listing_all_pairs_is_refused_where_they_do_not_fit(little_memory: None) -> None:
    graph = Adjacency.of_pairs(torch.tensor([[0], [1]]), 5000)
    wide = interpolated(torch.ones(5000, 2), graph, 0.5)
    for name in ("gcn", "gat"):  # neither lists them
        logits = ModelSpec.of(MODELS.config_type(name)(hidden=4)).build(2, 2)(
            torch.ones(5000, 2), wide
        )
        assert bool(torch.isfinite(logits).all())
    message = (
        r"variant=no-sampling with a module that lists its edges needs about 60.0 GB for 5,000"
        r" nodes, and 1.0 GB are free. Use a model of this package \(gcn, gsage, gat, jknet\), or"
        r" variant=full."
    )
    with pytest.raises(ConfigError, match=message):
        apply_model(UserModule(), torch.ones(5000, 2), wide)
