"""The settings of BGCN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Config, Range, Span, setting
from gaug.errors import ConfigError
from gaug.training.config import MethodConfig

_POSITIVE = Range(1)
_WITH_A_MODE = Range(1)  # below 1 the density is unbounded


@dataclass(frozen=True)
class BlockModelConfig(Config):
    """Settings of `fit_block_model`."""

    communities: int | None = setting(
        None, "Number of communities, at least that of classes; none: the same.", within=_POSITIVE
    )
    anchor: float = setting(
        2.0,
        "Weight of the prediction for a node; 1: on average as much as its edges.",
        within=Range(0),
        search=Span(0.5, 8, 0.5),
    )
    membership_prior: float = setting(
        1.0, "Parameter of the Dirichlet prior of memberships; 1: flat.", within=_WITH_A_MODE
    )
    strength_prior: float = setting(
        1.0, "Parameter of the Beta prior of edge probabilities; 1: flat.", within=_WITH_A_MODE
    )
    block_steps: int = setting(100, "Gradient steps of the block model.", within=Range(0))
    block_pairs: int = setting(
        10_000, "Edges per step, and as many random pairs.", within=_POSITIVE
    )
    block_learning_rate: float = setting(
        0.1, "Adam's learning rate for the block model.", within=Range(0, 1, low_open=True)
    )

    def num_communities(self, num_classes: int) -> int:
        """The number of communities for this many classes; raise if it is too small."""
        if self.communities is None:
            return num_classes
        if self.communities < num_classes:
            raise ConfigError(
                f"communities must be at least the number of classes ({num_classes}),"
                f" got {self.communities}."
            )
        return self.communities


@dataclass(frozen=True)
class BGCNConfig(BlockModelConfig, MethodConfig):
    """Settings of `BGCN`."""

    name: ClassVar[str] = "bgcn"
    title: ClassVar[str] = "BGCN"
    on_ranks: ClassVar[bool] = True

    graphs: int = setting(5, "Graphs to draw, each with its own GNN.", within=Range(1))
    dropout_samples: int = setting(
        10,
        "Predictions per GNN with dropout; 0: one prediction without.",
        within=Range(0),
        search=Span(0, 20, 10),
    )
    prediction: str = setting(
        "class",
        "What memberships follow: the predicted class, or the probabilities of all classes.",
        choices=("class", "probabilities"),
        search=("class", "probabilities"),
    )
