"""How features are scaled before training."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.config import SCALINGS
from gaug.errors import unknown_name
from gaug.graph.sparse import csr_tensor


def scale_features(x: Tensor, scaling: str) -> Tensor:
    """Features scaled by name; sparse ones stay sparse, except when columns are centered.

    Args:
        x: Dense or ``torch.sparse_csr`` features.  [N, F]
        scaling: ``as-is``, ``rows`` or ``columns``.
    """
    if scaling == "as-is":
        return x
    if scaling == "rows":
        return _rows_to_one(x)
    if scaling == "columns":
        return scale_columns(x, column_statistics(x))
    raise unknown_name("feature_scaling", scaling, SCALINGS)


def with_scaled_features(data: Data, scaling: str) -> Data:
    """A copy of the graph with scaled features.

    Where columns are scaled, ``feature_statistics`` says by what, so that the features of another
    graph can be scaled the same way. Columns that have been scaled before stay as they are.
    """
    scaled = copy.copy(data)
    if scaling != "columns":
        scaled.x = scale_features(data.x, scaling)
    elif data.get("feature_statistics") is None:
        scaled.feature_statistics = column_statistics(data.x)
        scaled.x = scale_columns(data.x, scaled.feature_statistics)
    return scaled


def column_statistics(x: Tensor) -> Tensor:
    """Mean and deviation of each column; a deviation of 0 becomes 1.  [2, F]"""
    dense = x.to_dense().double()
    deviation = dense.std(dim=0, correction=0)
    return torch.stack([dense.mean(dim=0), torch.where(deviation > 0, deviation, 1.0)])


def scale_columns(x: Tensor, statistics: Tensor) -> Tensor:
    """Features less the means, by the deviations.  [N, F]

    Centering turns zeros into other numbers, so the result is dense by its nature.
    """
    mean, deviation = statistics.double()
    scaled: Tensor = (x.to_dense().double() - mean) / deviation
    return scaled.float()


def _rows_to_one(x: Tensor) -> Tensor:
    if x.layout == torch.strided:
        return x / _safe(x.abs().sum(dim=1, keepdim=True))
    crow, values = x.crow_indices(), x.values()
    row = torch.repeat_interleave(crow.diff(), output_size=values.numel())
    total = values.new_zeros(x.size(0)).index_add(0, row, values.abs())
    scaled = values / _safe(total)[row]
    return csr_tensor(crow, x.col_indices(), scaled, (x.size(0), x.size(1)))


def _safe(total: Tensor) -> Tensor:
    return torch.where(total > 0, total, 1.0)  # a row of zeros stays a row of zeros
