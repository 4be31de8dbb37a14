"""Labels of nodes: how many classes, and whether a node may have several."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data


def num_classes(data: Data) -> int:
    """Number of classes (of labels, in the multi-label case)."""
    labels: Tensor = data.y
    return labels.size(1) if labels.dim() == 2 else int(labels.max()) + 1


def is_multilabel(data: Data) -> bool:
    """Whether a node may have several labels."""
    return bool(data.y.dim() == 2)
