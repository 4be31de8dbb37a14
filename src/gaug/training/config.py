"""The settings of the training loop and the base of those of a method, without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

from gaug.config import Config, NamedConfig, Range, setting
from gaug.edge_predictors.config import PredictorConfig


@dataclass(frozen=True)
class TrainingConfig(Config):
    """Settings of the loop."""

    epochs: int = setting(200, "Epochs at most.", within=Range(1))
    patience: int | None = setting(
        None,
        "Stop after so many epochs without a better validation score, or the same at a lower loss.",
        within=Range(1),
    )
    selection: str = setting(
        "validation",
        "Which epoch counts: the best on the validation nodes, or the last.",
        choices=("validation", "last"),
    )


@dataclass(frozen=True)
class MethodConfig(NamedConfig):
    """Base of the settings of a method."""

    def predictor_configs(self) -> dict[str, PredictorConfig]:
        """The default settings of the edge predictors that these settings name, by name."""
        return {}
