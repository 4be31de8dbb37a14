"""The sparse engine: same distribution and mean gradient as the others, linear in the edges."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import scipy.stats
import torch
from torch import Tensor
from torch_geometric.data import Data

import gaug
from gaug.config import assign_settings
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o import learned_edges
from gaug.methods.gaug_o.config import GAugOConfig, resolved_engine
from gaug.methods.gaug_o.drawn_pairs import edge_products
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.edge_sampler import EdgeSampler
from gaug.methods.gaug_o.edge_sampling import sample_blocked, sample_sparse
from gaug.methods.gaug_o.learned_edges import LearnedEdges
from gaug.methods.gaug_o.method import GAugO
from gaug.methods.gaug_o.sampled_adjacency import DenseSample, SampledAdjacency
from gaug.methods.gaug_o.sampling_cap import score_sums
from gaug.models.calling import apply_model
from gaug.models.config import GATConfig
from gaug.models.spec import ModelSpec
from gaug.pairs import tile_work
from gaug.runs.execute import execute
from gaug.runs.plan import Plan
from tests.methods.gaug_o.test_memory import Largest

NUM_NODES = 12
SHORT: dict[str, Any] = {
    "epochs": 3,
    "pretrain_predictor_epochs": 3,
    "pretrain_classifier_epochs": 2,
}


def random_graph(num_nodes: int, share: float = 0.25) -> Adjacency:
    generator = torch.Generator().manual_seed(0)
    upper = (torch.rand(num_nodes, num_nodes, generator=generator) < share).triu(1)
    upper[0, 1] = True
    return Adjacency.of_pairs(upper.nonzero().t(), num_nodes)


def embeddings(num_nodes: int, width: int = 3) -> Tensor:
    """Not negative, the largest norm 1."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(num_nodes, width, generator=generator, dtype=torch.float64).relu()
    return z / z.norm(dim=1).max()


def dense_of(adjacency: Adjacency) -> Tensor:
    dense = torch.zeros(adjacency.num_nodes, adjacency.num_nodes, dtype=torch.float64)
    dense[adjacency.pattern.row, adjacency.pattern.col] = 1
    return dense


def probabilities(z: Tensor, graph: Adjacency, alpha: float, limit: float = math.inf) -> Tensor:
    """P as the paper prints it, that of non-edges scaled to a limit of their sum.  [N, N]"""
    known = dense_of(graph)
    learned = alpha * (z @ z.t())
    others = (learned * (1 - known)).triu(1).sum()
    scale = min(1.0, limit / float(others))
    return torch.where(known > 0, learned + 1 - alpha, scale * learned).triu(1)


@pytest.mark.parametrize("limit", [4, 10_000])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_each_pair_is_sampled_as_often_as_its_probability_says(alpha: float, limit: int) -> None:
    """By exact binomial tests; sound samples fail in all 66 with a chance below 1e-4."""
    graph, z, draws = random_graph(NUM_NODES), embeddings(NUM_NODES), 1000
    config = GAugOConfig(alpha=alpha, engine="sparse", max_sampled_edges=limit)
    learned = LearnedEdges.of(config, z.float(), graph)
    total = torch.zeros(NUM_NODES, NUM_NODES, dtype=torch.float64)
    for seed in range(draws):
        sample = dense_of(learned.sample(seed))
        assert torch.equal(sample, sample.t())
        assert sample.diagonal().sum() == 0
        total += sample
    u, v = pairs = torch.triu_indices(NUM_NODES, NUM_NODES, offset=1)
    expected = probabilities(z, graph, alpha, limit)[u, v].clamp(max=1)
    torch.testing.assert_close(learned.probabilities(pairs).double(), expected)
    for count, p in zip(total[u, v].tolist(), expected.tolist(), strict=True):
        assert scipy.stats.binomtest(int(count), draws, p).pvalue > 1e-4 / 66


def test_pairs_are_sampled_independently_of_one_another() -> None:
    """The number of edges varies as a sum of independent variables does; chi-squared, 1e-4."""
    graph, z, draws = random_graph(NUM_NODES), embeddings(NUM_NODES), 1000
    p = probabilities(z, graph, 0.6)
    distribution = EdgeDistribution(0.6, 1.0)
    counts = [sample_sparse(z, graph, distribution, seed).num_pairs for seed in range(draws)]
    ratio = float(np.var(counts, ddof=1)) * (draws - 1) / float((p * (1 - p)).sum())
    low, high = (float(scipy.stats.chi2.ppf(q, draws - 1)) for q in (0.5e-4, 1 - 0.5e-4))
    assert low < ratio < high


