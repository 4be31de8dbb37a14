"""The work of `gaug.pairs.tile_work` in one pass over a tile, compiled by Numba.

The code is written for the compiler to vectorize: loops over slices that start at 0, 32 bits
throughout, selections instead of branches, and polynomials instead of library calls for powers and
logarithms of two. Both are accurate to 1e-6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from numba import njit, types
from numba.extending import intrinsic
from torch import Tensor

from gaug.graph.compiling import compiled
from gaug.pairs.tile_work import PROBABILITY_MARGIN

Array = npt.NDArray[Any]

# Allow reordered sums and fused multiply-adds, which stay within rounding, and nothing more.
FAST = {"contract", "reassoc", "nsz", "arcp"}
EXACT: set[str] = set()

_F = np.float32
_I = np.int32
_U = np.uint32

_PER_E = _F(1 / math.log(2))
_LOG_2 = _F(math.log(2))
_NEXT_TO_0 = _F(PROBABILITY_MARGIN)
_NEXT_TO_1 = _F(1 - PROBABILITY_MARGIN)
_LARGEST = float(np.finfo(np.float32).max)
_LOWEST = _F(-126)  # exponent of the smallest number with full precision

# Scores per chunk; the product of 64 factors 1 + e^-|x|, at most 2^64, takes one logarithm.
_CHUNK = 1024
_LOGARITHMS = 16
# Margins of a row that are computed before any is checked, because hits are rare.
_STRETCH = 128


def softplus_to_sigmoid(scores: Array) -> float:
    """See `gaug.pairs.tile_work.softplus_to_sigmoid`."""
    return float(_softplus(scores))


def find_hits(
    p: Array, keys: Array, first_column: int, slack: float, on_diagonal: bool
) -> tuple[Tensor, Tensor]:
    """See `gaug.pairs.tile_work.find_hits`."""
    first, second = keys.view(np.uint32)
    places = np.empty((2, p.size), np.int64)
    margins = np.empty(p.size, np.float32)
    found = _hits(p, first, second, _U(first_column), _F(slack), on_diagonal, places, margins)
    return torch.from_numpy(places[:, :found].copy()), torch.from_numpy(margins[:found].copy())


def multiply_by_slopes(
    values: Array, p: Array, keys: Array, first_column: int, temperature: float, on_diagonal: bool
) -> None:
    """See `gaug.pairs.tile_work.multiply_by_slopes`."""
    first, second = keys.view(np.uint32)
    per_temperature = _F(min(1 / temperature, _LARGEST))
    _slopes(values, p, first, second, _U(first_column), per_temperature, on_diagonal)


def pair_noise(keys: Array, pairs: Array) -> Array:
    """See `gaug.pairs.noise.pair_noise`."""
    first, second = keys.view(np.uint32)
    numbers = np.empty(pairs.shape[1], np.float32)
    _noise_of(first, second, pairs[0], pairs[1], numbers)
    return numbers


def _cast(convert: str, source: Any, target: Any) -> Any:
    """A conversion that Numba lacks: of a number's bits, or without a range check."""

    def typed(_: Any, value: Any) -> Any:  # noqa: ARG001 – Numba reads the argument's name
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            return getattr(builder, convert)(args[0], kind)

        return target(source), generate

    return intrinsic(typed)


bits_of = _cast("bitcast", types.float32, types.int32)
_from_bits = _cast("bitcast", types.int32, types.float32)
_whole = _cast("fptosi", types.float32, types.int32)
_float = _cast("sitofp", types.int32, types.float32)


@njit(inline="always", fastmath=FAST)
def _log2(x: Any) -> Any:
    """log2 of a positive number: its exponent, plus 2 artanh(t) / ln 2 for the rest, near 1."""
    bits = bits_of(x)
    exponent = _I(_I(bits - _I(0x3F3504F3)) >> _I(23))  # the rest is from √½ to √2
    rest = _from_bits(_I(bits - _I(exponent << _I(23))))
    t = (rest - _F(1)) / (rest + _F(1))
    s = t * t
    series = _F(0.41219858) + s * _F(0.32059890)
    series = _F(2.88539008) + s * (_F(0.96179669) + s * (_F(0.57707802) + s * series))
    return _float(exponent) + t * series


@njit(inline="always", fastmath=FAST)
def _exp2(x: Any) -> Any:
    """2^x for x from -126 to 0: the exponent's bits, times the power series of the rest."""
    whole = _whole(x)
    rest = x - _float(whole)
    series = _F(1.33335581e-3) + rest * (_F(1.54035304e-4) + rest * _F(1.52527338e-5))
    series = _F(0.24022651) + rest * (
        _F(5.55041087e-2) + rest * (_F(9.61812911e-3) + rest * series)
    )
    series = _F(1) + rest * (_F(0.69314718) + rest * series)
    return series * _from_bits(_I(_I(whole + _I(127)) << _I(23)))


