"""What a round of training keeps: the weights of its best epoch, and why it stopped early."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gaug.training.hooks import AugmentedRun, Round


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


@dataclass(frozen=True)
class Flaw:
    """Why a round stopped early, and what to do about it."""

    what: str
    remedy: str

    @classmethod
    def of_loss(
        cls, loss: float, extra: float, epoch: int, current: Round, run: AugmentedRun
    ) -> Flaw:
        """An infinite or NaN loss in an epoch."""
        if current.method_alone:
            return cls(
                f"The {run.own_model}'s loss became {extra} in epoch {epoch} of its pretraining",
                f"Try a lower {run.rate_setting}.",
            )
        where = f"epoch {epoch}{' of pretraining' if current.pretraining else ''}"
        parts = f"classification {loss:g}" + (f", method {extra:g}" if extra != 0 else "")
        rates = [] if math.isfinite(extra) else [run.rate_setting]
        if math.isfinite(extra) or not math.isfinite(loss):
            rates.append("learning_rate")  # if both are broken, either may have been first
        remedy = f"Try a lower {' or '.join(rates)}."
        return cls(f"The loss became {loss + extra} in {where} ({parts})", remedy)

    @classmethod
    def of_weights(cls, epochs: int) -> Flaw:
        """No finite weights, although every training loss was finite."""
        return cls(
            f"The weights, or what they predict, are not numbers after epoch {epochs}",
            "Try a lower learning_rate.",
        )

    def telling(self, kept: str) -> str:
        """The message, including what was kept anyway."""
        return f"{self.what}{kept}. {self.remedy}"

    def __str__(self) -> str:
        return self.telling("")


def finite_weights(model: nn.Module) -> dict[str, Tensor] | None:
    """A copy of a model's state, or None if some of its weights are infinite or NaN."""
    if not all(bool(torch.isfinite(weight).all()) for weight in model.parameters()):
        return None
    if any(
        bool(torch.isnan(value).any()) for value in model.buffers()
    ):  # infinite ones are allowed
        return None
    return {name: value.clone() for name, value in model.state_dict().items()}