def test_the_same_seed_draws_the_same_graph_in_either_form_and_with_any_threads() -> None:
    graph, z = random_graph(300, 0.02), embeddings(300).float()
    distribution, before = EdgeDistribution(0.4, 1.0), torch.get_num_threads()
    first = sample_sparse(z, graph, distribution, 5).edge_index
    torch.set_num_threads(3)
    shared = sample_sparse(z, graph, distribution, 5).edge_index
    torch.set_num_threads(before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_work, "_compiled", lambda: None)
        eager = sample_sparse(z, graph, distribution, 5).edge_index
    assert torch.equal(first, shared)
    assert torch.equal(first, eager)
    assert not torch.equal(first, sample_sparse(z, graph, distribution, 6).edge_index)


# The gradient.


def loss_of(sample: SampledAdjacency) -> Tensor:
    """A GCN's two aggregations with a nonlinearity between them, and a mean."""
    generator = torch.Generator().manual_seed(1)
    h = torch.randn(sample.num_nodes, 4, generator=generator, dtype=torch.float64)
    hidden = torch.tanh(sample.symmetric(h) + sample.mean(h))
    return (sample.symmetric(hidden)[:, 0] * h[:, 1]).sum()


def gradients(sampler: Any, z: Tensor, draws: int) -> Tensor:
    """One gradient per draw.  [draws, N, d]"""
    grads = []
    for seed in range(draws):
        leaf = z.clone().requires_grad_()
        (grad,) = torch.autograd.grad(loss_of(sampler(leaf, seed)), leaf)
        grads.append(grad)
    return torch.stack(grads)


@pytest.mark.parametrize("columns", [3, 100])
@pytest.mark.parametrize("temperature", [0.5, 1.0])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_the_mean_gradient_is_that_of_the_blocked_engine(
    alpha: float, temperature: float, columns: int
) -> None:
    """Within 5 standard errors of the difference, for each number of the embeddings.

    The mean of all differences in units of their error must be that of chance, too.
    """
    graph, z = random_graph(NUM_NODES), embeddings(NUM_NODES) * 0.8
    distribution, draws = EdgeDistribution(alpha, temperature), 1000

    def sparse(leaf: Tensor, seed: int) -> SampledAdjacency:
        return sample_sparse(leaf, graph, distribution, seed + 4 * draws, columns=columns)

    def blocked(leaf: Tensor, seed: int) -> SampledAdjacency:
        return sample_blocked(leaf, graph, distribution, seed + draws)

    ours, reference = gradients(sparse, z, draws), gradients(blocked, z, 3 * draws)
    error = (ours.var(dim=0) / draws + reference.var(dim=0) / (3 * draws)).sqrt()
    distance = (ours.mean(dim=0) - reference.mean(dim=0)).abs()
    assert bool((distance <= 5 * error + 1e-12).all())
    assert float((distance / error).nan_to_num().square().mean()) < 1.8
    # It would show a gradient that is wrong by a third.
    assert float(reference.mean(dim=0).norm()) > 6 * float(error.norm())


def test_with_all_columns_it_is_the_average_gradient_of_the_noise_of_the_same_sample() -> None:
    """A sample of three nodes, by hand: the mean slope at τ = 1 of each outcome."""
    graph = Adjacency.of_pairs(torch.tensor([[0], [1]]), 3)
    z = torch.tensor([[0.9], [0.5], [0.6]], dtype=torch.float64, requires_grad=True)
    for seed in range(12):
        sample = sample_sparse(z, graph, EdgeDistribution(1.0, 1.0), seed)
        values = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
        (grad,) = torch.autograd.grad(sample.sum(values)[0, 0], z)
        noise = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
        expected = torch.zeros_like(z)
        for other, gain in ((1, 2.0), (2, 4.0)):
            p = float(z.detach()[0, 0] * z.detach()[other, 0])
            joined = bool(dense_of(sample)[0, other])
            slope = noise * (1 - noise) / (p + noise - 2 * p * noise) ** 2
            mean = float(slope[(noise < p) == joined].mean())
            expected[0] += gain * mean * z[other].detach()
            expected[other] += gain * mean * z[0].detach()
        torch.testing.assert_close(grad, expected, rtol=1e-3, atol=0)


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_the_forms_have_the_same_gradient_and_so_have_any_threads(scale: float) -> None:
    """Up to single precision, to 1e-4 of the largest entry."""
    graph, z = random_graph(400, 0.02), embeddings(400, 6)
    grads, before = [], torch.get_num_threads()
    for dtype, threads in ((torch.float64, 1), (torch.float32, 1), (torch.float32, 3)):
        torch.set_num_threads(threads)
        leaf = z.to(dtype).requires_grad_()
        sample = sample_sparse(leaf, graph, EdgeDistribution(0.4, 0.7), 2, scale=scale, columns=30)
        h = torch.randn(400, 5, generator=torch.Generator().manual_seed(1)).to(dtype)
        (grad,) = torch.autograd.grad(sample.symmetric(sample.symmetric(h)).square().sum(), leaf)
        grads.append(grad.double())
    torch.set_num_threads(before)
    for grad in grads[1:]:
        assert float((grad - grads[0]).abs().max()) < 1e-4 * float(grads[0].abs().max())
    assert bool(grads[0].any())


