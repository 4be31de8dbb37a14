"""Smoothed features: against a plain dense computation, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfTransformer
from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.config import SmoothedFeaturesConfig
from gaug.edge_predictors.gae import GAE
from gaug.edge_predictors.smoothed import SmoothedFeatures
from gaug.graph.homophily import edge_homophily
from gaug.graph.matrices import to_scipy


def by_definition(data: Data, components: int, restart: float) -> np.ndarray:
    """Scores of all pairs from a full singular value decomposition and a matrix inverse."""
    num_nodes = int(data.num_nodes)
    rows = TfidfTransformer().fit_transform(data.x.to_dense().numpy()).toarray()
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    latent = left[:, :components] * values[:components]
    looped = to_scipy(data.edge_index, num_nodes).toarray() + np.eye(num_nodes)
    scale = np.diag(looped.sum(axis=1) ** -0.5)
    step = scale @ looped @ scale
    smooth = restart * np.linalg.inv(np.eye(num_nodes) - (1 - restart) * step) @ latent
    centered = smooth - smooth.mean(axis=0)
    unit = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize(("components", "restart"), [(5, 0.1), (12, 0.5), (3, 1.0)])
def test_scores_are_those_of_the_definition(components: int, restart: float) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=80, degree=5.0, num_features=30))
    config = SmoothedFeaturesConfig(components=components, restart=restart)
    rows = SmoothedFeatures(config).fit(data).score_rows(0, 80, 0)
    expected = by_definition(data, components, restart)
    np.testing.assert_allclose(rows.numpy(), expected, atol=1e-3)


def test_dense_features_score_as_sparse_ones() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, degree=5.0))
    pairs = torch.combinations(torch.arange(60)).t()
    sparse = SmoothedFeatures().fit(data).edge_logits(pairs)
    data.x = data.x.to_dense()
    torch.testing.assert_close(SmoothedFeatures().fit(data).edge_logits(pairs), sparse)


@pytest.mark.parametrize("num_nodes", [2, 3])
def test_tiny_graphs_and_nodes_without_features_have_finite_scores(num_nodes: int) -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    for x in (torch.zeros(num_nodes, 4), torch.eye(num_nodes, 4)):
        predictor = SmoothedFeatures().fit(Data(x=x, edge_index=edges, num_nodes=num_nodes))
        assert bool(torch.isfinite(predictor.score_rows(0, num_nodes, 0)).all())


def test_the_same_graph_gives_the_same_scores_to_the_bit() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=150, degree=5.0))
    first, second = SmoothedFeatures(), SmoothedFeatures()
    first.fit(data)
    second.fit(data)
    assert torch.equal(first.embeddings_, second.embeddings_)


@pytest.mark.real
def test_on_cora_its_best_pairs_join_one_class_far_oftener_than_a_gae_s(data_root) -> None:
    data = load_graph("cora", data_root)
    count = data.num_edges // 2
    smoothed, gae = (
        edge_homophily(predictor.fit(data).top_non_edges(count).pairs, data.y)
        for predictor in (SmoothedFeatures(), GAE())
    )
    assert smoothed is not None
    assert gae is not None
    assert smoothed > 0.93
    assert smoothed > gae + 0.1
