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

    consistency_passes: int = setting(
        0,
        "Passes of a step that should agree on all nodes, each with a graph and dropout of its own;"
        " 0: no such loss.",
        within=Range(0),
        later=True,
    )
    consistency_temperature: float = setting(
        0.2,
        "How sharp the mean of the passes is made that each of them should agree with; 1: as it"
        " is.",
        within=Range(0, 1, low_open=True),
        later=True,
    )
    consistency_weight: float = setting(
        1.0,
        "Weight of the disagreement in the last epoch, to which it rises from the first on.",
        within=Range(0, low_open=True),
        later=True,
    )

    students: int = setting(
        0,
        "Models that are trained after the first, each also on what the one before it predicts for"
        " all nodes; the last one counts.",
        within=Range(0),
        later=True,
    )
    student_weight: float = setting(
        1.0,
        "Weight of a student's distance from its teacher.",
        within=Range(0, low_open=True),
        later=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.consistency_passes == 1:
            raise ConfigError(
                "consistency_passes must be 0 or at least 2, got 1: a single pass agrees with"
                " itself."
            )
        for name in ("consistency_temperature", "consistency_weight"):
            given = getattr(self, name)
            if self.consistency_passes == 0 and given != getattr(type(self), name):
                raise ConfigError(
                    f"{name}={given:g} is a setting of consistency: set consistency_passes, too."
                )
        if self.students == 0 and self.student_weight != type(self).student_weight:
            raise ConfigError(
                f"student_weight={self.student_weight:g} is a setting of students: set students,"
                " too."
            )
        for name in ("fanout", "batch_hops"):
            if getattr(self, name) is not None and self.batch_size is None:
                given = f"{name}={getattr(self, name)}"
                raise ConfigError(f"{given} is a setting of mini-batches: set batch_size, too.")

    def max_epochs(self, of_method: int) -> int:
        """Maximum number of epochs of a run, with those of the students.

        Args:
            of_method: Maximum number of epochs of its method.
        """
        return of_method + self.students * self.epochs

    def check_ranks(self, size: int) -> None:
        """Raise if a training of several processes cannot be split among them.

        Args:
            size: How many processes train together.
        """
        if size == 1:
            return
        if self.batch_size is None:
            raise ConfigError(
                f"{size} processes that train together split each batch, but without batch_size a"
                " step is on the whole graph. Set batch_size, the training nodes per step of all"
                " processes together."
            )
        if self.batch_size == "auto":
            raise ConfigError(
                "batch_size=auto is for one process. Set a number, the training nodes per step of"
                f" all {size} processes together."
            )
        if isinstance(self.batch_size, int) and self.batch_size < size:
            raise ConfigError(
                f"batch_size must be at least the number of processes, {size}, which split each"
                f" batch, got {self.batch_size}. Raise it or start fewer processes."
            )


@dataclass(frozen=True)
class MethodConfig(NamedConfig):
    """Base class of the settings of a method.

    Attributes:
        changes: When it changes the graph: ``once``, after which everything is on the changed
            graph, or in ``each epoch``, with predictions on the original graph. None: neither, so
            it cannot be a part of a stack.
        on_ranks: Whether several processes can train one classifier with it together.
    """

    changes: ClassVar[str | None] = None
    on_ranks: ClassVar[bool] = False

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

    def check_ranks(self, size: int) -> None:
        """Raise if several processes cannot train with this method together.

        Args:
            size: How many processes train together.
        """
        if size > 1 and not self.on_ranks:
            raise ConfigError(
                f"The method {self.name} cannot train in {size} processes together: its settings do"
                " not say on_ranks. Start one process, or use a method that can be split."
            )

    def check_training(self, training: TrainingConfig) -> None:
        """Raise if a setting would do nothing with these settings of the loop."""

    def resolved(self, num_nodes: int) -> MethodConfig:
        """The settings for a graph of this size, with every ``auto`` that depends on it decided."""
        return self