@njit(inline="always")
def _mix(bits: Any) -> Any:
    """The mixing of `gaug.pairs.noise`."""
    bits = _U(bits ^ _U(bits >> _U(16)))
    bits = _U(bits * _U(0x7FEB352D))
    bits = _U(bits ^ _U(bits >> _U(15)))
    bits = _U(bits * _U(0x846CA68B))
    return _U(bits ^ _U(bits >> _U(16)))


@njit(inline="always")
def _noise(first_key: Any, second_key: Any, column: Any) -> Any:
    """The same numbers as `gaug.pairs.noise`, to the bit."""
    bits = _mix(_U(_mix(_U(column ^ first_key)) + second_key))
    return (_float(_I(bits & _U(0x7FFFFF))) + _F(0.5)) * _F(2.0**-23)


@compiled(fastmath=EXACT)
def _noise_of(first_keys: Any, second_keys: Any, row: Any, column: Any, numbers: Any) -> None:
    for k in range(numbers.size):
        i = row[k]
        numbers[k] = _noise(first_keys[i], second_keys[i], _U(column[k]))


@compiled(fastmath=FAST)
def _softplus(scores: Any) -> Any:
    total = 0.0
    factors = np.empty(_CHUNK, np.float32)
    flat = scores.ravel()
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        positive = _F(0)
        for k in range(chunk.size):
            x = chunk[k]
            power = -abs(x) * _PER_E
            small = _exp2(power if power > _LOWEST else _LOWEST)  # e^-|x|
            factor = _F(1) + small
            factors[k] = factor
            positive += x if x > _F(0) else _F(0)
            chunk[k] = (_F(1) if x >= _F(0) else small) / factor
        for k in range(chunk.size, _CHUNK):
            factors[k] = _F(1)
        width = _CHUNK
        while width > _LOGARITHMS:
            width //= 2
            left, right = factors[:width], factors[width : 2 * width]
            for k in range(width):
                left[k] *= right[k]
        logarithm = _F(0)
        for k in range(_LOGARITHMS):
            logarithm += _log2(factors[k])
        total += positive + logarithm * _LOG_2
    return total


@compiled(fastmath=EXACT)
def _hits(
    p: Any,
    first_keys: Any,
    second_keys: Any,
    first_column: Any,
    slack: Any,
    on_diagonal: Any,
    places: Any,
    margins: Any,
) -> Any:
    rows, cols = p.shape
    stretch = np.empty(_STRETCH, np.float32)
    found = 0
    for i in range(rows):
        first, second = first_keys[i], second_keys[i]
        for start in range(i + 1 if on_diagonal else 0, cols, _STRETCH):
            part = p[i, start : min(start + _STRETCH, cols)]
            column = _U(first_column + _U(start))
            for k in range(part.size):
                stretch[k] = part[k] - _noise(first, second, _U(column + _U(k)))
            near = 0
            for k in range(part.size):
                near += stretch[k] > -slack
            if near:
                for k in range(part.size):
                    if stretch[k] > -slack:
                        places[0, found] = i
                        places[1, found] = start + k
                        margins[found] = stretch[k]
                        found += 1
    return found


@compiled(fastmath=FAST)
def _slopes(
    values: Any,
    p: Any,
    first_keys: Any,
    second_keys: Any,
    first_column: Any,
    per_temperature: Any,
    on_diagonal: Any,
) -> Any:
    for i in range(p.shape[0]):
        start = i + 1 if on_diagonal else 0
        values[i, :start] = _F(0)
        line, probabilities = values[i, start:], p[i, start:]
        first, second = first_keys[i], second_keys[i]
        column = _U(first_column + _U(start))
        for k in range(line.size):
            q = probabilities[k]
            noise = _noise(first, second, _U(column + _U(k)))
            inside = (q >= _NEXT_TO_0) & (q <= _NEXT_TO_1)
            q = q if inside else _F(0.5)
            other = _F(1) - q
            odds = q * (_F(1) - noise) / (other * noise)
            power = -abs(_log2(odds)) * per_temperature
            small = _exp2(power if power > _LOWEST else _LOWEST)
            small = small if power > _LOWEST else _F(0)
            factor = _F(1) + small
            slope = small * per_temperature / (factor * factor * q * other)
            line[k] *= slope if inside else _F(0)
