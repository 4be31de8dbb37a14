"""What a round of training keeps: the weights of its best epoch, and why it broke off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gaug.training.hooks import AugmentedRun, Round


class BestEpoch:
    """The best epoch of a round so far: by validation score, then by the lower validation loss.

    Attributes:
        score: Score on the validation nodes.
        loss: Loss there.
        epoch: Its number, counted from 1; 0 while there is none.
        state: Its weights; None while there is none.
    """

    def __init__(self) -> None:
        self.score = -math.inf
        self.loss = math.inf
        self.epoch = 0
        self.state: dict[str, Tensor] | None = None

    def offer(self, score: float, loss: float, epoch: int, model: nn.Module) -> bool:
        """Keep an epoch if it is better and its weights are numbers, and say whether it is kept."""
        # A loss that is no number is neither above nor below another.
        if math.isnan(loss) or (score, -loss) <= (self.score, -self.loss):
            return False
        weights = finite_weights(model)
        if weights is None:
            return False
        self.score, self.loss, self.epoch, self.state = score, loss, epoch, weights
        return True


@dataclass(frozen=True)
class Flaw:
    """Why a round broke off, and what to do about it."""

    what: str
    remedy: str

    @classmethod
    def of_loss(
        cls, loss: float, extra: float, epoch: int, current: Round, run: AugmentedRun
    ) -> Flaw:
        """A loss that is infinite or no number, in an epoch."""
        where = f"epoch {epoch}{' of pretraining' if current.pretraining else ''}"
        parts = f"classification {loss:g}" + (f", method {extra:g}" if extra != 0 else "")
        rates = [] if math.isfinite(extra) else [run.rate_setting]
        if math.isfinite(extra) or not math.isfinite(loss):
            rates.append("learning_rate")  # where both are broken, either may have been first
        remedy = f"Try a lower {' or '.join(rates)}."
        return cls(f"The loss became {loss + extra} in {where} ({parts})", remedy)

    @classmethod
    def of_weights(cls, epochs: int) -> Flaw:
        """No weights to keep, though no training loss broke."""
        return cls(
            f"The weights, or what they predict, are not numbers after epoch {epochs}",
            "Try a lower learning_rate.",
        )

    def telling(self, kept: str) -> str:
        """In words, with what was kept all the same."""
        return f"{self.what}{kept}. {self.remedy}"

    def __str__(self) -> str:
        return self.telling("")


def finite_weights(model: nn.Module) -> dict[str, Tensor] | None:
    """A copy of a model's state, or None if some of its weights are infinite or no numbers."""
    if not all(bool(torch.isfinite(weight).all()) for weight in model.parameters()):
        return None
    if any(bool(torch.isnan(value).any()) for value in model.buffers()):  # infinite ones may be
        return None
    return {name: value.clone() for name, value in model.state_dict().items()}
