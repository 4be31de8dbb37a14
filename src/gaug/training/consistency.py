"""Consistency: what is predicted for a node should not depend on the graph drawn and on dropout.

As in GRAND (Feng et al., NeurIPS 2020): several passes in one step, and their sharpened mean as the
target of each, for all nodes, labeled or not.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def consistency_loss(logits: Sequence[Tensor], temperature: float, multilabel: bool) -> Tensor:
    r"""The mean squared distance of each pass to the sharpened mean of all.

    $$
    \frac{1}{K N} \sum_{k, v} \bigl\| p^{(k)}_v - \bar p'_v \bigr\|^2
    $$

    The target has no gradient.

    Args:
        logits: One set of scores per pass.  K × [N, C]
        temperature: See `sharpened`.
        multilabel: Whether each class has a probability of its own.
    """
    passes = torch.stack([one.sigmoid() if multilabel else one.softmax(dim=1) for one in logits])
    target = sharpened(passes.detach().mean(dim=0), temperature, multilabel)
    return (passes - target).square().sum(dim=2).mean()


def sharpened(probabilities: Tensor, temperature: float, multilabel: bool = False) -> Tensor:
    r"""Distributions to the power of one over the temperature, normalized again.  [N, C]

    >>> sharpened(torch.tensor([[0.2, 0.8]]), 0.5)
    tensor([[0.0588, 0.9412]])
    """
    if multilabel:
        return (torch.logit(probabilities, eps=1e-6) / temperature).sigmoid()
    return (probabilities.clamp_min(1e-30).log() / temperature).softmax(dim=1)
