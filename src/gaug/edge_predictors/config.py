"""The settings of each edge predictor; importing them does not import PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import NamedConfig, Range, setting
from gaug.errors import ConfigError

#: How the scores of the predictors in a sum are made comparable.
SCALES = ("standardized", "ranks")


@dataclass(frozen=True)
class PredictorConfig(NamedConfig):
    """Base class of the settings of a predictor.

    Attributes:
        looks_at_labels: Whether it reads the labels of all nodes, which only a control may.
    """

    looks_at_labels: ClassVar[bool] = False


@dataclass(frozen=True)
class GAEConfig(PredictorConfig):
    """Settings of `GAE`."""

    name: ClassVar[str] = "gae"
    title: ClassVar[str] = "GAE"

    predictor_hidden: int = setting(32, "Width of the encoder's hidden layer.", within=Range(1))
    embedding: int = setting(16, "Width of the embeddings.", within=Range(1))
    predictor_epochs: int = setting(200, "Epochs of the predictor.", within=Range(1))
    predictor_learning_rate: float = setting(
        0.01, "Adam's learning rate for the predictor.", within=Range(0, low_open=True)
    )
    edge_loss: str = setting(
        "auto",
        "dense, exact or sampled (see edge_loss.py); auto: exact for up to 25,000 nodes.",
        choices=("auto", "dense", "exact", "sampled"),
    )
    holdout_fraction: float = setting(
        0.0,
        "Share of edges held out of training to choose the epoch; 0: all edges choose it.",
        within=Range(0, 0.5),
    )
    predictor_batch_size: int | None = setting(
        None,
        "Nodes at the center of each mini-batch of the predictor; None: the whole graph.",
        within=Range(1),
        later=True,
    )
    predictor_fanout: int | None = setting(
        None,
        "Neighbors of a node that a mini-batch of the predictor follows at most; None: all.",
        within=Range(1),
        later=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.predictor_fanout is not None and self.predictor_batch_size is None:
            raise ConfigError(
                f"predictor_fanout={self.predictor_fanout} is a setting of mini-batches: set"
                " predictor_batch_size, too."
            )


@dataclass(frozen=True)
class VGAEConfig(GAEConfig):
    """Settings of `VGAE`."""

    name: ClassVar[str] = "vgae"
    title: ClassVar[str] = "VGAE"


@dataclass(frozen=True)
class JaccardConfig(PredictorConfig):
    """Settings of `Jaccard`, which has none."""

    name: ClassVar[str] = "jaccard"
    title: ClassVar[str] = "Jaccard index"


@dataclass(frozen=True)
class ResourceAllocationConfig(PredictorConfig):
    """Settings of `ResourceAllocation`, which has none."""

    name: ClassVar[str] = "ra"
    title: ClassVar[str] = "resource allocation"


@dataclass(frozen=True)
class LocalLeichtHolmeNewmanConfig(PredictorConfig):
    """Settings of `LocalLeichtHolmeNewman`, which has none."""

    name: ClassVar[str] = "llhn"
    title: ClassVar[str] = "local Leicht-Holme-Newman index"


@dataclass(frozen=True)
class CARConfig(PredictorConfig):
    """Settings of `CAR`, which has none."""

    name: ClassVar[str] = "car"
    title: ClassVar[str] = "CAR index"


@dataclass(frozen=True)
class LocalNaiveBayesConfig(PredictorConfig):
    """Settings of `LocalNaiveBayes`, which has none."""

    name: ClassVar[str] = "lnb"
    title: ClassVar[str] = "local naive Bayes"


@dataclass(frozen=True)
class FeatureSimilarityConfig(PredictorConfig):
    """Settings of `FeatureSimilarity`."""

    name: ClassVar[str] = "features"
    title: ClassVar[str] = "feature similarity"

    weighting: str = setting(
        "tfidf",
        "tfidf: rare features count more; raw: features as they are.",
        choices=("tfidf", "raw"),
    )


@dataclass(frozen=True)
class SmoothedFeaturesConfig(PredictorConfig):
    """Settings of `SmoothedFeatures`."""

    name: ClassVar[str] = "smoothed"
    title: ClassVar[str] = "smoothed features"

    components: int = setting(64, "Principal directions of the features to keep.", within=Range(1))
    restart: float = setting(
        0.1,
        "Share of a node's own features at each smoothing step; 1: no smoothing.",
        within=Range(0, 1, low_open=True),
    )


@dataclass(frozen=True)
class StructuralSimilarityConfig(PredictorConfig):
    """Settings of `StructuralSimilarity`."""

    name: ClassVar[str] = "structure"
    title: ClassVar[str] = "structural similarity"

    depth: int = setting(
        1, "How many times neighbors are averaged; 0: only the node itself.", within=Range(0, 10)
    )


@dataclass(frozen=True)
class RandomConfig(PredictorConfig):
    """Settings of `RandomPredictor`, which has none."""

    name: ClassVar[str] = "random"
    title: ClassVar[str] = "random"


@dataclass(frozen=True)
class OmniscientConfig(PredictorConfig):
    """Settings of `OmniscientPredictor`, which has none."""

    name: ClassVar[str] = "omniscient"
    title: ClassVar[str] = "omniscient"
    looks_at_labels: ClassVar[bool] = True
