"""GAug-O's samples: their frequencies, the two engines, and the gradient by finite differences."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv

from gaug.edge_predictors.edge_loss import edge_loss
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.config import READINGS
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.edge_sampling import sample_blocked, sample_dense
from gaug.methods.gaug_o.sampled_adjacency import SampledAdjacency
from gaug.models import registry
from gaug.models.base import Linear
from gaug.models.calling import apply_model
from gaug.models.gcn import GCN
from gaug.models.spec import ModelSpec
from gaug.pairs.noise import row_keys, row_noise
from gaug.training.loss import classification_loss

ALPHAS = [0.0, 0.3, 1.0]
Sampler = Callable[[Tensor, Adjacency, EdgeDistribution, int], SampledAdjacency]
ENGINES: dict[str, Sampler] = {"dense": sample_dense, "blocked": sample_blocked}


def random_graph(num_nodes: int, share: float = 0.25, seed: int = 0) -> Adjacency:
    generator = torch.Generator().manual_seed(seed)
    upper = (torch.rand(num_nodes, num_nodes, generator=generator) < share).triu(1)
    upper[0, 1] = True
    return Adjacency.of_pairs(upper.nonzero().t(), num_nodes)


def embeddings(num_nodes: int, reading: str, seed: int = 0, width: int = 3) -> Tensor:
    """As the predictor gives them: not negative where scores are divided by their maximum."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(num_nodes, width, generator=generator, dtype=torch.float64)
    return z.relu() if reading == "max-normalized" else z


def dense_of(adjacency: Adjacency) -> Tensor:
    dense = torch.zeros(adjacency.num_nodes, adjacency.num_nodes, dtype=torch.float64)
    dense[adjacency.pattern.row, adjacency.pattern.col] = 1
    return dense


def probabilities(z: Tensor, adjacency: Adjacency, alpha: float, reading: str) -> Tensor:
    """P as the paper and the docstring print it, zero on the diagonal.  [N, N]"""
    scores = z @ z.t()
    learned = scores.sigmoid() if reading == "sigmoid" else scores / scores.max()
    p = alpha * learned + (1 - alpha) * dense_of(adjacency)
    return p * (1 - torch.eye(z.size(0), dtype=z.dtype))


def sampled(
    engine: str, z: Tensor, adjacency: Adjacency, distribution: EdgeDistribution, seed: int
) -> SampledAdjacency:
    return ENGINES[engine](distribution.prepare(z), adjacency, distribution, seed)


# What is sampled.


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("engine", ENGINES)
def test_each_pair_is_sampled_as_often_as_its_probability_says(
    engine: str, alpha: float, reading: str
) -> None:
    """By an exact binomial test of each pair.

    The chance that sound samples fail is below 1e-4 for all 66 pairs together, and the seeds are
    fixed. A probability of 0 or 1 must be met in every sample.
    """
    adjacency, z = random_graph(12), embeddings(12, reading)
    distribution = EdgeDistribution(alpha, 0.7, reading)
    draws = 600
    total = torch.zeros(12, 12, dtype=torch.float64)
    for seed in range(draws):
        sample = dense_of(sampled(engine, z, adjacency, distribution, seed))
        assert torch.equal(sample, sample.t())
        assert sample.diagonal().sum() == 0
        total += sample
    u, v = torch.triu_indices(12, 12, offset=1)
    # The maximum is its own quotient but for its last bit.
    expected = probabilities(z, adjacency, alpha, reading)[u, v].clamp(max=1)
    for count, p in zip(total[u, v].tolist(), expected.tolist(), strict=True):
        assert scipy.stats.binomtest(int(count), draws, p).pvalue > 1e-4 / 66


@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_are_sampled_independently_of_one_another(engine: str) -> None:
    """The number of edges varies as a sum of independent variables does; chi-squared, 1e-4."""
    adjacency, z = random_graph(12), embeddings(12, "sigmoid")
    distribution = EdgeDistribution(0.6, 1.0, "sigmoid")
    p = probabilities(z, adjacency, 0.6, "sigmoid").triu()
    counts = [sampled(engine, z, adjacency, distribution, s).num_pairs for s in range(600)]
    ratio = float(np.var(counts, ddof=1)) * 599 / float((p * (1 - p)).sum())
    low, high = (float(scipy.stats.chi2.ppf(q, 599)) for q in (0.5e-4, 1 - 0.5e-4))
    assert low < ratio < high