def test_a_second_backward_pass_adds_the_same_gradient_once_more() -> None:
    z = embeddings(30).requires_grad_()
    loss = loss_of(sample_sparse(z, random_graph(30), EdgeDistribution(0.5, 1.0), 0, columns=4))
    (first,) = torch.autograd.grad(loss, z, retain_graph=True)
    (second,) = torch.autograd.grad(loss, z)
    assert torch.equal(first, second)
    assert bool(first.any())


def test_where_edges_are_listed_the_gradient_is_that_of_the_sampled_edges() -> None:
    z = embeddings(NUM_NODES).requires_grad_()
    graph = random_graph(NUM_NODES)
    reached = set()
    for seed in range(60):
        sample = sample_sparse(z, graph, EdgeDistribution(0.7, 1.0), seed)
        assert sample.weight is not None
        assert bool((sample.weight == 1).all())
        (grad,) = torch.autograd.grad(sample.weight.sum(), z)
        of_no_edge = dense_of(sample).sum(dim=1) == 0
        assert not bool(grad[of_no_edge].any())
        reached.add(bool(grad.any()))
    assert True in reached


def averaged_sample(
    z: Tensor, graph: Adjacency, distribution: EdgeDistribution, drawn: Tensor
) -> DenseSample:
    """A given sample as a dense matrix whose edges carry the mean gradient of all noise with it."""
    p = distribution.of_all(z, graph.pattern)
    levels = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    # Noise below the probability, which is what joins a pair.
    parts = [distribution.relaxed(p, level * p.detach()) for level in levels]
    relaxed = torch.where(drawn > 0, torch.stack(parts).mean(dim=0), 0.0)
    upper = (drawn + relaxed - relaxed.detach()).triu(1)
    return DenseSample(upper + upper.t())


@pytest.mark.parametrize(("alpha", "temperature"), [(0.7, 1.0), (1.0, 0.5), (0.3, 1.7)])
def test_the_gradient_of_a_gat_is_that_of_the_relaxed_edges_of_a_dense_sample(
    alpha: float, temperature: float
) -> None:
    """Averaged over the noise by a sum of 1,000 terms, to a thousandth of the largest entry."""
    z, graph = embeddings(NUM_NODES) * 0.8, random_graph(NUM_NODES)
    distribution = EdgeDistribution(alpha, temperature)
    torch.manual_seed(0)
    gat = ModelSpec.of(GATConfig(hidden=4, heads=2)).build(3, 2).double().eval()
    x, reached = torch.randn(NUM_NODES, 3, dtype=torch.float64), 0
    for seed in range(5):
        leaf, other = z.clone().requires_grad_(), z.clone().requires_grad_()
        sample = sample_sparse(leaf, graph, distribution, seed)
        dense = averaged_sample(other, graph, distribution, dense_of(sample))
        outs = [apply_model(gat, x, drawn) for drawn in (sample, dense)]
        torch.testing.assert_close(*outs)
        ours, expected = (
            torch.autograd.grad(out.square().sum(), of)[0]
            for out, of in zip(outs, (leaf, other), strict=True)
        )
        assert float((ours - expected).abs().max()) <= 1e-3 * float(expected.abs().max())
        reached += bool(expected.any())
    assert reached > 2  # in the others, nothing was drawn


@pytest.mark.parametrize("value", [0.0, math.nan])
def test_embeddings_of_zeros_or_of_no_numbers_add_no_pair(value: float) -> None:
    z = torch.full((10, 3), value, requires_grad=True)
    graph = random_graph(10)
    sample = sample_sparse(z, graph, EdgeDistribution(0.4, 1.0), 0)
    assert not bool((dense_of(sample) > dense_of(graph)).any())
    (grad,) = torch.autograd.grad(sample.symmetric(torch.ones(10, 2)).sum(), z)
    assert value != 0 or bool(torch.isfinite(grad).all())


