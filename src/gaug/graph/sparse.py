"""Sparse matrices that are laid out once and multiplied many times.

A GNN multiplies by the same two sparse matrices in every epoch: its features and its adjacency.
The forward pass needs their rows, the backward pass their columns. A `Pattern` holds both layouts,
each made once, and `spmm` is the one product, differentiable in both factors.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from gaug.graph.caching import cached_with_gradient


def csr_tensor(
    crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int], *, check: bool = False
) -> Tensor:
    """A ``torch.sparse_csr`` matrix from its parts.

    PyTorch warns once per process that such tensors are in beta; the user cannot act on that.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, values, size=shape, check_invariants=check)


def to_csr(matrix: Tensor) -> Tensor:
    """A sparse tensor of another layout as ``torch.sparse_csr``; a dense one as it is."""
    if matrix.layout in (torch.strided, torch.sparse_csr):
        return matrix
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return matrix.to_sparse_csr()


class Pattern:
    """Where the entries of a sparse matrix are: compressed rows, and on demand compressed columns.

    Args:
        crow: Start of each row in ``col``, and the end of the last one.  [rows + 1]
        col: Column of each entry, row by row.  [nnz]
        num_cols: Number of columns.
        symmetric: Whether (i, j) is present whenever (j, i) is.
    """

    def __init__(
        self, crow: Tensor, col: Tensor, num_cols: int, *, symmetric: bool = False
    ) -> None:
        self.crow = crow
        self.col = col
        self.num_rows = crow.numel() - 1
        self.num_cols = num_cols
        self.symmetric = symmetric
        self._repeats: dict[int, Pattern] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, self.num_cols

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return self.col.numel()

    @cached_with_gradient
    def row(self) -> Tensor:
        """Row of each entry.  [nnz]"""
        return torch.repeat_interleave(self.crow.diff(), output_size=self.nnz)

    @cached_with_gradient
    def transpose_order(self) -> Tensor:
        """For each entry of the transpose, its position among the entries here.  [nnz]"""
        return torch.argsort(self.col, stable=True)

    @property
    def transpose(self) -> Pattern:
        """The pattern of the transposed matrix."""
        # Keeping itself, it would only be freed when Python looks for cycles, which is too late for
        # batches and samples.
        return self if self.symmetric else self._transposed

    @cached_with_gradient
    def _transposed(self) -> Pattern:
        counts = torch.bincount(self.col, minlength=self.num_cols)
        return Pattern(_row_starts(counts), self.row[self.transpose_order], self.num_rows)

    def repeat(self, times: int) -> Pattern:
        """The block-diagonal pattern with this one ``times`` times, as several heads need it."""
        if times == 1:
            return self
        if times not in self._repeats:
            shift = torch.arange(times, device=self.col.device).unsqueeze(1)
            starts = (self.crow[:-1] + shift * self.nnz).flatten()
            crow = torch.cat([starts, starts.new_tensor([times * self.nnz])])
            col = (self.col + shift * self.num_cols).flatten()
            self._repeats[times] = Pattern(
                crow, col, times * self.num_cols, symmetric=self.symmetric
            )
        return self._repeats[times]

    def to(self, device: torch.device | str) -> Pattern:
        """The pattern on another device."""
        return Pattern(
            self.crow.to(device), self.col.to(device), self.num_cols, symmetric=self.symmetric
        )

    def select(self, keep: Tensor, *, symmetric: bool = False) -> Pattern:
        """The pattern with only the entries that a boolean mask keeps.  keep: [nnz]"""
        counted = torch.cat([keep.new_zeros(1, dtype=torch.long), keep.cumsum(0)])
        return Pattern(counted[self.crow], self.col[keep], self.num_cols, symmetric=symmetric)


