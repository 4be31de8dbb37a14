"""The one sparse product, against dense algebra and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaug.graph.sparse import Pattern, SparseMatrix, sampled_products, spmm


def random_matrix(
    rows: int, cols: int, density: float, seed: int
) -> tuple[SparseMatrix, np.ndarray]:
    matrix = scipy.sparse.random(
        rows, cols, density, "coo", np.float64, np.random.default_rng(seed)
    ).tocsr()
    pattern = Pattern(
        torch.from_numpy(matrix.indptr.astype(np.int64)),
        torch.from_numpy(matrix.indices.astype(np.int64)),
        cols,
    )
    return SparseMatrix(pattern, torch.from_numpy(matrix.data)), matrix.toarray()


matrices = st.builds(
    random_matrix,
    st.integers(1, 8),
    st.integers(1, 8),
    st.floats(0, 1),
    st.integers(0, 10_000),
)


@given(matrices, st.integers(1, 5))
def test_product_equals_dense_product(pair: tuple[SparseMatrix, np.ndarray], width: int) -> None:
    sparse, dense = pair
    right = torch.randn(dense.shape[1], width, dtype=torch.float64)
    expected = dense @ right.numpy()
    np.testing.assert_allclose((sparse @ right).numpy(), expected, atol=1e-12)


@given(matrices)
def test_transpose_equals_dense_transpose(pair: tuple[SparseMatrix, np.ndarray]) -> None:
    sparse, dense = pair
    pattern = sparse.pattern
    flipped = SparseMatrix(pattern.transpose, sparse.values[pattern.transpose_order])
    eye = torch.eye(dense.shape[0], dtype=torch.float64)
    np.testing.assert_allclose((flipped @ eye).numpy(), dense.T, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_of_both_factors_match_finite_differences(seed: int) -> None:
    sparse, dense = random_matrix(6, 4, 0.4, seed)
    values = sparse.values.clone().requires_grad_()
    right = torch.randn(dense.shape[1], 3, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda v, b: spmm(sparse.pattern, v, b), (values, right))


def test_given_transposed_values_are_used_for_the_gradient() -> None:
    sparse, dense = random_matrix(5, 4, 0.5, 0)
    transposed = sparse.values[sparse.pattern.transpose_order]
    right = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(5, 2, dtype=torch.float64)
    (spmm(sparse.pattern, sparse.values, right, transposed) * weights).sum().backward()
    assert right.grad is not None
    np.testing.assert_allclose(right.grad.numpy(), dense.T @ weights.numpy(), atol=1e-12)


def test_repeated_products_have_the_gradient_of_their_own_values() -> None:
    sparse, dense = random_matrix(5, 4, 0.5, 0)
    weights = torch.randn(5, 2, dtype=torch.float64)
    for scale in (1.0, 1.0, 3.0):
        matrix = sparse if scale == 1.0 else sparse.with_values(scale * sparse.values)
        right = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
        ((matrix @ right) * weights).sum().backward()
        assert right.grad is not None
        expected = scale * dense.T @ weights.numpy()
        np.testing.assert_allclose(right.grad.numpy(), expected, atol=1e-12)


@given(matrices, st.integers(1, 3))
def test_repeat_is_block_diagonal(pair: tuple[SparseMatrix, np.ndarray], times: int) -> None:
    sparse, dense = pair
    repeated = SparseMatrix(sparse.pattern.repeat(times), sparse.values.repeat(times))
    expected = scipy.sparse.block_diag([dense] * times).toarray()
    eye = torch.eye(times * dense.shape[1], dtype=torch.float64)
    np.testing.assert_allclose((repeated @ eye).numpy(), expected, atol=1e-12)


@given(matrices, st.integers(0, 1000))
def test_select_keeps_exactly_the_chosen_entries(
    pair: tuple[SparseMatrix, np.ndarray], seed: int
) -> None:
    sparse, dense = pair
    keep = torch.from_numpy(np.random.default_rng(seed).random(sparse.pattern.nnz) < 0.5)
    kept = SparseMatrix(sparse.pattern.select(keep), sparse.values[keep])
    expected = np.zeros_like(dense)
    row, col = sparse.pattern.row[keep], sparse.pattern.col[keep]
    expected[row, col] = sparse.values[keep]
    eye = torch.eye(dense.shape[1], dtype=torch.float64)
    np.testing.assert_allclose((kept @ eye).numpy(), expected, atol=1e-12)


def test_sampled_products_are_the_inner_products_at_the_entries() -> None:
    sparse, _ = random_matrix(6, 5, 0.5, 1)
    left, right = torch.randn(6, 7), torch.randn(5, 7)
    full = left @ right.t()
    expected = full[sparse.pattern.row, sparse.pattern.col]
    torch.testing.assert_close(sampled_products(sparse.pattern, left, right), expected)


def test_an_empty_matrix_gives_zeros() -> None:
    pattern = Pattern(torch.zeros(4, dtype=torch.long), torch.empty(0, dtype=torch.long), 2)
    product = SparseMatrix(pattern, torch.empty(0)) @ torch.ones(2, 3)
    assert torch.equal(product, torch.zeros(3, 3))


def test_a_torch_matrix_survives_the_round_trip_without_a_copy() -> None:
    matrix = torch.eye(3).to_sparse_csr()
    taken = SparseMatrix.from_torch(matrix)
    assert taken.values.data_ptr() == matrix.values().data_ptr()
    assert torch.equal(taken.to_torch().to_dense(), torch.eye(3))
