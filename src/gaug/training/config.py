"""The settings of the training loop and the base of method settings, without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Config, NamedConfig, Range, setting
from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import ConfigError


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
    batch_size: int | str | None = setting(
        None,
        "Training nodes per step, or auto: as many as memory allows. None: the whole graph.",
        within=Range(1),
        choices=("auto",),
        later=True,
    )
    fanout: int | None = setting(
        None,
        "Neighbors of a node that a batch follows at most, drawn anew for each batch; None: all.",
        within=Range(1),
        later=True,
    )
    batch_hops: int | None = setting(
        None,
        "Hops around its training nodes that a batch holds. None: the number of layers.",
        within=Range(0),
        later=True,
    )
    validate_every: int | None = setting(
        None,
        "Epochs from one validation to the next. None: 1, or in mini-batches as many as keep"
        " validation cheaper than training, at most 10.",
        within=Range(1),
        later=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fanout", "batch_hops"):
            if getattr(self, name) is not None and self.batch_size is None:
                given = f"{name}={getattr(self, name)}"
                raise ConfigError(f"{given} is a setting of mini-batches: set batch_size, too.")


@dataclass(frozen=True)
class MethodConfig(NamedConfig):
    """Base class of the settings of a method.

    Attributes:
        changes: When it changes the graph: ``once``, after which everything is on the changed
            graph, or in ``each epoch``, with predictions on the original graph. None: neither, so
            it cannot be a part of a stack.
    """

    changes: ClassVar[str | None] = None

    @property
    def changing(self) -> MethodConfig:
        """The settings of the method that changes the graph: itself, or the first of a stack."""
        return self

    def spelled(self, name: str) -> str:
        """The name of a setting as this group has it; a stack allows for those of its parts."""
        return name

    def predictor_configs(self) -> dict[str, PredictorConfig]:
        """The default settings of the edge predictors that are named here, by name."""
        return {}

    def resolved(self, num_nodes: int) -> MethodConfig:
        """The settings for a graph of this size, with every ``auto`` that depends on it decided."""
        return self
