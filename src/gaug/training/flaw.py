"""Why a round of training stopped early."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gaug.errors import TrainingError
from gaug.training.hooks import AugmentedRun, Round


class FlawError(TrainingError):
    """A training came to a flaw, and would again from any of its checkpoints."""


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
        kind = " of pretraining" if current.pretraining else ""
        kind = " of a student" if current.student else kind
        where = f"epoch {epoch}{kind}"
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
