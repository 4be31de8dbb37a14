"""Sums of predictors."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaug import CombinedPredictor, build_predictor
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.config import GAEConfig
from gaug.edge_predictors.features import FeatureSimilarity
from gaug.edge_predictors.gae import GAE
from gaug.edge_predictors.local_indices import Jaccard
from gaug.edge_predictors.terms import parse_predictor
from gaug.errors import ConfigError
from tests.tie_hash import tie_hash


@pytest.fixture(scope="module")
def data() -> Data:
    return planted_graph(SyntheticConfig(num_nodes=60, degree=6.0))


@pytest.mark.parametrize("scale", ["standardized", "ranks"])
def test_one_part_alone_keeps_its_ranking(scale: str, data: Data) -> None:
    alone = Jaccard().fit(data)
    combined = CombinedPredictor([Jaccard()], scale=scale).fit(data)
    assert torch.equal(combined.top_non_edges(50).pairs, alone.top_non_edges(50).pairs)


def test_a_standardized_sum_is_linear_in_each_part_and_its_weight(data: Data) -> None:
    combined = CombinedPredictor([Jaccard(), FeatureSimilarity()], [1.0, 3.0])
    combined.fit(data)
    pairs = FeatureSimilarity().fit(data).top_non_edges(600).pairs[:, [0, 100, 599]]
    parts = [predictor.edge_logits(pairs) for predictor in combined.predictors]
    total = combined.edge_logits(pairs)
    # The sum is affine in each part: three times the weight, three times the slope.
    other = CombinedPredictor([Jaccard(), FeatureSimilarity()], [1.0, 1.0]).fit(data)
    difference = (total - other.edge_logits(pairs)) / 2
    slope = (difference[1] - difference[0]) / (parts[1][1] - parts[1][0])
    torch.testing.assert_close(difference[2] - difference[0], slope * (parts[1][2] - parts[1][0]))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 50), st.sampled_from(["standardized", "ranks"]))
def test_a_sum_with_rounded_rows_is_ranked_exactly(seed: int, scale: str) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=30, num_classes=2, degree=4.0, seed=seed))
    parts = [GAE(GAEConfig(predictor_epochs=3)), Jaccard()]
    combined = CombinedPredictor(parts, scale=scale).fit(data, seed)
    edges = {tuple(pair) for pair in combined.edges_.t().tolist()}
    free = [(u, v) for u in range(30) for v in range(u + 1, 30) if (u, v) not in edges]
    scores = combined.edge_logits(torch.tensor(free).t()).tolist()
    place = {pair: (-score, tie_hash(pair)) for pair, score in zip(free, scores, strict=True)}
    expected = sorted(free, key=place.__getitem__)[:40]
    assert [tuple(pair) for pair in combined.top_non_edges(40).pairs.t().tolist()] == expected


def test_names_and_weights_are_read() -> None:
    assert parse_predictor("gae + 0.5*features") == {"gae": 1.0, "features": 0.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gea", r"Unknown predictor 'gea'. Choose from: car, features, gae"),
        ("gae+gae", "appears twice"),
        ("x*gae", "must be a number, got 'x'"),
        ("", "Unknown predictor ''"),
    ],
)
def test_what_is_not_a_sum_of_predictors_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_predictor(text)


def test_weights_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="must be above 0"):
        build_predictor("gae+-1*features")


def test_fitting_tells_how_far_it_is() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=40, degree=4.0))
    told: list[float] = []
    build_predictor("gae+vgae", {"gae": GAEConfig(predictor_epochs=4)}).fit(
        data, on_share=told.append
    )
    assert told == sorted(told)
    assert told[3] == 0.5  # the first of two is done
    assert told[-1] == 1.0
