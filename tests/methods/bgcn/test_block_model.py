"""The block model: its probabilities, its posterior, and what a fit recovers."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from scipy.stats import beta as beta_distribution
from scipy.stats import dirichlet
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from gaug.errors import ConfigError
from gaug.graph.edges import undirected_pairs
from gaug.methods.bgcn.block_model import BlockModel, fit_block_model, initial_model, log_posterior
from gaug.methods.bgcn.block_sampler import sample_graph
from gaug.methods.bgcn.config import BlockModelConfig

EDGES = torch.tensor([[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])
NUM_NODES = 5
ALL_PAIRS = torch.triu_indices(NUM_NODES, NUM_NODES, offset=1)


def random_model(seed: int = 0, num_nodes: int = NUM_NODES, communities: int = 3) -> BlockModel:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand(num_nodes, communities, generator=generator, dtype=torch.float64)
    return BlockModel(
        rows / rows.sum(dim=1, keepdim=True),
        torch.rand(communities, generator=generator, dtype=torch.float64) * 0.9 + 0.05,
        torch.tensor(0.1, dtype=torch.float64),
    )


def test_edge_probabilities_by_hand_on_three_nodes() -> None:
    model = BlockModel(
        torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]),
        torch.tensor([0.8, 0.4]),
        torch.tensor(0.1),
    )
    found = model.edge_probabilities(torch.tensor([[0, 0, 1, 1], [1, 2, 2, 1]]))
    # 0.5 * 0.8 + 0.5 * 0.1;  0.1;  0.5 * 0.4 + 0.5 * 0.1;  0.25 * 0.8 + 0.25 * 0.4 + 0.5 * 0.1
    torch.testing.assert_close(found, torch.tensor([0.45, 0.1, 0.25, 0.35]))


def test_expected_edges_are_the_sum_over_all_pairs() -> None:
    model = random_model(num_nodes=30)
    pairs = torch.triu_indices(30, 30, offset=1)
    torch.testing.assert_close(model.expected_edges(), model.edge_probabilities(pairs).sum())


def slow_log_posterior(model: BlockModel, counts: Tensor, strength_count: float) -> float:
    """Bernoulli pair by pair, priors from SciPy."""
    edges = {tuple(edge) for edge in EDGES.t().tolist()}
    total = 0.0
    for a, b in ALL_PAIRS.t().tolist():
        shared = [float(model.memberships[a, k] * model.memberships[b, k]) for k in range(3)]
        p = sum(s * float(beta) for s, beta in zip(shared, model.strengths, strict=True))
        p += (1 - sum(shared)) * float(model.background)
        total += math.log(p if (a, b) in edges else 1 - p)
    for row, count in zip(model.memberships, counts, strict=True):
        total += float(dirichlet.logpdf(row.numpy() / row.sum().item(), count.numpy() + 1))
    probabilities = [*model.strengths.tolist(), float(model.background)]
    prior = beta_distribution(strength_count + 1, strength_count + 1)
    return total + float(sum(prior.logpdf(p) for p in probabilities))


def test_the_log_posterior_is_bernoulli_with_dirichlet_and_beta_up_to_a_constant() -> None:
    counts = torch.rand(NUM_NODES, 3, dtype=torch.float64) * 4
    models = [random_model(seed) for seed in range(4)]
    ours = [log_posterior(m, 5, EDGES, ALL_PAIRS, counts, 1.5).item() for m in models]
    slow = [slow_log_posterior(m, counts, 1.5) for m in models]
    offsets = [a - b for a, b in zip(ours, slow, strict=True)]
    assert offsets == pytest.approx([offsets[0]] * 4)


def posterior_of(
    memberships: Tensor, strengths: Tensor, background: Tensor, edges: Tensor, pairs: Tensor
) -> Tensor:
    """The log-posterior in coordinates without bounds."""
    model = BlockModel(memberships.softmax(dim=1), strengths.sigmoid(), background.sigmoid())
    return log_posterior(model, 5, edges, pairs, torch.full((NUM_NODES, 3), 0.7), 0.3)


def coordinates() -> tuple[Tensor, Tensor, Tensor]:
    model = random_model()
    memberships, strengths = model.memberships.log(), model.strengths.logit()
    background = model.background.logit()
    return memberships.requires_grad_(), strengths.requires_grad_(), background.requires_grad_()


def test_the_gradient_matches_finite_differences() -> None:
    assert torch.autograd.gradcheck(
        lambda m, s, b: posterior_of(m, s, b, EDGES, ALL_PAIRS), coordinates()
    )


def test_samples_of_edges_and_pairs_give_an_unbiased_gradient() -> None:
    """The mean over every possible sample of one edge and one pair is the full gradient."""
    parts = coordinates()
    full = torch.autograd.grad(posterior_of(*parts, EDGES, ALL_PAIRS), parts)
    sampled = [
        torch.autograd.grad(posterior_of(*parts, edge[:, None], pair[:, None]), parts)
        for edge in EDGES.t()
        for pair in ALL_PAIRS.t()
    ]
    for part, gradients in zip(full, zip(*sampled, strict=True), strict=True):
        torch.testing.assert_close(torch.stack(gradients).mean(dim=0), part)
        assert not torch.allclose(gradients[0], part)


def test_the_first_probabilities_are_the_densities_of_the_blocks(two_cliques: Data) -> None:
    edges = undirected_pairs(two_cliques.edge_index)
    model = initial_model(functional.one_hot(two_cliques.y).double(), edges)
    # 3 of 3 pairs within each clique, 1 of 9 across; and one pair more of density 7 / 15.
    expected = torch.tensor([3 + 7 / 15, 3 + 7 / 15], dtype=torch.float64) / 4
    torch.testing.assert_close(model.strengths, expected)
    assert float(model.background) == pytest.approx((1 + 7 / 15) / 10)


def planted(num_nodes: int = 300) -> tuple[Tensor, Tensor, BlockModel]:
    """Three communities of different strengths: edges, communities and the true model."""
    community = torch.arange(num_nodes) % 3
    truth = BlockModel(
        functional.one_hot(community).double(),
        torch.tensor([0.3, 0.2, 0.15], dtype=torch.float64),
        torch.tensor(0.02, dtype=torch.float64),
    )
    return sample_graph(truth, torch.Generator().manual_seed(1)), community, truth


def with_mistakes(community: Tensor, share: float) -> Tensor:
    """One-hot predictions, a share of them wrong."""
    generator = torch.Generator().manual_seed(2)
    wrong = torch.rand(community.numel(), generator=generator) < share
    return functional.one_hot((community + wrong) % 3, 3)


@pytest.mark.parametrize("pairs", [500, 100_000])
def test_a_fit_mends_wrong_predictions_by_the_edges(pairs: int) -> None:
    edges, community, _ = planted()
    predictions = with_mistakes(community, 0.3)
    config = BlockModelConfig(block_pairs=pairs, block_steps=300, anchor=0.2)
    model = fit_block_model(edges, predictions, config, torch.Generator().manual_seed(0))
    assert (predictions.argmax(dim=1) == community).double().mean() < 0.75
    assert (model.memberships.argmax(dim=1) == community).double().mean() > 0.97
    assert float(model.expected_edges()) == pytest.approx(edges.size(1), rel=0.05)


def test_a_fit_recovers_planted_probabilities() -> None:
    edges, community, truth = planted()
    config = BlockModelConfig(anchor=100.0)
    model = fit_block_model(
        edges, functional.one_hot(community), config, torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(model.strengths, truth.strengths, rtol=0.1, atol=0)
    torch.testing.assert_close(model.background, truth.background, rtol=0.15, atol=0)


def test_a_heavier_anchor_keeps_memberships_closer_to_the_predictions() -> None:
    edges, community, _ = planted()
    predictions = with_mistakes(community, 0.3)
    kept = []
    for anchor in (0.0, 1.0, 10.0):
        config = BlockModelConfig(anchor=anchor)
        model = fit_block_model(edges, predictions, config, torch.Generator().manual_seed(0))
        kept.append(float((model.memberships * predictions).sum(dim=1).mean()))
    assert kept[0] < kept[1] < kept[2]
    assert kept[2] > 0.9


def test_priors_draw_towards_the_middle() -> None:
    edges, community, _ = planted()
    predictions = functional.one_hot(community)

    def fit(**priors: Any) -> BlockModel:
        config = BlockModelConfig(anchor=1.0, **priors)
        return fit_block_model(edges, predictions, config, torch.Generator().manual_seed(0))

    flat, strong = fit(), fit(membership_prior=20.0, strength_prior=1e5)
    assert strong.memberships.max() < flat.memberships.max()
    assert (strong.strengths - 0.5).abs().max() < (flat.strengths - 0.5).abs().min()


def test_without_steps_the_model_is_the_first_one() -> None:
    edges, community, _ = planted()
    predictions = functional.one_hot(community)
    model = fit_block_model(
        edges, predictions, BlockModelConfig(block_steps=0), torch.Generator().manual_seed(0)
    )
    expected = initial_model(model.memberships, edges)
    torch.testing.assert_close(model.strengths, expected.strengths)
    torch.testing.assert_close(model.background, expected.background)
    assert (model.memberships * predictions).sum(dim=1).min() >= 0.99


def test_rows_of_predictions_are_scaled_to_sum_to_1() -> None:
    edges, _, _ = planted(60)
    predictions = torch.rand(60, 3, generator=torch.Generator().manual_seed(3)) + 0.1
    first, second = (
        fit_block_model(edges, p, BlockModelConfig(), torch.Generator().manual_seed(0))
        for p in (predictions, predictions * torch.linspace(0.2, 3, 60)[:, None])
    )
    torch.testing.assert_close(first.memberships, second.memberships, rtol=1e-3, atol=1e-4)


def test_communities_beyond_the_classes_start_small_and_may_grow() -> None:
    """Two classes, the second of which falls apart into two communities."""
    edges, community, _ = planted()
    predictions = functional.one_hot(community.clamp(max=1), 2)

    def fit(steps: int) -> BlockModel:
        config = BlockModelConfig(communities=3, anchor=0.0, block_steps=steps)
        return fit_block_model(edges, predictions, config, torch.Generator().manual_seed(0))

    first, last = fit(0), fit(300)
    assert first.memberships.shape == (300, 3)
    assert 0 < first.memberships[:, 2].max() < 0.02
    found = last.memberships.argmax(dim=1)
    parts = [found[community == c].mode().values.item() for c in range(3)]
    assert sorted(parts) == [0, 1, 2]


def test_fewer_communities_than_classes_are_refused() -> None:
    config = BlockModelConfig(communities=2)
    with pytest.raises(ConfigError, match=r"at least the number of classes \(3\), got 2"):
        config.num_communities(3)
    assert config.num_communities(2) == 2
    assert BlockModelConfig().num_communities(7) == 7


def test_large_steps_and_hopeless_predictions_stay_within_the_ranges(two_cliques: Data) -> None:
    edges = undirected_pairs(two_cliques.edge_index)
    config = BlockModelConfig(block_steps=400, block_learning_rate=1.0, anchor=0.0)
    for predictions in (functional.one_hot(two_cliques.y), torch.zeros(6, 2)):
        model = fit_block_model(edges, predictions, config, torch.Generator().manual_seed(0))
        for part in (model.memberships, model.strengths, model.background):
            assert bool(((part >= 0) & (part <= 1)).all())
        torch.testing.assert_close(model.memberships.sum(dim=1).float(), torch.ones(6))
        sample_graph(model, torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"communities": 0}, "communities must be at least 1, got 0"),
        ({"anchor": -1.0}, "anchor must be at least 0, got -1"),
        ({"membership_prior": -1.0}, "membership_prior must be at least 1, got -1"),
        ({"strength_prior": 0.5}, "strength_prior must be at least 1, got 0.5"),
        ({"block_pairs": 0}, "block_pairs must be at least 1, got 0"),
        ({"block_learning_rate": 0.0}, r"block_learning_rate must be in \(0, 1\], got 0"),
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BlockModelConfig(**setting)