# The limit of added edges.


def test_sums_of_scores_are_those_of_the_matrix() -> None:
    graph, z = random_graph(NUM_NODES), embeddings(NUM_NODES)
    scores, known = (z @ z.t()).triu(1), dense_of(graph)
    on_edges, elsewhere = score_sums(z, edge_products(z, graph))
    assert on_edges == pytest.approx(float((scores * known).sum()))
    assert elsewhere == pytest.approx(float((scores * (1 - known)).sum()))


def test_by_default_four_times_the_edges_are_added_at_most() -> None:
    graph = Adjacency.of_pairs(torch.tensor([[0, 1], [1, 2]]), 200)
    learned = LearnedEdges.of(GAugOConfig(alpha=1.0, engine="sparse"), torch.ones(200, 1), graph)
    added = [learned.sample(seed).num_pairs - 2 for seed in range(200)]
    assert sum(added) / 200 == pytest.approx(8, abs=5 * math.sqrt(8 / 200))
    blocked = LearnedEdges.of(GAugOConfig(alpha=1.0), torch.ones(200, 1), graph)
    assert (learned.scale < 1, blocked.scale) == (True, 1.0)


def graph_to_learn(num_nodes: int = 120) -> Data:
    data = planted_graph(SyntheticConfig(num_nodes=num_nodes, num_classes=3, degree=5.0))
    return make_split(data, "stratified").apply(data)


def test_a_run_tells_once_that_added_edges_were_limited() -> None:
    method = GAugO(engine="sparse", alpha=0.9, max_sampled_edges=5, **SHORT)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        method.fit(graph_to_learn())
    words = [str(one.message) for one in told if "max_sampled_edges" in str(one.message)]
    assert len(words) == 1
    assert "limited to 5 added edges on average" in words[0]


def test_the_default_limit_is_told_as_a_multiple_of_the_edges() -> None:
    """The number of edges of the batch that reached it first says nothing."""
    notes = {
        LearnedEdges.of(GAugOConfig(alpha=1.0, engine="sparse"), torch.ones(size, 1), graph).note
        for size in (100, 200)
        for graph in [Adjacency.of_pairs(torch.tensor([[0, 1], [1, 2]]), size)]
    }
    (note,) = notes
    assert note is not None
    assert "limited to four added edges for each edge of the graph on average" in note


@pytest.mark.parametrize("given", ["max_sampled_edges=7", "sampled_pairs=7"])
def test_settings_of_sparse_are_refused_where_auto_is_not_sparse(given: str) -> None:
    name, value = given.split("=")
    settings: dict[str, Any] = {name: int(value)}
    message = rf"^{given} goes with engine=sparse, but engine=auto is blocked for 120 nodes"
    with pytest.raises(ConfigError, match=message + r".* Set engine=sparse, or leave it out\.$"):
        GAugO(**settings, **SHORT).fit(graph_to_learn())
    with pytest.raises(ConfigError, match=message):
        EdgeSampler(graph_to_learn(), **settings)
    assert GAugOConfig(**settings).resolved(2_001).engine == "sparse"
    rounded = GAugOConfig(variant="rounding", **settings)
    with pytest.raises(ConfigError, match="variant=rounding does not"):
        rounded.resolved(2_001)


def test_a_sampler_tells_once_that_added_edges_were_limited() -> None:
    sampler = EdgeSampler(graph_to_learn(), engine="sparse", alpha=0.9, max_sampled_edges=5)
    with pytest.warns(UserWarning, match="limited to 5 added edges on average"):
        sampler()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler()


def test_a_limited_sample_fits_where_an_unlimited_one_would_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = Adjacency.of_pairs(torch.tensor([[0], [1]]), 300)

    class Memory:
        available = 200_000_000 + 96 * 100  # the first part is left to others

    monkeypatch.setattr(psutil, "virtual_memory", Memory)
    for engine, limit in (("sparse", 50), ("sparse", 10_000), ("blocked", None)):
        config = GAugOConfig(alpha=0.5, engine=engine, max_sampled_edges=limit)
        learned = LearnedEdges.of(config, torch.ones(300, 1), graph)
        if (engine, limit) == ("sparse", 50):
            assert learned.sample(0).num_pairs < 100
            continue
        with pytest.raises(ConfigError, match="A sampled graph of about"):
            learned.sample(0)


