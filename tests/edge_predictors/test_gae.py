"""GAE and VGAE learn which pairs are joined."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch.distributions import Normal
from torch.distributions import kl_divergence as torch_kl
from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.config import GAEConfig, VGAEConfig
from gaug.edge_predictors.evaluation import evaluate_links, random_pairs, roc_auc
from gaug.edge_predictors.gae import GAE, VGAE, kl_divergence, train_autoencoder
from gaug.errors import ConfigError, TrainingError
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_homophily
from gaug.pairs.inner_product import InnerProductScores

KINDS: dict[str, tuple[type[GAE], type[GAEConfig]]] = {
    "gae": (GAE, GAEConfig),
    "vgae": (VGAE, VGAEConfig),
}


def fit(predictor: GAE, data: Data, seed: int = 0) -> GAE:
    predictor.fit(data, seed)
    return predictor


@pytest.fixture(scope="module")
def data() -> Data:
    return planted_graph(SyntheticConfig(num_nodes=200, degree=10.0, homophily=0.9))


@pytest.mark.parametrize("kind", KINDS)
def test_held_out_edges_outscore_random_pairs(kind: str, data: Data) -> None:
    predictor, config = KINDS[kind]
    links = evaluate_links(predictor(config(predictor_epochs=100)), data)
    assert links.auc > 0.7
    assert links.average_precision > 0.65


@pytest.mark.parametrize("kind", KINDS)
def test_additions_join_classes_that_were_never_shown(kind: str, data: Data) -> None:
    predictor, config = KINDS[kind]
    fitted = predictor(config(predictor_epochs=100)).fit(data)
    added = edge_homophily(fitted.top_non_edges(300).pairs, data.y)
    removed = edge_homophily(fitted.bottom_edges(100).pairs, data.y)
    assert added is not None
    assert removed is not None
    assert added > 0.7  # a quarter by chance
    assert removed < 0.85  # nine in ten by chance


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_embeddings(kind: str, data: Data) -> None:
    predictor, config = KINDS[kind]
    settings = config(predictor_epochs=20)
    first, second, other = (fit(predictor(settings), data, seed) for seed in (5, 5, 6))
    assert torch.equal(first.embeddings_, second.embeddings_)
    assert not torch.equal(first.embeddings_, other.embeddings_)


@pytest.mark.parametrize("form", ["dense", "exact"])
def test_dense_and_exact_losses_learn_the_same(form: str, data: Data) -> None:
    reference = fit(GAE(GAEConfig(predictor_epochs=10, edge_loss="dense")), data)
    fitted = fit(GAE(GAEConfig(predictor_epochs=10, edge_loss=form)), data)
    torch.testing.assert_close(fitted.embeddings_, reference.embeddings_, rtol=1e-3, atol=1e-4)


def test_the_sampled_loss_learns_too(data: Data) -> None:
    links = evaluate_links(GAE(GAEConfig(edge_loss="sampled", predictor_epochs=100)), data)
    assert links.auc > 0.7


def test_held_out_edges_take_no_part_in_training(data: Data) -> None:
    fitted = GAE(GAEConfig(predictor_epochs=20, holdout_fraction=0.2)).fit(data)
    assert fitted.edges_.size(1) == data.num_edges // 2  # ranking still knows them as edges
    added = {tuple(pair) for pair in fitted.top_non_edges(500).pairs.t().tolist()}
    assert not added & {tuple(pair) for pair in fitted.edges_.t().tolist()}


def test_the_divergence_is_that_of_torch_distributions() -> None:
    mean, log_deviation = torch.randn(5, 3), torch.randn(5, 3)
    posterior = Normal(mean, log_deviation.exp())
    prior = Normal(torch.zeros(5, 3), torch.ones(5, 3))
    expected = torch_kl(posterior, prior).sum()
    torch.testing.assert_close(kl_divergence(mean, log_deviation), expected)


def test_the_logit_is_the_inner_product_of_the_embeddings(data: Data) -> None:
    fitted = fit(GAE(GAEConfig(predictor_epochs=5)), data)
    z = fitted.embeddings_
    pairs = torch.tensor([[0, 3], [7, 3]])
    expected = torch.stack([z[0] @ z[7], z[3] @ z[3]])
    torch.testing.assert_close(fitted.edge_logits(pairs), expected)


def test_a_loss_that_explodes_is_an_error_with_the_epoch(data: Data) -> None:
    config = GAEConfig(predictor_learning_rate=1e30, predictor_epochs=20)
    with pytest.raises(TrainingError, match=r"loss became .* in epoch"):
        GAE(config).fit(data)


@pytest.mark.real
def test_on_cora_learned_additions_stay_within_a_class() -> None:
    data = load_graph("cora")
    fitted = GAE(GAEConfig(predictor_epochs=60)).fit(data)
    added = edge_homophily(fitted.top_non_edges(2000).pairs, data.y)
    assert added is not None
    assert added > 0.5  # 0.18 by chance


@pytest.mark.parametrize("config_type", [GAEConfig, VGAEConfig])
def test_a_mini_batch_of_the_whole_graph_is_full_batch_training(
    config_type: type[GAEConfig],
) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=80, num_classes=2, degree=10.0))
    plain = config_type(predictor_epochs=10)
    batched = dataclasses.replace(plain, predictor_batch_size=80)
    first, _ = train_autoencoder(data, plain, 0)
    second, _ = train_autoencoder(data, batched, 0)
    torch.testing.assert_close(first, second)


@pytest.mark.parametrize("config_type", [GAEConfig, VGAEConfig])
@pytest.mark.parametrize("edge_loss", ["exact", "sampled"])
def test_mini_batches_learn_to_tell_edges_from_other_pairs(
    config_type: type[GAEConfig], edge_loss: str
) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=600, num_classes=6, degree=10.0, homophily=0.95))
    config = config_type(
        predictor_epochs=12, predictor_batch_size=50, predictor_fanout=5, edge_loss=edge_loss
    )
    embeddings, _ = train_autoencoder(data, config, 0)
    scores = InnerProductScores(embeddings)
    edges = undirected_pairs(data.edge_index)
    others = random_pairs(600, edges.size(1), torch.Generator().manual_seed(1))
    assert roc_auc(scores.edge_logits(edges), scores.edge_logits(others)) > 0.75
    again, _ = train_autoencoder(data, config, 0)
    assert torch.equal(embeddings, again)


def test_a_fanout_without_batches_is_refused() -> None:
    with pytest.raises(ConfigError, match="predictor_fanout=5 is a setting of mini-batches"):
        GAEConfig(predictor_fanout=5)


def test_a_batch_larger_than_the_graph_is_refused() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=80, num_classes=2, degree=10.0))
    with pytest.raises(ConfigError, match="at most the number of nodes, 80, got 81"):
        train_autoencoder(data, GAEConfig(predictor_batch_size=81), 0)
