"""How trials are trained: as long as it takes to compare them, which is shorter than to the end."""

from __future__ import annotations

import dataclasses

from gaug.training.config import TrainingConfig

# The share of the epochs of a look, and after which trials wait no longer for a better score.
_SHARE = 0.25
# No look has fewer epochs, and no trial less patience, where there are as many.
_LEAST_EPOCHS = 50


def look_training(training: TrainingConfig) -> TrainingConfig:
    """A quarter of the epochs, but at least 50: enough to see who leads.

    >>> [look_training(TrainingConfig(epochs=epochs)).epochs for epochs in (30, 200, 400)]
    [30, 50, 100]
    """
    return dataclasses.replace(training, epochs=_part(training))


def trial_training(training: TrainingConfig) -> TrainingConfig:
    """The same, with patience: a trial stops if it has not been better for a quarter of its epochs.

    >>> trial_training(TrainingConfig(epochs=400)).patience
    100
    """
    if training.patience is not None or training.selection == "last":
        return training
    return dataclasses.replace(training, patience=_part(training))


def _part(training: TrainingConfig) -> int:
    return min(training.epochs, max(_LEAST_EPOCHS, round(_SHARE * training.epochs)))
