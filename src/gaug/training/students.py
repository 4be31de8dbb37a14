"""Students: models that learn from what another one predicts for all nodes, besides the labels.

As in born-again networks (Furlanello et al., ICML 2018) and, with a teacher that was trained on
sampled graphs, in KDGA (Wu et al., NeurIPS 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def distillation_loss(logits: Sequence[Tensor], teacher: Tensor, multilabel: bool) -> Tensor:
    r"""The mean Kullback-Leibler divergence of predictions from those of a teacher.

    $$
    \frac{1}{K N} \sum_{k, v} \sum_c q_{vc} \log \frac{q_{vc}}{p^{(k)}_{vc}}
    $$

    With several labels per node, each class is a distribution of its own, and the mean is over the
    classes, too, as in the classification loss. A teacher that is sure of itself has probabilities
    of 0, which count as 0.

    Args:
        logits: One set of scores per pass.  K × [N, C]
        teacher: The probabilities that the teacher predicts, without gradient.  [N, C]
        multilabel: Whether each class has a probability of its own.
    """
    scores = torch.stack(list(logits))
    if not multilabel:
        return _divergence(teacher, scores.log_softmax(dim=2)).sum(dim=2).mean()
    labeled = _divergence(teacher, torch.nn.functional.logsigmoid(scores))
    return (labeled + _divergence(1 - teacher, torch.nn.functional.logsigmoid(-scores))).mean()


def _divergence(teacher: Tensor, log_probabilities: Tensor) -> Tensor:
    """The terms of the sum.  [N, C], [K, N, C] → [K, N, C]"""
    return torch.xlogy(teacher, teacher) - teacher * log_probabilities