@given(st.integers(2, 20), st.integers(0, 10_000), st.sampled_from(READINGS))
def test_without_influence_of_the_predictor_the_sample_is_the_original_graph(
    num_nodes: int, seed: int, reading: str
) -> None:
    adjacency, z = random_graph(num_nodes, seed=seed), embeddings(num_nodes, reading, seed)
    for engine in ENGINES:
        sample = sampled(engine, z.float(), adjacency, EdgeDistribution(0.0, 1.0, reading), seed)
        assert torch.equal(sample.edge_index, adjacency.edge_index)
        assert sample.weight is not None
        assert torch.equal(sample.weight, torch.ones(adjacency.pattern.nnz))


@given(st.integers(2, 20), st.integers(0, 10_000), st.floats(0, 1), st.sampled_from(READINGS))
def test_rounding_joins_exactly_the_pairs_above_one_half(
    num_nodes: int, seed: int, alpha: float, reading: str
) -> None:
    adjacency, z = random_graph(num_nodes, seed=seed), embeddings(num_nodes, reading, seed)
    p = probabilities(z, adjacency, alpha, reading)
    if bool(((p - 0.5).abs() < 1e-12).any()) or not bool(z.any()):
        return
    for engine in ENGINES:
        distribution = EdgeDistribution(alpha, 1.0, reading, "rounding")
        sample = sampled(engine, z, adjacency, distribution, seed)
        assert torch.equal(dense_of(sample), (p > 0.5).double())


def test_a_probability_of_exactly_one_half_is_rounded_down() -> None:
    adjacency = random_graph(6)
    for engine in ENGINES:
        distribution = EdgeDistribution(0.5, 1.0, sampling="rounding")
        assert sampled(engine, torch.zeros(6, 2), adjacency, distribution, 0).num_pairs == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_embeddings_of_zeros_leave_edges_with_the_share_of_the_original_graph(
    engine: str, alpha: float
) -> None:
    """The maximum of all scores is 0; nothing is divided by it."""
    adjacency = random_graph(10)
    distribution = EdgeDistribution(alpha, 1.0)
    z = torch.zeros(10, 3, requires_grad=True)
    kept = 0
    for seed in range(200):
        sample = sampled(engine, z, adjacency, distribution, seed)
        assert not bool((dense_of(sample) > dense_of(adjacency)).any())
        kept += sample.num_pairs
        assert sample.weight is not None
        value = sample.symmetric(torch.ones(10, 2)).sum() + sample.weight.sum()
        (grad,) = torch.autograd.grad(value, z)
        assert bool(torch.isfinite(grad).all())
    test = scipy.stats.binomtest(kept, 200 * adjacency.num_pairs, 1 - alpha)
    assert test.pvalue > 1e-4


@pytest.mark.parametrize("engine", ENGINES)
def test_the_weights_of_a_sample_are_exactly_one(engine: str) -> None:
    z = embeddings(30, "sigmoid").float().requires_grad_()
    sample = sampled(engine, z, random_graph(30), EdgeDistribution(0.5, 0.3, "sigmoid"), 1)
    assert sample.weight is not None
    assert bool((sample.weight == 1).all())
    neighbors = dense_of(sample).float()
    assert torch.equal(sample.sum(torch.eye(30)), neighbors)
    assert torch.equal(sample.degrees(), neighbors.sum(dim=1))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_expected_number_of_edges_is_the_sum_of_all_probabilities(alpha: float) -> None:
    graph, z = random_graph(12), embeddings(12, "max-normalized")
    distribution = EdgeDistribution(alpha, 1.0)
    expected = distribution.expected_edges(distribution.prepare(z), graph.num_pairs)
    assert expected == pytest.approx(
        float(probabilities(z, graph, alpha, "max-normalized").sum() / 2)
    )
    by_sigmoid = EdgeDistribution(alpha, 1.0, "sigmoid")
    rounded = EdgeDistribution(alpha, 1.0, sampling="rounding")
    assert by_sigmoid.expected_edges(z, graph.num_pairs) is None
    assert rounded.expected_edges(z, graph.num_pairs) is None


