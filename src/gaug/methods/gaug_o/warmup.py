"""The warm-up of the edge predictor's learning rate (the paper's appendix C)."""

from __future__ import annotations

import math


def warmed_up(epoch: int, num_epochs: int, warmup: float) -> float:
    """The share of the full learning rate in an epoch, counted from 1.

    >>> [round(warmed_up(epoch, 5, warmup=4.0), 2) for epoch in range(1, 6)]
    [0.0, 0.1, 0.5, 0.9, 1.0]
    >>> warmed_up(1, 5, warmup=0.0)
    1.0
    """
    if warmup == 0 or num_epochs == 1:
        return 1.0
    place = 2 * (epoch - 1) / (num_epochs - 1) - 1  # from -1 to 1
    # A sigmoid is a hyperbolic tangent of half the argument, which neither overflows nor cancels.
    # A smaller half would give the same straight line.
    half = max(warmup / 2, 1e-9)
    return (1 + math.tanh(half * place) / math.tanh(half)) / 2
