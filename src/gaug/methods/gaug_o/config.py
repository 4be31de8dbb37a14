"""The settings of GAug-O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Range, Span, setting
from gaug.errors import ConfigError
from gaug.training.config import MethodConfig

#: How the scores of pairs become probabilities.
READINGS = ("max-normalized", "sigmoid")

#: The method itself, the paper's ablations, and a control.
VARIANTS = ("full", "no-sampling", "rounding", "no-edge-loss", "random")

#: How all pairs are processed.
ENGINES = ("blocked", "dense")


@dataclass(frozen=True)
class GAugOConfig(MethodConfig):
    """Settings of `GAugO`."""

    name: ClassVar[str] = "gaug-o"
    title: ClassVar[str] = "GAug-O"

    alpha: float = setting(
        0.2,
        "Influence of the edge predictor; 0 is the original graph.",
        within=Range(0, 1),
        search=Span(0, 1, 0.01),
    )
    beta: float = setting(1.0, "Weight of the edge loss.", within=Range(0), search=Span(0, 4, 0.1))
    temperature: float = setting(
        1.0,
        "Temperature of the relaxed sample.",
        within=Range(0, low_open=True),
        search=Span(0.1, 2.1, 0.1),
    )
    pretrain_predictor_epochs: int = setting(
        100,
        "Epochs of the edge predictor alone, before joint training.",
        within=Range(0),
        search=Span(5, 300, 5),
    )
    pretrain_classifier_epochs: int = setting(
        30,
        "Epochs of the classifier alone, before joint training.",
        within=Range(0),
        search=Span(5, 300, 5),
    )
    warmup: float = setting(
        0.0,
        "How steeply the predictor's learning rate rises in joint training; 0: full at once.",
        within=Range(0),
        search=Span(0, 10, 1),
    )
    edge_probability: str = setting(
        "max-normalized",
        "How scores become probabilities: divided by the largest, or by a sigmoid.",
        choices=READINGS,
    )
    variant: str = setting(
        "full", "full, without a part (the paper's ablation), or random edges.", choices=VARIANTS
    )
    engine: str = setting(
        "blocked", "blocked: memory for one block; dense: for N×N (reference).", choices=ENGINES
    )
    edge_model: str = setting("gae", "Edge predictor: gae or vgae.", choices=("gae", "vgae"))
    edge_hidden: int = setting(128, "Width of the predictor's hidden layer.", within=Range(1))
    edge_embedding: int = setting(32, "Width of the predictor's embeddings.", within=Range(1))
    edge_learning_rate: float = setting(
        0.01, "Adam's learning rate for the edge predictor.", within=Range(0, low_open=True)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "no-sampling" and self.edge_probability == "sigmoid":
            raise ConfigError(
                "variant=no-sampling needs edge_probability=max-normalized, got 'sigmoid':"
                " its sums over all pairs have no closed form."
            )