# Settings.


def test_the_engine_follows_the_size_of_the_graph_unless_it_is_given() -> None:
    auto = GAugOConfig()
    assert auto.engine == "auto"
    assert resolved_engine(auto, 2_000) == "blocked"
    assert resolved_engine(auto, 2_001) == "sparse"
    assert auto.resolved(2_001) == GAugOConfig(engine="sparse")
    for engine in ("blocked", "sparse", "dense"):
        assert resolved_engine(GAugOConfig(engine=engine), 10**6) == engine


@pytest.mark.parametrize(
    ("num_nodes", "settings", "engine"),
    [(120, {}, "blocked"), (120, {"engine": "sparse"}, "sparse"), (2_001, {}, "sparse")],
)
def test_a_record_says_which_engine_ran(
    num_nodes: int, settings: dict[str, Any], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where that was left to gaug; the engines themselves say that they were called."""
    drew = set()
    for name in ("blocked", "sparse"):
        draw = getattr(learned_edges, f"sample_{name}")

        def watched(*given: Any, name: str = name, draw: Any = draw, **named: Any) -> Any:
            drew.add(name)
            return draw(*given, **named)

        monkeypatch.setattr(learned_edges, f"sample_{name}", watched)
    short = {**SHORT, "epochs": 1, "hidden": 8, "alpha": 0.01, **settings}
    plan = Plan.of(graph_to_learn(num_nodes), method="gaug-o", settings=short)
    (record,) = execute(plan, runs=1)
    assert record.config["method"]["engine"] == engine
    assert drew == {engine}


@pytest.mark.parametrize(
    "settings",
    [{"edge_probability": "sigmoid"}, {"variant": "rounding"}, {"variant": "no-sampling"}],
)
def test_where_sparse_does_not_apply_it_is_refused_and_auto_is_blocked(
    settings: dict[str, Any],
) -> None:
    assert resolved_engine(GAugOConfig(**settings), 10**6) == "blocked"
    with pytest.raises(ConfigError, match=r"engine=sparse .* Use engine=blocked\."):
        GAugOConfig(engine="sparse", **settings)


@pytest.mark.parametrize("name", ["max_sampled_edges", "sampled_pairs"])
def test_counts_below_one_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be at least 1, got 0"):
        assign_settings({"method": GAugOConfig()}, {name: 0})


# A whole run.


@pytest.mark.parametrize("variant", ["full", "no-edge-loss", "random"])
@pytest.mark.parametrize("model", ["gcn", "gat"])
def test_a_run_with_the_sparse_engine_trains_draws_and_is_saved(
    model: str, variant: str, tmp_path: Path
) -> None:
    data = graph_to_learn()
    method = GAugO(model=model, engine="sparse", variant=variant, alpha=0.3, **SHORT)
    fitted = method.fit(data)
    again = method.fit(data)
    assert torch.equal(fitted.predict_proba(data), again.predict_proba(data))
    fitted.save(tmp_path / "model")
    loaded = gaug.load(tmp_path / "model")
    assert isinstance(loaded, type(fitted))
    assert torch.equal(fitted.sample_graph(1).edge_index, loaded.sample_graph(1).edge_index)
    pairs = torch.tensor([[0, 1, 2], [5, 6, 7]])
    assert torch.equal(fitted.edge_probabilities(pairs), loaded.edge_probabilities(pairs))


def test_a_sampler_with_the_sparse_engine_learns_from_both_losses() -> None:
    sampler = EdgeSampler(graph_to_learn(), engine="sparse", alpha=0.3)
    weights = list(sampler.parameters())
    sample = sampler()
    h = torch.randn(sample.num_nodes, 4, generator=torch.Generator().manual_seed(0))
    for loss in (sample.symmetric(h).square().sum(), sampler.edge_loss()):
        assert all(bool(grad.any()) for grad in torch.autograd.grad(loss, weights))


def test_no_tensor_of_a_sparse_run_grows_with_the_square_of_the_nodes() -> None:
    """Twice the nodes, twice the largest tensor."""
    sizes = []
    for num_nodes in (1500, 3000):
        data = graph_to_learn(num_nodes)
        with Largest() as made:
            GAugO(engine="sparse", hidden=16, alpha=0.05, **SHORT).fit(data)
        sizes.append(made.largest)
    assert sizes[1] < 2.5 * sizes[0]
    assert sizes[1] < 3000**2 / 10
