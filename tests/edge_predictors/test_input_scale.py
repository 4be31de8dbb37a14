"""Standardized columns within a product, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from gaug.edge_predictors.input_scale import InputScale
from gaug.models.base import as_features


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_product_is_that_of_standardized_columns(sparse: bool, size: float) -> None:
    generator = torch.Generator().manual_seed(0)
    x = size * torch.rand(40, 7, generator=generator) + 5 * size * torch.arange(7)
    x[torch.rand(40, 7, generator=generator) < 0.6] = 0
    x[:, 3] = 2 * size  # does not vary
    x[:, 4] = 0
    weight = torch.randn(7, 3, generator=generator)
    features = as_features(x.to_sparse_csr() if sparse else x)
    expected = StandardScaler().fit_transform(x.double().numpy()) @ weight.double().numpy()
    found = InputScale.of(features).product(features, weight)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_another_graph_is_scaled_as_the_first() -> None:
    x = torch.tensor([[0.0, 4.0], [2.0, 8.0]])  # means 1 and 6, deviations 1 and 2
    scale = InputScale.of(x)
    other = torch.tensor([[3.0, 6.0]])
    assert scale.product(other, torch.eye(2)).tolist() == [[2.0, 0.0]]
