"""GAug-O's edge predictor against its formula."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence
from torch_geometric.data import Data

from gaug.edge_predictors.edge_loss import edge_loss
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.edge_encoder import EdgeEncoder


@pytest.fixture(autouse=True)
def _fixed_weights() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def twice_smoothed(data: Data) -> Tensor:
    """The square of the GCN's normalized adjacency.  [N, N]"""
    num_nodes = int(data.num_nodes)
    looped = torch.eye(num_nodes)
    looped[data.edge_index[0], data.edge_index[1]] = 1
    scale = looped.sum(dim=1).rsqrt()
    normalized = scale[:, None] * looped * scale[None, :]
    return normalized @ normalized


@pytest.mark.parametrize("rectified", [True, False])
def test_embeddings_are_two_linear_convolutions_without_bias(
    two_cliques: Data, rectified: bool
) -> None:
    encoder = EdgeEncoder(4, 5, 3, rectified=rectified, variational=False)
    expected = twice_smoothed(two_cliques) @ two_cliques.x @ encoder.first
    expected = expected @ encoder.mean
    if rectified:
        expected = expected.clamp(min=0)
    z, divergence = encoder(two_cliques.x, Adjacency.of(two_cliques))
    torch.testing.assert_close(z, expected)
    assert divergence == 0
    assert bool((expected < 0).any()) != rectified


def test_a_variational_encoder_draws_around_its_means_in_training_alone(two_cliques: Data) -> None:
    encoder = EdgeEncoder(4, 5, 3, rectified=False, variational=True)
    assert encoder.log_deviation is not None
    adjacency = Adjacency.of(two_cliques)
    smoothed = twice_smoothed(two_cliques) @ two_cliques.x @ encoder.first
    mean = smoothed @ encoder.mean
    deviation = (smoothed @ encoder.log_deviation).exp()
    with torch.no_grad():
        torch.testing.assert_close(encoder.eval()(two_cliques.x, adjacency).z, mean)
        encoder.train()
        draws = torch.stack([encoder(two_cliques.x, adjacency).z for _ in range(2000)])
    standardized = (draws - mean) / deviation
    # 18 entries, each a mean of 2000: within 5 standard errors but once in 100,000.
    assert standardized.mean(dim=0).abs().max() < 5 / 2000**0.5
    assert (standardized.var(dim=0) - 1).abs().max() < 5 * (2 / 2000) ** 0.5


def test_the_loss_is_the_edge_loss_and_for_vgae_the_divergence_from_the_prior(
    two_cliques: Data,
) -> None:
    adjacency = Adjacency.of(two_cliques)
    for variational, form in itertools.product((False, True), ("exact", "dense")):
        encoder = EdgeEncoder(4, 5, 3, rectified=True, variational=variational, loss_form=form)
        embedding = encoder(two_cliques.x, adjacency)
        expected = edge_loss(embedding.z, adjacency, "dense")
        if encoder.log_deviation is not None:
            smoothed = twice_smoothed(two_cliques) @ two_cliques.x @ encoder.first
            mean, log_deviation = (
                smoothed @ weight for weight in (encoder.mean, encoder.log_deviation)
            )
            log_deviation = log_deviation - 2  # of rectified embeddings
            prior = Normal(torch.zeros(6, 3), torch.ones(6, 3))
            expected += kl_divergence(Normal(mean, log_deviation.exp()), prior).sum() / 36
        torch.testing.assert_close(encoder.loss(embedding, adjacency), expected)