class SparseMatrix:
    """A pattern with a value for each entry.

    Args:
        pattern: Where the entries are.
        values: The entries, row by row.  [nnz]
        transposed_values: The entries of the transpose, row by row, where they are known already;
            otherwise they are derived from ``values``, once for all products.  [nnz]
    """

    def __init__(
        self, pattern: Pattern, values: Tensor, transposed_values: Tensor | None = None
    ) -> None:
        self.pattern = pattern
        self.values = values
        self._transposed_values = transposed_values

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseMatrix:
        """Take over a ``torch.sparse_csr`` matrix without a copy."""
        pattern = Pattern(matrix.crow_indices(), matrix.col_indices(), matrix.size(1))
        return cls(pattern, matrix.values())

    def to_torch(self) -> Tensor:
        """The matrix as ``torch.sparse_csr``, without a copy."""
        pattern = self.pattern
        return csr_tensor(pattern.crow, pattern.col, self.values, pattern.shape)

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return torch.Size(self.pattern.shape)

    def to(self, device: torch.device | str) -> SparseMatrix:
        """The matrix on another device."""
        return SparseMatrix(self.pattern.to(device), self.values.to(device))

    def rows(self, ids: Tensor) -> SparseMatrix:
        """The matrix of some rows, in the order of the ids.  [n, columns]"""
        pattern = self.pattern
        starts = pattern.crow[ids]
        crow = _row_starts(pattern.crow[ids + 1] - starts)
        shift = torch.repeat_interleave(starts - crow[:-1], crow.diff())
        entries = shift + torch.arange(shift.numel(), device=shift.device)
        return SparseMatrix(
            Pattern(crow, pattern.col[entries], pattern.num_cols), self.values[entries]
        )

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same pattern with other values."""
        return SparseMatrix(self.pattern, values)

    def __matmul__(self, dense: Tensor) -> Tensor:
        differentiated = torch.is_grad_enabled() and dense.requires_grad
        if differentiated and self._transposed_values is None:
            self._transposed_values = self.values.detach()[self.pattern.transpose_order]
        return spmm(self.pattern, self.values, dense, self._transposed_values)


def spmm(
    pattern: Pattern, values: Tensor, dense: Tensor, transposed_values: Tensor | None = None
) -> Tensor:
    r"""The product $S B$ of a sparse and a dense matrix, differentiable in both.

    $$
    \frac{\partial L}{\partial B} = S^\top G, \qquad
    \frac{\partial L}{\partial S_{ij}} = \langle G_{i:}, B_{j:} \rangle
    \quad \text{for the entries of the pattern}
    $$

    Memory is that of the result: no product of an edge and a feature is ever stored.
    """
    result: Tensor = _SpMM.apply(values, dense, pattern, transposed_values)  # type: ignore[no-untyped-call]
    return result


class _SpMM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, values: Tensor, dense: Tensor, pattern: Pattern, transposed: Tensor | None
    ) -> Tensor:
        ctx.pattern = pattern
        ctx.transposed = transposed
        ctx.save_for_backward(values, dense if ctx.needs_input_grad[0] else None)
        return multiply(pattern, values, dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, Tensor | None, None, None]:
        (grad,) = grads
        values, dense = ctx.saved_tensors
        pattern: Pattern = ctx.pattern
        grad_values = grad_dense = None
        if ctx.needs_input_grad[0]:
            grad_values = sampled_products(pattern, grad, dense)
        if ctx.needs_input_grad[1]:
            transposed = ctx.transposed
            if transposed is None:
                transposed = values[pattern.transpose_order]
            grad_dense = multiply(pattern.transpose, transposed, grad)
        return grad_values, grad_dense, None, None


def sampled_products(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """The inner product of a row of ``left`` and a row of ``right`` for each entry.  [nnz]"""
    if left.device.type in ("cpu", "cuda"):
        mask = csr_tensor(pattern.crow, pattern.col, left.new_zeros(pattern.nnz), pattern.shape)
        products: Tensor = torch.sparse.sampled_addmm(mask, left, right.t(), beta=0.0)
        return products.values()
    return (left[pattern.row] * right[pattern.col]).sum(dim=1)


def multiply(pattern: Pattern, values: Tensor | None, dense: Tensor) -> Tensor:
    """The product of `spmm` without a gradient; without values, all entries are 1."""
    # A weighted embedding bag is exactly a CSR product; of PyTorch's kernels for one it is the
    # fastest by about two on a CPU, and the only one on every device.
    if pattern.nnz == 0:
        return dense.new_zeros(pattern.num_rows, dense.size(1))
    return functional.embedding_bag(
        pattern.col,
        dense.contiguous(),
        pattern.crow,
        mode="sum",
        per_sample_weights=values,
        include_last_offset=True,
    )


def _row_starts(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
