"""What a round of training keeps: the weights of its best epoch."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class BestEpoch:
    """The best epoch of a round so far, by validation score, then by lower validation loss.

    Attributes:
        score: Score on the validation nodes.
        loss: Loss on the validation nodes.
        epoch: Its number, counted from 1; 0 if there is none yet.
        state: Its weights; None if there are none yet.
    """

    def __init__(self) -> None:
        self.score = -math.inf
        self.loss = math.inf
        self.epoch = 0
        self.state: dict[str, Tensor] | None = None

    def offer(self, score: float, loss: float, epoch: int, model: nn.Module) -> bool:
        """Keep an epoch if it is better and its weights are finite; return whether it was kept."""
        # NaN is neither above nor below another loss.
        if math.isnan(loss) or (score, -loss) <= (self.score, -self.loss):
            return False
        weights = finite_weights(model)
        if weights is None:
            return False
        self.score, self.loss, self.epoch, self.state = score, loss, epoch, weights
        return True


def finite_weights(model: nn.Module) -> dict[str, Tensor] | None:
    """A copy of a model's state, or None if some of its weights are infinite or NaN."""
    if not all(bool(torch.isfinite(weight).all()) for weight in model.parameters()):
        return None
    if any(
        bool(torch.isnan(value).any()) for value in model.buffers()
    ):  # infinite ones are allowed
        return None
    return {name: value.clone() for name, value in model.state_dict().items()}
