"""Scores of link prediction, against scikit-learn."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.evaluation import (
    average_precision,
    evaluate_links,
    hold_out_edges,
    roc_auc,
)
from gaug.edge_predictors.local_indices import Jaccard
from gaug.errors import DataError
from gaug.graph.edges import undirected_pairs

scores = st.lists(st.integers(0, 5), min_size=1, max_size=30).map(
    lambda values: torch.tensor(values, dtype=torch.float32)
)


@given(scores, scores)
def test_auc_and_average_precision_are_sklearns(
    positive: torch.Tensor, negative: torch.Tensor
) -> None:
    truth = [1] * positive.numel() + [0] * negative.numel()
    both = torch.cat([positive, negative])
    assert roc_auc(positive, negative) == pytest.approx(roc_auc_score(truth, both))
    expected = average_precision_score(truth, both)
    assert average_precision(positive, negative) == pytest.approx(expected)


def test_held_out_edges_and_the_rest_are_the_graph() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=50, num_classes=2, degree=6.0))
    kept, held_out = hold_out_edges(data, 0.2, torch.Generator().manual_seed(0))
    parts = torch.cat([undirected_pairs(kept.edge_index), held_out], dim=1)
    assert held_out.size(1) == 30
    assert {tuple(pair) for pair in parts.t().tolist()} == {
        tuple(pair) for pair in undirected_pairs(data.edge_index).t().tolist()
    }


def test_common_neighbors_predict_held_out_edges_of_a_clustered_graph() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=120, degree=12.0, homophily=1.0))
    assert evaluate_links(Jaccard(), data).auc > 0.6


def test_a_share_out_of_range_is_refused() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=50, num_classes=2, degree=6.0))
    with pytest.raises(DataError, match=r"holdout_fraction must be in \(0, 0.5\], got 0"):
        evaluate_links(Jaccard(), data, holdout_fraction=0)
