"""The score of the paper, micro-F1 in percent, and what kinds of edges a graph has."""

from __future__ import annotations

from torch import Tensor


def micro_f1(logits: Tensor, labels: Tensor) -> float:
    r"""Micro-averaged F1 in percent, $2 TP / (2 TP + FP + FN)$ over all classes.

    With one class a node it equals accuracy (the paper's appendix A.2). With several labels a node
    a label is predicted where its logit is positive; the score is 0 when nothing is predicted and
    nothing is right.

    Args:
        logits: Any scores that are monotone in the class probabilities; for several labels a node,
            logits of the labels.  [n, C]
        labels: Class ids [n], or 0/1 [n, C].

    >>> import torch
    >>> micro_f1(torch.tensor([[2.0, 1.0], [0.0, 1.0]]), torch.tensor([0, 0]))
    50.0
    """
    if labels.dim() == 1:
        return 100.0 * int((logits.argmax(dim=1) == labels).sum()) / max(1, labels.numel())
    predicted = logits > 0
    actual = labels > 0.5
    right = int((predicted & actual).sum())
    wrong = int((predicted ^ actual).sum())
    return 100.0 * 2 * right / (2 * right + wrong) if right else 0.0
