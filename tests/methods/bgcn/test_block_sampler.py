"""Graphs drawn from a block model: exact probabilities, memory of the edges only."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from gaug.errors import DataError
from gaug.methods.bgcn.block_model import BlockModel
from gaug.methods.bgcn.block_sampler import sample_graph

# The second community joins less than the background; the first and last almost always.
MODELS = {
    "mixed": BlockModel(
        torch.tensor(
            [[1.0, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0.2, 0.7, 0.1], [0, 0, 1], [0.3, 0.3, 0.4]]
        ),
        torch.tensor([0.97, 0.02, 0.6]),
        torch.tensor(0.15),
    ),
    "sparse": BlockModel(
        torch.tensor([[1.0, 0], [0.5, 0.5], [0.5, 0.5], [0, 1], [0, 1], [0.1, 0.9]]),
        torch.tensor([0.2, 0.1]),
        torch.tensor(0.01),
    ),
    "background above all": BlockModel(
        torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5], [0.5, 0.5]]),
        torch.tensor([0.1, 0.0]),
        torch.tensor(0.7),
    ),
}
DRAWS = 4000


@pytest.fixture(scope="module", params=MODELS)
def drawn(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor]:
    """Whether each pair is an edge in each draw [draws, pairs], and its probability [pairs]."""
    model = MODELS[request.param]
    generator = torch.Generator().manual_seed(0)
    pairs = torch.triu_indices(6, 6, offset=1)
    seen = torch.zeros(DRAWS, 6, 6, dtype=torch.float64)
    for draw in range(DRAWS):
        low, high = sample_graph(model, generator)
        seen[draw, low, high] = 1
    return seen[:, pairs[0], pairs[1]], model.edge_probabilities(pairs).double()


def test_each_pair_is_an_edge_with_its_probability(drawn: tuple[Tensor, Tensor]) -> None:
    """Within five standard deviations of the binomial."""
    seen, p = drawn
    assert bool(((seen.mean(dim=0) - p).abs() <= 5 * (p * (1 - p) / DRAWS).sqrt()).all())


def test_pairs_are_independent(drawn: tuple[Tensor, Tensor]) -> None:
    """Products of deviations average to 0 within five standard deviations."""
    seen, p = drawn
    deviation = seen - p
    covariance = deviation.t() @ deviation / DRAWS
    variance = p * (1 - p)
    bound = 5 * (variance[:, None] * variance[None, :] / DRAWS).sqrt()
    different = ~torch.eye(p.numel(), dtype=torch.bool)
    # The bound is for averages of bounded products, which rare edges make lumpy.
    assert bool((covariance.abs() <= bound + 25 / DRAWS)[different].all())


def block_model(num_nodes: int, communities: int, degree: float) -> BlockModel:
    """Mixed memberships, about nine tenths of the edges within communities."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.rand(num_nodes, communities, generator=generator) ** 8
    memberships = rows / rows.sum(dim=1, keepdim=True)
    strengths = torch.full((communities,), degree * communities / num_nodes)
    return BlockModel(memberships, strengths, torch.tensor(0.1 * degree / num_nodes))


def test_a_large_graph_is_drawn_without_all_its_pairs() -> None:
    """200,000 nodes have 20,000,000,000 pairs, more than any memory holds."""
    model = block_model(200_000, 10, degree=10.0)
    low, high = sample_graph(model, torch.Generator().manual_seed(0))
    expected = float(model.expected_edges())
    assert expected > 300_000
    assert abs(low.numel() - expected) < 5 * math.sqrt(expected)
    keys = low * 200_000 + high
    assert bool((low < high).all())
    assert bool((keys.diff() > 0).all())
    # The expected degree of a node is linear in its memberships.
    degree = torch.bincount(torch.cat([low, high]), minlength=200_000).double()
    excess = (model.strengths - model.background) * model.memberships.sum(dim=0)
    rate = (200_000 * model.background + model.memberships @ excess).double()
    busiest = rate.argsort(descending=True)[:50_000]
    assert float(degree[busiest].mean()) == pytest.approx(float(rate[busiest].mean()), rel=0.01)


def test_the_same_seed_draws_the_same_graph_and_the_next_draw_another() -> None:
    model = block_model(500, 4, degree=6.0)
    generator = torch.Generator().manual_seed(7)
    first, second = sample_graph(model, generator), sample_graph(model, generator)
    assert torch.equal(first, sample_graph(model, torch.Generator().manual_seed(7)))
    assert not torch.equal(first, second)


def test_who_is_no_member_gets_no_edge() -> None:
    memberships = torch.tensor([[0.0, 1.0]] * 3 + [[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 3)
    model = BlockModel(memberships, torch.tensor([0.999999, 0.0]), torch.tensor(0.0))
    for seed in range(20):
        edges = sample_graph(model, torch.Generator().manual_seed(seed))
        assert edges.t().tolist() == [[3, 4], [3, 5], [3, 6], [4, 5], [4, 6], [5, 6]]


def test_probabilities_of_zero_give_no_edges() -> None:
    model = BlockModel(torch.full((4, 2), 0.5), torch.zeros(2), torch.tensor(0.0))
    assert sample_graph(model, torch.Generator()).shape == (2, 0)


def test_a_probability_of_one_is_refused() -> None:
    model = BlockModel(torch.full((4, 2), 0.5), torch.tensor([0.5, 1.0]), torch.tensor(0.0))
    with pytest.raises(DataError, match="must be below 1, got 1"):
        sample_graph(model, torch.Generator())
