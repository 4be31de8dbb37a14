"""The score of the paper: micro-F1 in percent."""

from __future__ import annotations

import torch
from torch import Tensor


def micro_f1(logits: Tensor, labels: Tensor) -> float:
    r"""Micro-averaged F1 in percent, $2 TP / (2 TP + FP + FN)$ over all classes.

    With one class per node it equals accuracy (the paper's appendix A.2). With several labels per
    node, a label is predicted where its logit is positive; the score is 0 when nothing is predicted
    and nothing is right.

    Args:
        logits: Any scores that are monotone in the class probabilities; for several labels per
            node, logits of the labels.  [n, C]
        labels: Class ids [n], or 0/1 [n, C].

    >>> import torch
    >>> micro_f1(torch.tensor([[2.0, 1.0], [0.0, 1.0]]), torch.tensor([0, 0]))
    50.0
    """
    return micro_f1_of_predictions(predicted_labels(logits, labels.dim() == 2), labels)


def node_scores(predicted: Tensor, labels: Tensor) -> Tensor:
    r"""Each node's share in `micro_f1_of_predictions`, in percent; their mean is the score.  [n]

    With one class per node, 100 where it is right and 0 elsewhere. With several labels, the score
    is a ratio $F = \sum_i a_i / \sum_i b_i$ of sums over nodes ($a = 2 TP$, $b = 2 TP + FP + FN$),
    and a node's share is linear in what it changes,

    $$ F + \frac{a_i - F b_i}{\bar b}, $$

    so that the spread of these shares is that of the ratio (the delta method).

    >>> import torch
    >>> node_scores(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0])).tolist()
    [100.0, 100.0, 0.0]
    """
    if labels.dim() == 1:
        return 100.0 * (predicted == labels).double()
    actual = labels > 0.5
    right = 2.0 * (predicted & actual).sum(dim=1).double()
    total = right + (predicted ^ actual).sum(dim=1)
    if not bool(total.any()):
        return torch.zeros_like(right)
    score = right.sum() / total.sum()
    return 100.0 * (score + (right - score * total) / total.mean())


def predicted_labels(logits: Tensor, multilabel: bool) -> Tensor:
    """The class of the largest logit [n], or of each label whether its logit is positive [n, C]."""
    return logits > 0 if multilabel else logits.argmax(dim=1)


def micro_f1_of_predictions(predicted: Tensor, labels: Tensor) -> float:
    """`micro_f1` of what `predicted_labels` gave."""
    if labels.dim() == 1:
        return 100.0 * int((predicted == labels).sum()) / max(1, labels.numel())
    actual = labels > 0.5
    right = int((predicted & actual).sum())
    wrong = int((predicted ^ actual).sum())
    return 100.0 * 2 * right / (2 * right + wrong) if right else 0.0
