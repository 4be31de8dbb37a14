"""The controls: by chance, and by knowing every label."""

from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Data

from gaug import build_predictor
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.controls import OmniscientPredictor, RandomPredictor, hashed_uniform
from gaug.errors import DataError
from gaug.graph.homophily import edge_homophily


@pytest.fixture(scope="module")
def data() -> Data:
    return planted_graph(SyntheticConfig(num_nodes=100, degree=6.0))


def test_random_scores_are_uniform_and_symmetric() -> None:
    pairs = torch.triu_indices(300, 300, offset=1)
    scores = hashed_uniform(pairs, 300, 7)
    assert torch.equal(scores, hashed_uniform(pairs.flip(0), 300, 7))
    ordered = scores.double().sort().values
    steps = torch.arange(1, ordered.numel() + 1) / ordered.numel()
    # Kolmogorov-Smirnov: beyond 2 / sqrt(n) with a chance of less than one in a thousand.
    assert (ordered - steps).abs().max() < 2 / math.sqrt(ordered.numel())


def test_another_seed_gives_other_edges(data: Data) -> None:
    first = RandomPredictor().fit(data, 0).top_non_edges(50)
    second = RandomPredictor().fit(data, 1).top_non_edges(50)
    again = RandomPredictor().fit(data, 0).top_non_edges(50)
    assert torch.equal(first.pairs, again.pairs)
    assert not torch.equal(first.pairs, second.pairs)


def test_omniscient_additions_are_within_and_removals_between_classes(data: Data) -> None:
    fitted = OmniscientPredictor().fit(data)
    assert edge_homophily(fitted.top_non_edges(200).pairs, data.y) == 1
    assert edge_homophily(fitted.bottom_edges(50).pairs, data.y) == 0


def test_omniscient_without_labels_is_refused(data: Data) -> None:
    bare = Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
    with pytest.raises(DataError, match=r"needs one class per node in data\.y"):
        build_predictor("omniscient").fit(bare)
