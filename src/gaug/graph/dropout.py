"""Dropout, of dense and of sparse matrices."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gaug.graph.sparse import SparseMatrix


def dropout(h: Tensor | SparseMatrix, share: float, training: bool) -> Tensor | SparseMatrix:
    """Drop entries at random and scale the rest, so that the expectation stays.

    Only stored entries of a sparse matrix are drawn. On a CPU, PyTorch's own dropout draws one
    random number per entry and costs more than the rest of an epoch; here four entries share 64
    random bits. The share is then a multiple of 1/65536, and the scale matches it exactly.
    """
    if not training or share == 0:
        return h
    if isinstance(h, SparseMatrix):
        return h.with_values(dropout_dense(h.values, share, training))
    return dropout_dense(h, share, training)


def dropout_dense(h: Tensor, share: float, training: bool) -> Tensor:
    """`dropout` of a dense tensor."""
    if not training or share == 0:
        return h
    if h.device.type != "cpu":
        return functional.dropout(h, share)
    kept = round((1 - share) * 65536)  # out of the 65536 values of 16 bits
    if kept == 0:
        return torch.zeros_like(h)
    words = torch.empty((h.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = words.view(torch.int16)[: h.numel()].view(h.shape)
    # 32768 - kept is the smallest kept value: from there on the difference is at least 1.
    mask = bits.to(h.dtype).sub_(32767 - kept).clamp_(0, 1).mul_(65536 / kept)
    return h * mask
