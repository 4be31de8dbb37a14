"""The loss of the classifier."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def classification_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, or binary cross-entropy where a node may have several labels."""
    if labels.dim() == 1:
        return functional.cross_entropy(logits, labels)
    return functional.binary_cross_entropy_with_logits(logits, labels)
