"""Feature similarity, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import cosine_similarity
from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.edge_predictors.config import FeatureSimilarityConfig
from gaug.edge_predictors.features import FeatureSimilarity
from gaug.graph.homophily import edge_homophily
from gaug.graph.valid import standardize


def graph_with(x: torch.Tensor) -> Data:
    edge_index = torch.tensor([[0], [1]])
    return standardize(Data(x=x, edge_index=edge_index))[0]


def features(seed: int, density: float) -> torch.Tensor:
    generator = np.random.default_rng(seed)
    counts = generator.integers(1, 4, (12, 20)) * (generator.random((12, 20)) < density)
    return torch.from_numpy(counts.astype(np.float32))


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.6]), st.sampled_from(["raw", "tfidf"]))
def test_scores_are_sklearns_cosines(seed: int, density: float, weighting: str) -> None:
    x = features(seed, density)
    fitted = FeatureSimilarity(FeatureSimilarityConfig(weighting=weighting)).fit(graph_with(x))
    counts = x.numpy()
    if weighting == "tfidf":
        counts = TfidfTransformer(smooth_idf=True, norm=None).fit_transform(counts).toarray()
    expected = cosine_similarity(counts)
    pairs = torch.cartesian_prod(torch.arange(12), torch.arange(12)).t()
    actual = fitted.edge_logits(pairs).view(12, 12)
    np.testing.assert_allclose(actual, expected, atol=1e-6)
    np.testing.assert_allclose(fitted.score_rows(0, 12, 0), expected, atol=1e-6)


@given(st.integers(0, 10_000), st.integers(0, 10), st.integers(0, 11))
def test_sparse_rows_and_pairs_agree_to_the_bit(seed: int, start: int, first: int) -> None:
    fitted = FeatureSimilarity().fit(graph_with(features(seed, 0.1)))
    rows = fitted.score_rows(start, start + 2, first)
    pairs = torch.cartesian_prod(torch.arange(start, start + 2), torch.arange(first, 12)).t()
    assert torch.equal(fitted.edge_logits(pairs).view_as(rows), rows)
    assert torch.equal(fitted.edge_logits(pairs.flip(0)), fitted.edge_logits(pairs))


def test_a_node_without_features_is_similar_to_none() -> None:
    x = features(0, 0.1)
    x[3] = 0
    fitted = FeatureSimilarity().fit(graph_with(x))
    assert fitted.score_rows(3, 4, 0).abs().sum() == 0


@pytest.mark.real
@pytest.mark.parametrize(("graph", "share"), [("blogcatalog", 0.5), ("flickr", 0.4)])
def test_on_social_graphs_features_join_classes_better_than_edges(graph: str, share: float) -> None:
    data = load_graph(graph)
    added = FeatureSimilarity().fit(data).top_non_edges(20_000, per_node=True)
    of_added, of_edges = (edge_homophily(pairs, data.y) for pairs in (added.pairs, data.edge_index))
    assert of_added is not None
    assert of_edges is not None
    assert of_added > share + 0.1
    assert of_edges < share
