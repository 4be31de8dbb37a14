"""The settings of GAug-O."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Range, Span, setting
from gaug.errors import ConfigError
from gaug.training.config import MethodConfig, TrainingConfig

#: How the scores of pairs become probabilities.
READINGS = ("max-normalized", "sigmoid")

#: The method itself, the paper's ablations, and a control.
VARIANTS = ("full", "no-sampling", "rounding", "no-edge-loss", "random")

#: How pairs are processed.
ENGINES = ("auto", "blocked", "sparse", "dense")

# Largest number of nodes for which ``auto`` goes through all pairs. With 2,700 nodes, sparse is 2.6
# times as fast; see benchmarks/README.md.
_ALL_PAIRS_UP_TO = 2_000
_SET_SPARSE = "Set engine=sparse, or leave it out."


@dataclass(frozen=True)
class GAugOConfig(MethodConfig):
    """Settings of `GAugO`."""

    name: ClassVar[str] = "gaug-o"
    title: ClassVar[str] = "GAug-O"
    changes: ClassVar[str | None] = "each epoch"
    on_ranks: ClassVar[bool] = True

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
    pretrain_weights: str = setting(
        "last",
        "Weights of the classifier that pretraining hands on: the last, or the best on validation"
        " nodes.",
        choices=("last", "best"),
        search=("last", "best"),
        later=True,
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
        "auto",
        "blocked: every pair, in blocks; sparse: linear in the edges; dense: N×N (reference).",
        choices=ENGINES,
    )
    max_sampled_edges: int | None = setting(
        None,
        "Most edges that sparse adds to a sample on average; none: four times those of the graph.",
        within=Range(1),
        later=True,
    )
    sampled_pairs: int = setting(
        128,
        "Random pairs per node in the sums over all pairs of sparse.",
        within=Range(1),
        later=True,
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
        if self.engine == "sparse":
            reason = _not_sparse(self)
            if reason is not None:
                raise ConfigError(f"{reason} Use engine=blocked.")
        given = self._of_sparse()
        if given is not None and self.engine in ("blocked", "dense"):
            raise ConfigError(f"{given} goes with engine=sparse, got engine={self.engine}.")

    def check_training(self, training: TrainingConfig) -> None:
        """Raise if the best weights are asked for where nothing is validated."""
        if self.pretrain_weights == "best" and training.selection == "last":
            raise ConfigError(
                "pretrain_weights=best goes by the validation score, but selection=last does not"
                " look at it. Leave one of them out."
            )

    def resolved(self, num_nodes: int) -> GAugOConfig:
        """These settings with the engine that a graph of this many nodes gets.

        >>> GAugOConfig().resolved(1190).engine, GAugOConfig().resolved(2708).engine
        ('blocked', 'sparse')
        """
        engine, given = resolved_engine(self, num_nodes), self._of_sparse()
        if self.engine == "auto" and engine != "sparse" and given is not None:
            raise ConfigError(
                f"{given} goes with engine=sparse, but engine=auto is {engine} for"
                f" {num_nodes:,} nodes and these settings. {_not_sparse(self) or _SET_SPARSE}"
            )
        return dataclasses.replace(self, engine=engine)

    def _of_sparse(self) -> str | None:
        """A setting of the sparse engine that was given, with its value."""
        for name in ("max_sampled_edges", "sampled_pairs"):
            if getattr(self, name) != getattr(type(self), name):
                return f"{name}={getattr(self, name)}"
        return None


def resolved_engine(config: GAugOConfig, num_nodes: int) -> str:
    """The engine for a graph: of ``auto``, ``blocked`` for small graphs and ``sparse`` for others.

    Args:
        config: The settings.
        num_nodes: Number of nodes.
    """
    if config.engine != "auto":
        return config.engine
    small = num_nodes <= _ALL_PAIRS_UP_TO
    return "blocked" if small or _not_sparse(config) is not None else "sparse"


def _not_sparse(config: GAugOConfig) -> str | None:
    """Why the sparse engine does not apply to these settings."""
    if config.edge_probability == "sigmoid":
        return (
            "engine=sparse needs edge_probability=max-normalized, got 'sigmoid': it draws few"
            " pairs, and a sigmoid joins a share of all."
        )
    if config.variant in ("rounding", "no-sampling"):
        return f"engine=sparse draws edges at random, and variant={config.variant} does not."
    return None
