"""A random number for each pair of nodes, computed from the pair and a seed alone.

A stream of random numbers must be drawn in order. A hash of the pair can be recomputed at any time
and in any order, so a sample does not depend on the block size or the number of threads, and the
backward pass can regenerate the noise of the forward pass.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gaug.graph.compiling import compiled_form
from gaug.pairs.hashing import GOLDEN, mix

# Chris Wellons' "lowbias32" mixing of 32 bits (hash-prospector, public domain).
_SHIFTS = (16, 15, 16)
_FACTORS = (0x7FEB352D, 0x846CA68B - (1 << 32))
_BITS = 23  # so that every number and its distance to 1 are exact in float32


def row_keys(seed: int, num_nodes: int) -> Tensor:
    """Two 32-bit keys per row: rows with different keys have unrelated numbers.  [2, N]"""
    bits = np.arange(1, num_nodes + 1, dtype=np.uint64)
    bits = mix(bits * GOLDEN + np.uint64(seed % (1 << 64)))
    return torch.from_numpy(bits.view(np.int32).reshape(-1, 2).T.copy())


def row_noise(keys: Tensor, first_column: int, stop_column: int) -> Tensor:
    """Numbers in (0, 1) for the rows with these keys and a range of columns.  [r, …]

    Args:
        keys: Keys of the rows, from `row_keys`.  [2, r]
        first_column: First column.
        stop_column: Column after the last one.
    """
    column = torch.arange(first_column, stop_column, dtype=torch.int32, device=keys.device)
    return _noise(keys[0, :, None], keys[1, :, None], column)


def pair_noise(keys: Tensor, pairs: Tensor) -> Tensor:
    """Numbers in (0, 1) for single pairs, the same as those of `row_noise`.  [2, n] → [n]

    >>> keys = row_keys(seed=0, num_nodes=5)
    >>> bool(pair_noise(keys, torch.tensor([[1], [4]])) == row_noise(keys, 0, 5)[1, 4])
    True
    """
    form = compiled_form("gaug.pairs.fused") if pairs.device.type == "cpu" else None
    if form is not None:
        return torch.from_numpy(form.pair_noise(keys.numpy(), pairs.numpy()))
    first, second = keys[:, pairs[0]]
    return _noise(first, second, pairs[1].int())


def _noise(first_key: Tensor, second_key: Tensor, column: Tensor) -> Tensor:
    bits = column ^ first_key
    _mix(bits)
    bits += second_key
    _mix(bits)
    bits.bitwise_and_((1 << _BITS) - 1)
    return bits.float().add_(0.5).mul_(2.0**-_BITS)


def _mix(bits: Tensor) -> None:
    for place, shift in enumerate(_SHIFTS):
        # Shifting a signed number fills in its sign; the mask clears those bits.
        bits.bitwise_xor_((bits >> shift).bitwise_and_((1 << (32 - shift)) - 1))
        if place < len(_FACTORS):
            bits.mul_(_FACTORS[place])
