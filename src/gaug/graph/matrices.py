"""Adjacencies and features as SciPy and as PyTorch matrices, sparse where they are mostly zeros."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from gaug.errors import DataError
from gaug.graph.sparse import csr_tensor

#: Features with a smaller share of non-zeros than this are kept sparse. Products of them are faster
#: than dense ones up to more than this (``python -m benchmarks.density``), but with more than a
#: third, they take more memory.
SPARSE_BELOW = 0.3


def feature_density(x: Tensor) -> float:
    """Share of the features that are not zero."""
    if x.numel() == 0:
        return 0.0
    stored = x.values() if x.layout == torch.sparse_csr else x
    return int(torch.count_nonzero(stored)) / (x.size(0) * x.size(1))


def to_scipy(edge_index: Tensor, num_nodes: int) -> scipy.sparse.csr_matrix:
    """The adjacency as a SciPy matrix of ones."""
    row, col = edge_index.cpu().numpy()
    ones = np.ones(row.shape[0], dtype=np.float32)
    return scipy.sparse.csr_matrix((ones, (row, col)), shape=(num_nodes, num_nodes))


def to_scipy_features(x: Tensor) -> scipy.sparse.csr_matrix:
    """``torch.sparse_csr`` features as a SciPy matrix, without a copy."""
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return scipy.sparse.csr_matrix(parts, shape=(x.size(0), x.size(1)))


def from_scipy(matrix: scipy.sparse.csr_matrix) -> Tensor:
    """A SciPy matrix as ``torch.sparse_csr`` in float32, its columns sorted."""
    csr = matrix.copy()
    csr.sum_duplicates()
    return sparse_features(
        torch.from_numpy(csr.indptr.astype(np.int64)),
        torch.from_numpy(csr.indices.astype(np.int64)),
        torch.from_numpy(csr.data.astype(np.float32)),
        (csr.shape[0], csr.shape[1]),
    )


def sparse_features(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A ``torch.sparse_csr`` matrix from its parts, which are checked."""
    try:
        return csr_tensor(crow, col, values, shape, check=True)
    except RuntimeError as error:
        raise DataError(f"x is not a valid sparse matrix: {error}") from error


def compact_features(x: Tensor) -> Tensor:
    """Features as ``torch.sparse_csr`` if they are mostly zeros, else dense."""
    if x.layout == torch.strided and feature_density(x) < SPARSE_BELOW:
        return from_scipy(scipy.sparse.csr_matrix(x.cpu().numpy())).to(x.device)
    return x
