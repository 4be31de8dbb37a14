"""Scores by distance, against SciPy."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from gaug.pairs.distance import DistanceScores


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 50), st.floats(0.01, 100))
def test_scores_are_minus_squared_distances(
    num_nodes: int, width: int, seed: int, size: float
) -> None:
    embeddings = torch.randn(num_nodes, width, generator=torch.Generator().manual_seed(seed)) * size
    scores = DistanceScores(embeddings)
    expected = -cdist(embeddings.double(), embeddings.double(), "sqeuclidean")
    table = torch.stack(
        [
            scores.edge_logits(torch.stack([torch.full((num_nodes,), u), torch.arange(num_nodes)]))
            for u in range(num_nodes)
        ]
    )
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-6)
    assert torch.equal(table, table.t())
    assert bool((table.diagonal() == 0).all())
    start, first = num_nodes // 3, num_nodes // 2
    rows = scores.score_rows(start, num_nodes, first)
    assert float((rows - table[start:, first:]).abs().max()) <= scores.slack
