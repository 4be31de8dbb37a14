"""How far a run is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        epochs: Epochs done so far in all rounds, those of the method alone among them, and a
            fraction for the batches of the epoch under way.
        note: Where it is and how well it does, in a few words.
        resumed: Whether it goes on from a checkpoint.
    """

    epochs: float
    note: str
    resumed: bool = False


#: Called after each epoch, and in epochs of several batches after each batch.
OnEpoch = Callable[[Progress], None]