def test_temperature_does_not_change_what_is_sampled() -> None:
    adjacency, z = random_graph(20), embeddings(20, "sigmoid")
    for engine in ENGINES:
        samples = [
            sampled(engine, z, adjacency, EdgeDistribution(0.5, temperature, "sigmoid"), 3)
            for temperature in (0.05, 1.0, 5.0)
        ]
        assert torch.equal(samples[0].edge_index, samples[1].edge_index)
        assert torch.equal(samples[0].edge_index, samples[2].edge_index)


def test_a_sample_in_single_precision_does_not_depend_on_the_tiles() -> None:
    """Where a probability meets its noise, how a matrix product rounds would decide.

    All embeddings are alike, and their length is chosen such that the one probability equals the
    noise of one pair. Products of other shapes round differently; the sample does not.
    """
    num_nodes, width = 60, 33
    adjacency = random_graph(num_nodes)
    direction = functional.normalize(
        torch.rand(width, generator=torch.Generator().manual_seed(0)), dim=0
    )
    distribution = EdgeDistribution(1.0, 1.0)
    shapes_disagree = False
    for seed in range(40):
        noise = row_noise(row_keys(seed, num_nodes), 0, num_nodes)
        z = (noise[3, 40].sqrt() * direction).repeat(num_nodes, 1)
        products = [(z[3:4] @ z.t())[0, 40], (z @ z.t())[3, 40]]
        shapes_disagree |= bool(products[0] != products[1])
        samples = [sample_blocked(z, adjacency, distribution, seed, tile) for tile in (7, 100, 512)]
        exact = (z[0].double() ** 2).sum()
        assert samples[0].num_pairs == int((noise.double() < exact).triu(1).sum())
        for other in samples[1:]:
            assert torch.equal(samples[0].edge_index, other.edge_index)
    assert shapes_disagree, "this test shows nothing where all products round alike"


def test_an_unknown_reading_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Unknown reading of edge scores 'softmax'. Choose from"):
        EdgeDistribution(0.5, 1.0, "softmax").prepare(torch.ones(2, 2))


# The gradient.


class UserModule(nn.Module):
    """A module of a user's with PyTorch Geometric's signature."""

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.first = GCNConv(in_features, 5)
        self.second = GCNConv(5, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        h = self.first(x, edge_index, edge_weight).relu()
        return self.second(h, edge_index, edge_weight)


#: Name and settings of each classifier; every one without dropout.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "gcn": ("gcn", {"hidden": 5}),
    "gcn of one layer": ("gcn", {"hidden": 5, "layers": 1}),
    "gcn of three layers": ("gcn", {"hidden": 5, "layers": 3}),
    "gsage": ("gsage", {"hidden": 5}),
    "gsage without the node itself": ("gsage", {"hidden": 5, "self_weight": 0.0}),
    "jknet": ("jknet", {"hidden": 5, "layers": 3}),
    "gat": ("gat", {"hidden": 3, "heads": 2, "input_dropout": 0.0, "attention_dropout": 0.0}),
    "a user's module": ("", {}),
}
LISTING_EDGES = ("gat", "a user's module")
NUM_NODES, FEATURES, CLASSES = 14, 4, 3


