r"""The slope of a relaxed sample, averaged over all noise that gives the same outcome.

With noise n, uniform in (0, 1), a pair of probability p is joined if n < p, and the relaxed sample
is $s = \sigma((\operatorname{logit} p - \operatorname{logit} n) / \tau)$. Its slope $\partial s /
\partial p$ varies a lot with the noise, for small p as 1 / p. Of all the noise only the outcome
matters to the rest of a computation, so the mean slope given the outcome has the same expected
gradient and less variance. With $x = (\operatorname{logit} n - \operatorname{logit} p) / \tau$,

$$
E\Bigl[\frac{\partial s}{\partial p} \Bigm| n > p\Bigr] = \frac{1}{1 - p} \int_0^\infty
\sigma(x)\, \sigma(-x)\, \frac{n (1 - n)}{p (1 - p)}\, dx
$$

and given n < p it is the same with 1 - p for p. It has no closed form for every temperature, but it
is a smooth function of one number: it is tabulated once and interpolated.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gaug.pairs.tile_work import PROBABILITY_MARGIN, compiled_form

Array = npt.NDArray[np.float64]

# The table has 256 equal steps between powers of two, from 2^-20, which is below the margin of
# probabilities, to 1/2. The leading bits of a float32 are then its place in the table.
LOWEST_EXPONENT = -20
SHIFT = 15
FIRST = (127 + LOWEST_EXPONENT) << (23 - SHIFT)
_STEPS = (-1 - LOWEST_EXPONENT) << (23 - SHIFT)

# Nodes of the double-exponential quadrature over (0, ∞).
_QUADRATURE = 480
_END = 4.2


class MeanSlopes:
    """Mean slopes at one temperature; 0 next to probabilities of 0 and 1.

    Args:
        temperature: Temperature of the relaxation.
    """

    def __init__(self, temperature: float) -> None:
        # Joined pairs' slopes grow as 1 / p, so p times the slope is tabulated.
        self.undrawn_table, self.drawn_table = _tables(temperature)

    def of_undrawn(self, p: Tensor) -> Tensor:
        """The mean slope of pairs that were not joined."""
        return self._of(p, p <= 0.5)

    def of_drawn(self, p: Tensor) -> Tensor:
        """The mean slope of pairs that were joined."""
        return self._of(p, p > 0.5)

    def multiply_undrawn(self, values: Tensor, p: Tensor) -> None:
        """Multiply values in place by the mean slopes of pairs that were not joined.  [r, c]"""
        if compiled_form(values) is None:
            values.mul_(self.of_undrawn(p))
            return
        from gaug.pairs import fused_slopes

        fused_slopes.multiply_by_mean_slopes(
            values.numpy(), p.numpy(), self.undrawn_table.numpy(), self.drawn_table.numpy()
        )

    def _of(self, p: Tensor, likely: Tensor) -> Tensor:
        """The mean slope, given which outcomes were the likelier of the two."""
        near = torch.where(p <= 0.5, p, 1 - p).float()
        inside = near >= PROBABILITY_MARGIN
        near = torch.where(inside, near, 0.25)
        unlikely = _read(self.drawn_table, near) / near
        slope = torch.where(likely, _read(self.undrawn_table, near), unlikely)
        return torch.where(inside, slope, 0.0).to(p.dtype)


def _read(table: Tensor, p: Tensor) -> Tensor:
    """Interpolate at probabilities from the margin to one half."""
    table = table.to(p.device)
    bits = p.contiguous().view(torch.int32)
    place = (bits >> SHIFT) - FIRST
    rest = (bits & ((1 << SHIFT) - 1)).float() * 2.0**-SHIFT
    low = table[place]
    return low + rest * (table[place + 1] - low)


@functools.lru_cache(maxsize=64)
def _tables(temperature: float) -> tuple[Tensor, Tensor]:
    """The slope of pairs not joined, and p times that of joined ones, from 2^-20 to 1/2."""
    step = np.arange(_STEPS + 2)  # one more, so that there is always a next one
    octave = 1 << (23 - SHIFT)
    p = np.ldexp(1 + step % octave / octave, LOWEST_EXPONENT + step // octave)
    undrawn = _mean_slope(np.log(p) - np.log1p(-p), temperature) / (1 - p)
    drawn = _mean_slope(np.log1p(-p) - np.log(p), temperature)
    return torch.from_numpy(undrawn).float(), torch.from_numpy(drawn).float()


def _mean_slope(logit: Array, temperature: float) -> Array:
    """The integral of this module's formula.  [n] → [n]"""
    t = np.linspace(-_END, _END, _QUADRATURE)
    x = np.exp(math.pi / 2 * np.sinh(t))
    weight = x * np.cosh(t) * (math.pi / 2 * (t[1] - t[0]))
    weight = weight * _bump(x)
    total = np.zeros_like(logit)
    for at, share in zip(x.tolist(), weight.tolist(), strict=True):
        if share > 0:
            total += share * _bump(logit + min(temperature * at, 1e6))
    return np.asarray(total / _bump(logit))


def _bump(x: Array) -> Array:
    """σ(x) σ(-x), without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(small / np.square(1 + small))
