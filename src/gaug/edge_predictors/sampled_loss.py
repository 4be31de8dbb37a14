r"""An unbiased estimate of the sum of an auto-encoder's loss over all pairs.

The positives are exact. The sum of $\zeta(s) = \log(1 + e^s)$ over all pairs is estimated from a
few random columns for each band of rows. Most of it is known without a sample: with
$\sigma(s) \approx b + c\,s$,

$$
\sum_{ij} \zeta(s_{ij}) = \sum_{ij} \bigl[\zeta(s_{ij}) - b\,s_{ij} - \tfrac c2 s_{ij}^2\bigr]
+ b\, \Bigl\|\sum_i z_i\Bigr\|^2 + \tfrac c2 \bigl\|Z^\top Z\bigr\|_F^2
$$

and only the sum in brackets, which varies little, is estimated (a control variate). b and c come
from a regression on other random pairs, so the estimate stays unbiased. Within a tile, too, sums of
s and s² take products of narrow matrices only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from gaug.graph.sparse import Pattern, multiply, sampled_products
from gaug.pairs.random_columns import Band, RandomColumns
from gaug.pairs.tile_work import softplus_to_sigmoid

# Pairs from which the control variate is fitted.
_FITTED_PAIRS = 4096


def sampled_sum(z: Tensor, positives: Pattern, weight: float, seed: int, columns: int) -> Tensor:
    """The estimated sum of the loss over all i, j.

    Args:
        z: Embeddings.  [N, d]
        positives: The entries of A + I.
        weight: Weight of a positive, w.
        seed: Seed of the random pairs.
        columns: Random pairs per node.
    """
    value: Tensor = _SampledSum.apply(z, positives, weight, seed, columns)  # type: ignore[no-untyped-call]
    return value


class _SampledSum(torch.autograd.Function):
    """The gradient is computed along with the value."""

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, positives: Pattern, weight: float, seed: int, columns: int
    ) -> Tensor:
        z = z.detach()
        everything, grad = _everything(z, seed, columns)
        known = sampled_products(positives, z, z)
        corrections = weight * functional.softplus(-known) - functional.softplus(known)
        slopes = -weight * (-known).sigmoid() - known.sigmoid()
        grad += multiply(positives, slopes, z)
        ctx.save_for_backward(grad.mul_(2))  # a score is the same in both directions
        return z.new_tensor(everything + float(corrections.double().sum()))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None, None]:
        (grad,) = ctx.saved_tensors
        return grads[0] * grad, None, None, None, None


def _everything(z: Tensor, seed: int, columns: int) -> tuple[float, Tensor]:
    """The sum of softplus over all i, j, and half its gradient."""
    base, linear = _fitted_slope(z, seed)
    drawn = RandomColumns(z.size(0), columns, seed, z.device)
    grad = torch.empty_like(z)

    def add_up(share: Iterator[Band]) -> float:
        total = 0.0
        for band in share:
            rows, ends = z[band.rows], z[band.cols]
            scores = torch.mm(rows, ends.t())
            sums, squares = ends.sum(dim=0), ends.t() @ ends
            known = base * (rows.sum(dim=0) @ sums)
            known += linear / 2 * ((rows.t() @ rows) * squares).sum()
            total += softplus_to_sigmoid(scores) - float(known)
            part = torch.mm(scores, ends).sub_(base * sums).sub_(rows @ (linear * squares))
            grad[band.rows] = part.mul_(drawn.weight)
        return total

    rest = sum(drawn.share(add_up)) * drawn.weight
    sums, squares = z.sum(dim=0), z.t() @ z
    grad += base * sums
    grad += z @ (linear * squares)
    known = base * sums.double().square().sum() + linear / 2 * squares.double().square().sum()
    return rest + float(known), grad


def _fitted_slope(z: Tensor, seed: int) -> tuple[float, float]:
    """The b and c of the straight line through the sigmoids of random pairs' scores."""
    generator = torch.Generator().manual_seed(seed)
    u, v = torch.randint(z.size(0), (2, _FITTED_PAIRS), generator=generator).to(z.device)
    scores = (z[u] * z[v]).sum(dim=1).cpu().double()
    slopes, centered = scores.sigmoid(), scores - scores.mean()
    spread = float(centered.square().sum())
    linear = float(centered @ slopes) / spread if spread > 0 else 0.0
    return float(slopes.mean()) - linear * float(scores.mean()), linear
