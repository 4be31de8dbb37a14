from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler, normalize
from torch_geometric.data import Data

from gaug.data.config import SCALINGS, DataConfig
from gaug.data.scaling import scale_features, with_scaled_features
from gaug.errors import ConfigError

# Whole numbers, so that no oracle has to guess whether a column is constant.
MATRICES = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6),
    elements=st.integers(-4, 4).map(float),
)


def test_rows_are_divided_by_their_sum():
    x = torch.tensor([[1.0, 3.0], [0.0, 5.0]])
    assert scale_features(x, "rows").tolist() == [[0.25, 0.75], [0.0, 1.0]]


def test_columns_get_mean_zero_and_deviation_one():
    x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    assert scale_features(x, "columns").tolist() == [[-1.0, -1.0], [1.0, 1.0]]


@pytest.mark.parametrize("scaling", ["rows", "columns"])
def test_nothing_to_scale_by_leaves_zeros(scaling):
    assert scale_features(torch.zeros(3, 2), scaling).tolist() == [[0.0, 0.0]] * 3


def test_a_constant_column_becomes_zero():
    assert scale_features(torch.full((3, 1), 7.0), "columns").tolist() == [[0.0]] * 3


@given(MATRICES)
def test_rows_are_those_of_scikit_learn(matrix):
    scaled = scale_features(torch.from_numpy(matrix), "rows")
    np.testing.assert_allclose(scaled.numpy(), normalize(matrix, norm="l1"), rtol=1e-6)


@given(MATRICES)
def test_columns_are_those_of_scikit_learn(matrix):
    scaled = scale_features(torch.from_numpy(matrix), "columns")
    expected = StandardScaler().fit_transform(matrix.astype(np.float64))
    np.testing.assert_allclose(scaled.numpy(), expected, rtol=1e-5, atol=1e-6)


@given(MATRICES)
def test_sparse_rows_stay_sparse_and_equal_the_dense_ones(matrix):
    dense = torch.from_numpy(matrix)
    sparse = scale_features(dense.to_sparse_csr(), "rows")
    assert sparse.layout == torch.sparse_csr
    assert sparse.values().numel() == torch.count_nonzero(dense)
    torch.testing.assert_close(sparse.to_dense(), scale_features(dense, "rows"))


@given(MATRICES)
def test_sparse_columns_equal_the_dense_ones(matrix):
    dense = torch.from_numpy(matrix)
    from_sparse = scale_features(dense.to_sparse_csr(), "columns")
    assert torch.equal(from_sparse, scale_features(dense, "columns"))


@given(MATRICES, st.sampled_from(SCALINGS), st.booleans())
def test_the_input_is_untouched(matrix, scaling, sparse):
    x = torch.from_numpy(matrix.copy())
    x = x.to_sparse_csr() if sparse else x
    scale_features(x, scaling)
    assert np.array_equal(x.to_dense().numpy(), matrix)


@pytest.mark.parametrize("sparse", [False, True])
def test_as_is_gives_the_same_features(sparse):
    x = torch.tensor([[1.0, -3.0], [0.0, 5.0]])
    x = x.to_sparse_csr() if sparse else x
    assert scale_features(x, "as-is") is x


@pytest.mark.parametrize("scaling", ["rows", "columns"])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_stay_in_single_precision(scaling, sparse):
    x = torch.tensor([[1.0, 3.0], [0.0, 5.0]])
    scaled = scale_features(x.to_sparse_csr() if sparse else x, scaling)
    assert scaled.dtype == torch.float32


def test_an_unknown_scaling_is_refused_with_the_known_ones():
    message = (
        r"^Unknown feature_scaling 'row'\. Choose from: as-is, columns, rows\. Did you mean 'rows'"
    )
    with pytest.raises(ConfigError, match=message):
        scale_features(torch.ones(1, 1), "row")


def test_the_setting_takes_every_scaling_and_the_default_and_nothing_else():
    for name in ("default", *SCALINGS):
        assert DataConfig(feature_scaling=name).feature_scaling == name
    with pytest.raises(ConfigError, match=r"^Unknown feature_scaling 'row'"):
        DataConfig(feature_scaling="row")


def test_a_graph_remembers_what_its_columns_were_scaled_by() -> None:
    data = Data(x=torch.tensor([[1.0, 10.0], [3.0, 10.0]]), num_nodes=2)
    scaled = with_scaled_features(data, "columns")
    assert scaled.x.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert scaled.feature_statistics.tolist() == [[2.0, 10.0], [1.0, 1.0]]
    assert data.x.tolist() == [[1.0, 10.0], [3.0, 10.0]]
    again = with_scaled_features(scaled, "columns")
    assert torch.equal(again.x, scaled.x)
    assert torch.equal(again.feature_statistics, scaled.feature_statistics)
    assert "feature_statistics" not in with_scaled_features(data, "rows")