def model_of(name: str) -> nn.Module:
    kind, settings = MODELS[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if not kind:
            return UserModule(FEATURES, CLASSES).double()
        config = registry.MODELS.config_type(kind)(**settings, dropout=0.0)
        return ModelSpec.of(config).build(FEATURES, CLASSES).double()


def task_of_nodes() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(NUM_NODES, FEATURES, generator=generator, dtype=torch.float64)
    return x, torch.arange(NUM_NODES) % CLASSES


def gradients(
    sampler: Sampler, name: str, distribution: EdgeDistribution, *, with_edge_loss: bool = False
) -> tuple[Tensor, list[Tensor]]:
    """The loss, and its gradient in the embeddings and in every weight of the model."""
    adjacency = random_graph(NUM_NODES)
    z = embeddings(NUM_NODES, distribution.reading, seed=3).requires_grad_()
    (x, y), model = task_of_nodes(), model_of(name)
    sample = sampler(distribution.prepare(z), adjacency, distribution, 11)
    loss = classification_loss(apply_model(model, x, sample), y)
    if with_edge_loss:
        loss = loss + 1.5 * edge_loss(z, adjacency, "exact")
    wanted = [z, *model.parameters()]
    grads = torch.autograd.grad(loss, wanted, allow_unused=True, materialize_grads=True)
    return loss.detach(), list(grads)


@pytest.mark.parametrize("with_edge_loss", [False, True])
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("model", MODELS)
def test_the_blocked_engine_has_the_loss_and_the_gradient_of_the_dense_one(
    model: str, reading: str, with_edge_loss: bool
) -> None:
    for alpha, temperature in itertools.product(ALPHAS, (0.2, 1.0, 3.0)):
        distribution = EdgeDistribution(alpha, temperature, reading)
        loss, expected = gradients(sample_dense, model, distribution, with_edge_loss=with_edge_loss)
        for tile in (1, 3, 512):
            blocked = functools.partial(sample_blocked, tile=tile)
            value, grads = gradients(blocked, model, distribution, with_edge_loss=with_edge_loss)
            torch.testing.assert_close(value, loss)
            torch.testing.assert_close(grads, expected, rtol=1e-7, atol=1e-12)
        assert bool(expected[0].any()) == (alpha > 0 or with_edge_loss)


@pytest.mark.parametrize("sampling", ["bernoulli", "rounding"])
def test_the_engines_agree_for_each_kind_of_sampling(sampling: str) -> None:
    distribution = EdgeDistribution(0.4, 0.8, "sigmoid", sampling)
    _, expected = gradients(sample_dense, "gcn", distribution)
    _, grads = gradients(sample_blocked, "gcn", distribution)
    torch.testing.assert_close(grads, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tile", [64, 512])
@pytest.mark.parametrize("reading", READINGS)
def test_the_engines_agree_in_single_precision(reading: str, tile: int, threads: int) -> None:
    """200 nodes, of tiles that are compiled where Numba is installed, against double precision.

    To 1e-4 of the largest entry, where sums have many terms of both signs.
    """
    adjacency = random_graph(200, share=0.03)
    distribution = EdgeDistribution(0.3, 0.9, reading)
    h = torch.randn(200, 16, generator=torch.Generator().manual_seed(1))

    def gradient(sampler: Sampler, dtype: torch.dtype) -> Tensor:
        z = embeddings(200, reading, width=8).to(dtype).requires_grad_()
        sample = sampler(distribution.prepare(z), adjacency, distribution, 4)
        value = sample.symmetric(sample.mean(h.to(dtype), 2.0).relu()).square().sum()
        return torch.autograd.grad(value, z)[0]

    expected = gradient(sample_dense, torch.float64)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        grad = gradient(functools.partial(sample_blocked, tile=tile), torch.float32)
    finally:
        torch.set_num_threads(before)
    assert (grad - expected).abs().max() / expected.abs().max() < 1e-4


def plain_gcn(adjacency: Tensor, x: Tensor, model: GCN) -> Tensor:
    """The GCN of two layers, on a dense adjacency and in one line a layer."""
    looped = adjacency + torch.eye(adjacency.size(0), dtype=adjacency.dtype)
    scale = looped.sum(dim=1).rsqrt()
    normalized = scale[:, None] * looped * scale[None, :]
    first, second = model.layers
    assert isinstance(first, Linear)
    assert isinstance(second, Linear)
    hidden = (normalized @ x @ first.weight + first.bias).relu()
    return normalized @ hidden @ second.weight + second.bias


def central_differences(function: Callable[[Tensor], Tensor], at: Tensor, step: float) -> Tensor:
    """The derivative of each result in each entry.  [*at.shape, *result.shape]"""
    columns = []
    for place in range(at.numel()):
        shift = torch.zeros(at.numel(), dtype=at.dtype)
        shift[place] = step
        up, down = (function(at + sign * shift.view_as(at)) for sign in (1, -1))
        columns.append((up - down) / (2 * step))
    return torch.stack(columns).view(*at.shape, *columns[0].shape)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_gradient_is_that_of_the_relaxed_sample_by_finite_differences(
    temperature: float, alpha: float, reading: str
) -> None:
    """The straight-through estimator, step by step and without autograd.

    How the loss changes with each pair of the hard sample, times how the relaxed sample of that
    pair changes with the embeddings: both by central differences of formulas written out here.
    """
    adjacency, z = random_graph(NUM_NODES), embeddings(NUM_NODES, reading, seed=3)
    (x, y), model = task_of_nodes(), model_of("gcn")
    assert isinstance(model, GCN)
    u, v = torch.triu_indices(NUM_NODES, NUM_NODES, offset=1)
    noise = row_noise(row_keys(11, NUM_NODES), 0, NUM_NODES)[u, v].double()

    def relaxed(z: Tensor) -> Tensor:
        p = probabilities(z, adjacency, alpha, reading)[u, v].clamp(1e-6, 1 - 1e-6)
        logistic = (1 - noise).log() - noise.log()  # logit of u = 1 - noise
        return 1 / (1 + (-(p.log() - (1 - p).log() + logistic) / temperature).exp())

    def loss_of(edges: Tensor) -> Tensor:
        matrix = torch.zeros(NUM_NODES, NUM_NODES, dtype=torch.float64)
        matrix[u, v] = matrix[v, u] = edges
        return functional.cross_entropy(plain_gcn(matrix, x, model), y)

    with torch.no_grad():
        hard = (relaxed(z) > 0.5).double()
        by_edge = central_differences(loss_of, hard, 1e-5)  # [pairs]
        by_embedding = central_differences(relaxed, z, 1e-6)  # [N, d, pairs]
        expected = by_embedding @ by_edge
        expected_loss = loss_of(hard)
    assert expected.abs().max() > 1e-3
    for sampler in ENGINES.values():
        loss, (grad, *_) = gradients(sampler, "gcn", EdgeDistribution(alpha, temperature, reading))
        torch.testing.assert_close(loss, expected_loss)
        # A rectified 0 may not go below 0: there a difference to both sides means nothing.
        smooth = z != 0
        torch.testing.assert_close(grad[smooth], expected[smooth], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("model", MODELS)
def test_how_far_the_gradient_reaches(model: str, reading: str) -> None:
    """To every pair where a model sums over neighbors; to the sampled edges where it lists them.

    Two nodes that are not joined in the sample have embeddings along an axis of their own. Nothing
    but their own pair can bring one's embedding to the other's axis.
    """
    adjacency = random_graph(NUM_NODES)
    z = torch.zeros(NUM_NODES, 3, dtype=torch.float64)
    z[:, 0] = torch.linspace(0.2, 0.9, NUM_NODES)
    z[4, 1], z[9, 2] = 0.5, 0.7
    distribution = EdgeDistribution(0.5, 1.0, reading)
    x, y = task_of_nodes()
    joined = set()
    for seed, sampler in itertools.product(range(8), ENGINES.values()):
        leaf = z.clone().requires_grad_()
        sample = sampler(distribution.prepare(leaf), adjacency, distribution, seed)
        loss = classification_loss(apply_model(model_of(model), x, sample), y)
        (grad,) = torch.autograd.grad(loss, leaf)
        is_edge = bool(dense_of(sample)[4, 9])
        joined.add(is_edge)
        reached = bool(grad[4, 2] != 0) and bool(grad[9, 1] != 0)
        assert reached == (is_edge or model not in LISTING_EDGES)
        assert bool(grad.any())
    assert joined == {True, False}


@pytest.mark.parametrize("model", LISTING_EDGES)
def test_where_edges_are_listed_the_gradient_is_that_of_the_weights_of_the_sampled_edges(
    model: str,
) -> None:
    """Against finite differences in the weight of each sampled edge, both directions together."""
    adjacency, z = random_graph(NUM_NODES), embeddings(NUM_NODES, "sigmoid", seed=3)
    distribution = EdgeDistribution(0.6, 0.8, "sigmoid")
    (x, y), module = task_of_nodes(), model_of(model)
    leaf = z.clone().requires_grad_()
    sample = sample_blocked(leaf, adjacency, distribution, 11)
    (grad,) = torch.autograd.grad(classification_loss(apply_model(module, x, sample), y), leaf)
    u, v = pairs = sample.edge_index[:, sample.edge_index[0] < sample.edge_index[1]]
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    noise = row_noise(row_keys(11, NUM_NODES), 0, NUM_NODES)[u, v].double()

    def loss_of(weights: Tensor) -> Tensor:
        return classification_loss(module(x, both, weights.repeat(2)), y)

    def relaxed(z: Tensor) -> Tensor:
        p = probabilities(z, adjacency, 0.6, "sigmoid")[u, v]
        return torch.sigmoid((torch.logit(p) - torch.logit(noise)) / 0.8)

    with torch.no_grad():
        by_edge = central_differences(loss_of, torch.ones(u.numel(), dtype=torch.float64), 1e-5)
        expected = central_differences(relaxed, z, 1e-6) @ by_edge
    torch.testing.assert_close(grad, expected, rtol=1e-4, atol=1e-7)


def test_a_second_backward_pass_adds_the_same_gradient_once_more() -> None:
    z = embeddings(NUM_NODES, "sigmoid").requires_grad_()
    sample = sample_blocked(z, random_graph(NUM_NODES), EdgeDistribution(0.5, 1.0, "sigmoid"), 0)
    loss = sample.symmetric(torch.ones(NUM_NODES, 2, dtype=torch.float64)).square().sum()
    (first,) = torch.autograd.grad(loss, z, retain_graph=True)
    (second,) = torch.autograd.grad(loss, z)
    assert torch.equal(first, second)
    assert bool(first.any())


def test_a_backward_pass_without_the_embeddings_leaves_nothing_for_the_next() -> None:
    adjacency, (x, y), module = random_graph(NUM_NODES), task_of_nodes(), model_of("gcn")
    results = []
    for sampler in ENGINES.values():
        z = embeddings(NUM_NODES, "sigmoid").requires_grad_()
        sample = sampler(z, adjacency, EdgeDistribution(0.5, 1.0, "sigmoid"), 0)
        loss = classification_loss(apply_model(module, x, sample), y)
        torch.autograd.grad(loss, list(module.parameters()), retain_graph=True)
        results.append(torch.autograd.grad(loss, z))
    torch.testing.assert_close(*results)
    assert bool(results[0][0].any())


def test_probabilities_of_0_and_1_get_no_gradient_and_no_nan() -> None:
    adjacency = random_graph(6)
    z = torch.eye(6, 3, dtype=torch.float64).requires_grad_()  # scores of 0 and 1 alone
    for sampler in ENGINES.values():
        sample = sampler(z, adjacency, EdgeDistribution(1.0, 1.0), 0)
        loss = sample.symmetric(torch.rand(6, 2, dtype=torch.float64)).square().sum()
        assert sample.weight is not None
        (grad,) = torch.autograd.grad(loss + sample.weight.sum(), z)
        assert torch.equal(grad, torch.zeros_like(z))


@pytest.mark.parametrize("looking", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_whoever_looks_without_gradient_takes_it_from_nobody(
    model: str, engine: str, looking: Callable[[], contextlib.AbstractContextManager[None]]
) -> None:
    """Degrees and weights are kept: also for those who train on the graph later."""
    (x, y), adjacency = task_of_nodes(), random_graph(NUM_NODES)
    distribution = EdgeDistribution(0.4, 0.8)
    grads = []
    for look_first in (False, True):
        z = embeddings(NUM_NODES, "max-normalized", seed=3).requires_grad_()
        sample = sampled(engine, z, adjacency, distribution, 11)
        classifier = model_of(model)
        if look_first:
            with looking():
                apply_model(classifier, x, sample)
        loss = classification_loss(apply_model(classifier, x, sample), y)
        grads.append(torch.autograd.grad(loss, z)[0])
    assert bool(grads[0].any())
    assert torch.equal(*grads)


@pytest.mark.parametrize("scale", [1e-30, 1e-13, 1.0, 1e13, 1e30])
def test_short_and_long_embeddings_have_the_probabilities_of_those_of_length_one(
    scale: float,
) -> None:
    distribution, adjacency = EdgeDistribution(0.5, 1.0), random_graph(NUM_NODES)
    plain = embeddings(NUM_NODES, "max-normalized").float()
    z = (plain * scale).requires_grad_()
    prepared = distribution.prepare(z)
    torch.testing.assert_close(prepared, distribution.prepare(plain))
    sample_blocked(prepared, adjacency, distribution, 1).degrees().square().sum().backward()
    assert z.grad is not None
    assert bool(torch.isfinite(z.grad).all())
    assert bool(z.grad.any())
