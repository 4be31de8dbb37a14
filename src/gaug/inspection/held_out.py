"""How good predictions are on nodes that did not train: by class, and by confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Equal intervals of confidence in which predictions are compared with the truth.
BINS = 10


@dataclass(frozen=True)
class ClassScore:
    """How well one class is found.

    Attributes:
        nodes: Nodes of this class.
        predicted: Nodes that were predicted to be of it.
        right: Those of them that are.
    """

    nodes: int
    predicted: int
    right: int

    @property
    def precision(self) -> float | None:
        """Share of the predictions that are right; None without any."""
        return self.right / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """Share of the class's nodes that are found; None without any."""
        return self.right / self.nodes if self.nodes else None


@dataclass(frozen=True)
class Calibration:
    """Predictions by confidence.

    Attributes:
        confidence: Mean confidence of each interval that has predictions.
        accuracy: Share of right ones.
        count: Number of them.
    """

    confidence: list[float]
    accuracy: list[float]
    count: list[int]

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of confidence and accuracy (Guo et al., 2017).

        0 means that of the predictions with confidence p the share p is right.
        """
        total = sum(self.count)
        parts = zip(self.confidence, self.accuracy, self.count, strict=True)
        return sum(abs(c - a) * n for c, a, n in parts) / total if total else 0.0


def confusion(truth: np.ndarray, predicted: np.ndarray, num_classes: int) -> np.ndarray:
    """Counts of nodes by true class (rows) and predicted class (columns).  [C, C]

    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    keys = truth * num_classes + predicted
    return np.bincount(keys, minlength=num_classes**2).reshape(num_classes, num_classes)


def class_scores(truth: np.ndarray, predicted: np.ndarray) -> list[ClassScore]:
    """The score of each class.

    Args:
        truth: Whether a node has a class.  [n, C]
        predicted: Whether it is predicted to.  [n, C]
    """
    return [
        ClassScore(int(truth[:, c].sum()), int(predicted[:, c].sum()), int(both))
        for c, both in enumerate((truth & predicted).sum(axis=0))
    ]


def calibration(confidence: np.ndarray, right: np.ndarray) -> Calibration:
    """Compare confidence with accuracy in equal intervals.

    Args:
        confidence: Probability of each prediction.  [n]
        right: Whether it is right.  [n]
    """
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    sure = np.bincount(place, weights=confidence, minlength=BINS)
    hits = np.bincount(place, weights=right.astype(float), minlength=BINS)
    used = count > 0
    return Calibration(
        (sure[used] / count[used]).tolist(),
        (hits[used] / count[used]).tolist(),
        count[used].tolist(),
    )
