"""The settings of the training loop and the base of method settings, without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

from gaug.config import Config, NamedConfig, Range, setting
from gaug.edge_predictors.config import PredictorConfig


@dataclass(frozen=True)
class TrainingConfig(Config):
    """Settings of the loop."""

    epochs: int = setting(200, "Maximum number of epochs.", within=Range(1))
    patience: int | None = setting(
        None,
        "Stop after this many epochs without a better validation score, or loss at equal score.",
        within=Range(1),
    )
    selection: str = setting(
        "validation",
        "Epoch to keep: the best on the validation nodes, or the last.",
        choices=("validation", "last"),
    )


@dataclass(frozen=True)
class MethodConfig(NamedConfig):
    """Base class of the settings of a method."""

    def predictor_configs(self) -> dict[str, PredictorConfig]:
        """The default settings of the edge predictors that are named here, by name."""
        return {}
