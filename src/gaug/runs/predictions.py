"""Predictions of validation and test nodes, packed into a record.

Methods are compared node by node, so a run keeps its predictions for the validation nodes, and how
probable their right classes were.

Code that chooses settings must not use test labels, but the chosen runs should not be trained again
for their test score. So a run with hidden labels keeps its predictions for the test nodes, and the
test score of the final choice is computed later, once.
"""

from __future__ import annotations

import io
import zlib

import numpy as np
import torch
from torch import Tensor


def pack_predictions(predicted: Tensor) -> bytes:
    """Pack class ids [n], or booleans [n, C] for several labels per node, into few bytes."""
    array = predicted.cpu().numpy()
    if array.dtype != bool and (array.size == 0 or array.max() < 256):
        array = array.astype(np.uint8)
    return _packed(array)


def unpack_predictions(packed: bytes) -> Tensor:
    """Unpack the result of `pack_predictions`.

    >>> unpack_predictions(pack_predictions(torch.tensor([2, 0, 1]))).tolist()
    [2, 0, 1]
    """
    array = _unpacked(packed)
    return torch.from_numpy(array if array.dtype == bool else array.astype(np.int64))


def pack_probabilities(percent: Tensor) -> bytes:
    """Pack probabilities in percent, to about four digits."""
    return _packed(percent.cpu().numpy().astype(np.float16))


def unpack_probabilities(packed: bytes) -> Tensor:
    """Unpack the result of `pack_probabilities`.

    >>> unpack_probabilities(pack_probabilities(torch.tensor([12.5, 100.0]))).tolist()
    [12.5, 100.0]
    """
    return torch.from_numpy(_unpacked(packed).astype(np.float64))


def _packed(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return zlib.compress(buffer.getvalue())


def _unpacked(packed: bytes) -> np.ndarray:
    array: np.ndarray = np.load(io.BytesIO(zlib.decompress(packed)), allow_pickle=False)
    return array
