"""How probable the right classes are, once probabilities are calibrated."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from torch import Tensor

# Nothing is more certain or less certain than a temperature within these bounds makes it.
_COLDEST, _HOTTEST = 1 / 20, 20.0
# Keeps the logarithm of a probability that was rounded to 0 finite.
_LEAST = 1e-10


def calibrated_probabilities(probabilities: Tensor, labels: Tensor) -> Tensor:
    r"""The probability of the right class of each node, in percent, at the best temperature.  [n]

    Models may be too certain of all their predictions, or not certain enough, which says nothing
    about how good they are. So all probabilities are sharpened or smoothed alike,
    $p_c^{1/T} / \sum_k p_k^{1/T}$, with the temperature T that has the least cross-entropy on these
    nodes ([Guo et al., 2017](https://arxiv.org/abs/1706.04599)).

    Args:
        probabilities: Class probabilities.  [n, C]
        labels: Class ids.  [n]

    >>> import torch
    >>> certain = torch.tensor([[0.99, 0.01], [0.01, 0.99], [0.99, 0.01], [0.99, 0.01]])
    >>> calibrated_probabilities(certain, torch.tensor([0, 1, 0, 1])).round().tolist()
    [75.0, 75.0, 75.0, 25.0]
    """
    if labels.numel() == 0:
        return probabilities.new_zeros(0)
    logs = np.log(probabilities.detach().cpu().double().clamp(min=_LEAST).numpy())
    classes = labels.cpu().numpy()

    def cross_entropy(log_temperature: float) -> float:
        return -float(_log_right(logs, classes, math.exp(log_temperature)).mean())

    best = minimize_scalar(
        cross_entropy, bounds=(math.log(_COLDEST), math.log(_HOTTEST)), method="bounded"
    )
    right = np.exp(_log_right(logs, classes, math.exp(best.x)))
    return probabilities.new_tensor(100.0 * right)


def _log_right(
    logs: NDArray[np.float64], classes: NDArray[np.int64], temperature: float
) -> NDArray[np.float64]:
    """Logarithms of the probabilities of the right classes at a temperature.  [n]"""
    scaled = logs / temperature
    scaled -= scaled.max(axis=1, keepdims=True)
    total = np.log(np.exp(scaled).sum(axis=1))
    found: NDArray[np.float64] = scaled[np.arange(len(classes)), classes] - total
    return found
