"""Places in the graph: against NetworkX, and what they are for."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from gaug.data.catalog.loading import load_graph
from gaug.edge_predictors.config import StructuralSimilarityConfig
from gaug.edge_predictors.gae import GAE
from gaug.edge_predictors.structural import StructuralSimilarity, recursive_features
from gaug.graph.homophily import edge_homophily
from gaug.graph.matrices import to_scipy
from tests.tie_hash import tie_hash


def by_definition(graph: networkx.Graph, depth: int) -> np.ndarray:
    """Features one node and one neighbor at a time."""
    triangles = networkx.triangles(graph)
    assert isinstance(triangles, dict)
    level = {node: np.log1p([graph.degree[node], triangles[node]]).astype(float) for node in graph}
    levels = [level]
    for _ in range(depth):
        before = levels[-1]
        levels.append(
            {
                node: np.mean([before[other] for other in graph[node]], axis=0)
                if graph.degree[node]
                else np.zeros(2)
                for node in graph
            }
        )
    return np.array([np.concatenate([level[node] for level in levels]) for node in graph])


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_features_and_scores_are_those_of_the_definition(depth: int) -> None:
    graph: networkx.Graph = networkx.Graph()
    graph.add_nodes_from(range(35))  # the last one alone
    graph.add_edges_from(networkx.karate_club_graph().edges)
    data = from_networkx(graph)
    expected = by_definition(graph, depth)
    np.testing.assert_allclose(
        recursive_features(to_scipy(data.edge_index, 35), depth), expected, rtol=1e-12
    )
    unit = (expected - expected.mean(axis=0)) / expected.std(axis=0)
    predictor = StructuralSimilarity(StructuralSimilarityConfig(depth=depth)).fit(data)
    pairs = torch.combinations(torch.arange(35)).t()
    scores = -np.square(unit[pairs[0]] - unit[pairs[1]]).sum(axis=1)
    np.testing.assert_allclose(predictor.edge_logits(pairs), scores, rtol=1e-4, atol=1e-6)


def test_ends_of_a_path_are_alike_and_far_apart() -> None:
    data = Data(edge_index=from_networkx(networkx.path_graph(9)).edge_index, num_nodes=9)
    best = StructuralSimilarity().fit(data).top_non_edges(8)
    # The two ends, the two next to them, and those of the five in the middle that are not joined.
    alike = [(0, 8), (1, 7), (2, 4), (2, 5), (2, 6), (3, 5), (3, 6), (4, 6)]
    assert [tuple(pair) for pair in best.pairs.t().tolist()] == sorted(alike, key=tie_hash)
    scores = StructuralSimilarity().fit(data).edge_logits(torch.tensor([[0, 0], [8, 4]]))
    assert float(scores[0]) == 0 > float(scores[1])


def test_where_all_places_are_alike_so_are_all_scores() -> None:
    data = Data(edge_index=from_networkx(networkx.cycle_graph(6)).edge_index, num_nodes=6)
    predictor = StructuralSimilarity().fit(data)
    assert bool((predictor.score_rows(0, 6, 0) == 0).all())


@pytest.mark.real
def test_on_air_traffic_every_airport_s_likes_are_of_its_class_more_often_than_a_gae_s() -> None:
    data = load_graph("air-usa")
    structural, gae = (
        edge_homophily(predictor.fit(data).top_non_edges(4000, per_node=True).pairs, data.y)
        for predictor in (StructuralSimilarity(), GAE())
    )
    assert structural is not None
    assert gae is not None
    assert structural > gae + 0.1
