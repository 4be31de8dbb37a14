"""The elementwise work on a tile of pairs, fused into one pass where Numba is installed.

Each function has an eager form in PyTorch, for any device and precision, and a fused one for
float32 on the CPU (`gaug.pairs.fused`). They agree up to rounding.
"""

from __future__ import annotations

import functools
from types import ModuleType

import torch
from torch import Tensor
from torch.nn import functional

from gaug.graph import compiling
from gaug.pairs.noise import row_noise

#: Probabilities closer to 0 or 1 than this have no gradient, because the logit diverges there.
PROBABILITY_MARGIN = 1e-6


def softplus_to_sigmoid(scores: Tensor) -> float:
    """The sum of softplus over all scores, which are replaced by their sigmoids in place."""
    fused = compiled_form(scores)
    if fused is not None:
        total: float = fused.softplus_to_sigmoid(scores.numpy())
        return total
    total = float(functional.softplus(scores).sum())
    scores.sigmoid_()
    return total


def find_hits(
    p: Tensor, keys: Tensor | None, first_column: int, slack: float, *, on_diagonal: bool
) -> tuple[Tensor, Tensor]:
    """The pairs of a tile whose probability is above their noise, or at most slack below it.

    Args:
        p: Probabilities; may be overwritten.  [r, c]
        keys: Noise keys of each row, or None for a constant noise of one half.  [2, r]
        first_column: Id of the first column's node.
        slack: How far a probability may be below the noise.
        on_diagonal: Whether only pairs above the tile's diagonal count.

    Returns:
        Positions in the tile [2, n], row by row, and how far each is above its noise [n].
    """
    fused = compiled_form(p)
    if keys is not None and fused is not None:
        hits: tuple[Tensor, Tensor] = fused.find_hits(
            p.numpy(), keys.numpy(), first_column, slack, on_diagonal
        )
        return hits
    margin = p.sub_(_noise(keys, first_column, p))
    hit = margin > -slack
    if on_diagonal:
        hit.logical_and_(_above_diagonal(hit.size(0), hit.device))
    places = hit.nonzero().t()
    return places, margin[places[0], places[1]]


def multiply_by_slopes(
    values: Tensor,
    p: Tensor,
    keys: Tensor | None,
    first_column: int,
    temperature: float,
    *,
    on_diagonal: bool,
) -> None:
    r"""Multiply in place by the derivative of the relaxed sample with respect to its probability.

    That is $s (1 - s) / (\tau P (1 - P))$ with the relaxed sample s, and 0 next to the ends of the
    range.

    Args:
        values: What to multiply.  [r, c]
        p: Probabilities.  [r, c]
        keys: Noise keys of each row, or None for a constant noise of one half.  [2, r]
        first_column: Id of the first column's node.
        temperature: Temperature of the relaxation.
        on_diagonal: Whether to set all pairs not above the tile's diagonal to 0.
    """
    fused = compiled_form(p)
    if keys is not None and fused is not None:
        fused.multiply_by_slopes(
            values.numpy(), p.numpy(), keys.numpy(), first_column, temperature, on_diagonal
        )
        return
    noise = _noise(keys, first_column, p)
    inside = (p >= PROBABILITY_MARGIN).logical_and_(p <= 1 - PROBABILITY_MARGIN)
    if on_diagonal:
        inside.logical_and_(_above_diagonal(inside.size(0), inside.device))
    p = torch.where(inside, p, 0.5)
    odds = p / (1 - p) * (1 - noise) / noise
    per_temperature = min(1 / temperature, torch.finfo(p.dtype).max)
    # s (1 - s) is even in the logarithm of the odds.
    small = odds.log_().abs_().mul_(-per_temperature).exp_()
    slope = small.div_((1 + small).square_()).div_(p * (1 - p)).mul_(per_temperature)
    values.mul_(slope.mul_(inside))


def _noise(keys: Tensor | None, first_column: int, p: Tensor) -> Tensor | float:
    if keys is None:
        return 0.5
    return row_noise(keys, first_column, first_column + p.size(1))


def compiled_form(values: Tensor) -> ModuleType | None:
    """The compiled form of the work on pairs, if it supports these values."""
    if values.dtype != torch.float32 or values.device.type != "cpu":
        return None
    return _compiled()


def _compiled() -> ModuleType | None:
    return compiling.compiled_form("gaug.pairs.fused")


@functools.lru_cache(maxsize=64)
def _above_diagonal(size: int, device: torch.device) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool, device=device).triu_(1)
