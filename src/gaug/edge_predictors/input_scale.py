"""An encoder's input on a scale of its own, whatever the scale of the features is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gaug.graph.sparse import SparseMatrix
from gaug.models.base import Features

# A column whose variance is at most this share of its mean square does not vary but for rounding.
_CONSTANT = 1e-12


class InputScale(nn.Module):
    r"""Columns less their means, by their standard deviations, within a product.

    $$
    \hat X W = X (D W) - 1 (\mu^\top D W), \qquad D = \operatorname{diag}(1 / \sigma)
    $$

    so sparse features stay sparse. A column that does not vary is left out. Means and deviations
    are those of the graph of the fit, and are saved with the weights.

    Args:
        center: The mean of each column.  [F]
        factor: One over its standard deviation, or 0.  [F]
    """

    center: Tensor
    factor: Tensor

    def __init__(self, center: Tensor, factor: Tensor) -> None:
        super().__init__()
        self.register_buffer("center", center)
        self.register_buffer("factor", factor)

    @classmethod
    def of(cls, x: Features) -> InputScale:
        """The scale of features.  [N, F]"""
        if isinstance(x, SparseMatrix):
            values, columns = x.values.double(), x.pattern.col
            sums = values.new_zeros(2, x.shape[1])
            sums.index_add_(1, columns, torch.stack([values, values.square()]))
            mean, square = sums / x.shape[0]
            variance = square - mean.square()
        else:
            entries = x.double()
            mean, square = entries.mean(dim=0), entries.square().mean(dim=0)
            variance = entries.var(dim=0, correction=0)
        varies = variance > _CONSTANT * square
        factor = torch.where(varies, variance, 1.0).rsqrt() * varies
        return cls(mean.float(), factor.float())

    def product(self, x: Features, weight: Tensor) -> Tensor:
        """Scaled features times a weight.  [N, F], [F, d] → [N, d]"""
        scaled = weight * self.factor.unsqueeze(1)
        product: Tensor = x @ scaled
        return product - self.center @ scaled
