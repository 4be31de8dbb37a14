"""A round of training under way."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gaug.training.batches import MiniBatches, WholeGraph
from gaug.training.best_epoch import BestEpoch
from gaug.training.hooks import Round


@dataclass
class Stage:
    """A round under way.

    Attributes:
        round: The round, with its number of epochs.
        number: How many rounds were before it.
        batches: What its epochs train on.
        optimizer: That of the classifier; None if the method trains alone.
        best: The best epoch so far.
        done: Epochs done.
        interval: Epochs from one validation to the next; 0 if not known yet.
        teacher: Class probabilities from which a student learns; None if it is no student.  [N, C]
    """

    round: Round
    number: int
    batches: WholeGraph | MiniBatches
    optimizer: torch.optim.Optimizer | None
    best: BestEpoch = field(default_factory=BestEpoch)
    done: int = 0
    interval: int = 0
    teacher: Tensor | None = None

    @property
    def epochs(self) -> int:
        """The number of epochs at most."""
        assert self.round.epochs is not None, "filled in when the round begins"
        return self.round.epochs
