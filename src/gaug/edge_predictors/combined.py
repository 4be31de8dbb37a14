"""Several predictors as one: a weighted sum of their scores on a common scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.config import Range
from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.config import SCALES
from gaug.edge_predictors.evaluation import random_pairs
from gaug.errors import ConfigError
from gaug.pairs.ranking import OnShare, part_of_work

# Random pairs in the reference that sets the scale of each predictor, besides the edges.
_REFERENCE_PAIRS = 100_000


class CombinedPredictor(EdgePredictor):
    r"""A weighted sum of predictors, $\sum_p w_p\, f_p(s_p(u, v))$.

    Scores of different predictors are on different scales. ``standardized`` subtracts the mean and
    divides by the standard deviation of each over a reference: the edges and 100,000 random pairs.
    ``ranks`` takes the share of the reference that scores lower. Both are fixed by `fit`, so the
    sum can be ranked exactly like any other score.

    Args:
        predictors: The terms of the sum.
        weights: One weight per predictor; equal by default.
        scale: ``standardized`` or ``ranks``.
        fitted: Whether the predictors are already fitted to the graph; otherwise `fit` does it.
    """

    def __init__(
        self,
        predictors: Sequence[EdgePredictor],
        weights: Sequence[float] | None = None,
        scale: str = "standardized",
        *,
        fitted: bool = False,
    ) -> None:
        self.predictors = list(predictors)
        self.fitted = fitted
        self.weights = [1.0] * len(self.predictors) if weights is None else list(weights)
        self.scale = scale
        if not self.predictors:
            raise ConfigError("A combination needs at least one predictor.")
        if len(self.weights) != len(self.predictors):
            raise ConfigError(
                f"weights must have one number per predictor ({len(self.predictors)}),"
                f" got {len(self.weights)}."
            )
        if scale not in SCALES:
            raise ConfigError(f"Unknown scale {scale!r}. Choose from: {', '.join(SCALES)}.")
        if any(weight not in Range(0, low_open=True) for weight in self.weights):
            raise ConfigError(f"weights must be above 0, got {self.weights}.")

    @property
    def looks_at_labels(self) -> bool:
        """Whether one of the predictors reads the labels of all nodes."""
        return any(predictor.looks_at_labels for predictor in self.predictors)

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        generator = torch.Generator().manual_seed(seed)
        pairs = random_pairs(self.num_nodes_, _REFERENCE_PAIRS, generator)
        reference = torch.cat([self.edges_, pairs], dim=1)
        self._scales: list[_Scale] = []
        for done, predictor in enumerate(self.predictors):
            if not self.fitted:
                predictor.fit(data, seed, on_share=part_of_work(on_share, done, len(self.weights)))
            scores = predictor.edge_logits(reference)
            self._scales.append(self._scale_type.of(scores))
        self.slack = self._total_slack()

    @property
    def _scale_type(self) -> type[_Standard] | type[_Ranks]:
        return _Ranks if self.scale == "ranks" else _Standard

    def _total_slack(self) -> float:
        parts = zip(self.weights, self._scales, self.predictors, strict=True)
        slack = sum(
            weight * scale.largest_change(predictor.slack) if predictor.slack else 0.0
            for weight, scale, predictor in parts
        )
        # Rounding the sum to float32 changes it, too, by less than this.
        return slack + 1e-5 * sum(self.weights) if slack else 0.0

    def _adapt(self, data: Data) -> None:
        self.predictors = [predictor.adapted(data) for predictor in self.predictors]
        self.slack = self._total_slack()

    def learned(self) -> dict[str, Tensor]:
        """What the predictors learned, and the scale of each."""
        found: dict[str, Tensor] = {}
        for number, (predictor, scale) in enumerate(
            zip(self.predictors, self._scales, strict=True)
        ):
            found |= {f"{number}.{name}": value for name, value in predictor.learned().items()}
            found[f"scale{number}"] = scale.numbers
        return found

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load what the predictors of another sum learned."""
        self._scales = []
        for number, predictor in enumerate(self.predictors):
            own = f"{number}."
            predictor.restore(
                {
                    name.removeprefix(own): value
                    for name, value in learned.items()
                    if name.startswith(own)
                }
            )
            self._scales.append(self._scale_type(learned[f"scale{number}"]))

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The weighted sum for each pair.  [2, n] → [n]"""
        self.check_pairs(pairs)
        return self._sum([predictor.edge_logits(pairs) for predictor in self.predictors])

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        return self._sum(
            [predictor.score_rows(start, stop, first_column) for predictor in self.predictors]
        )

    def _sum(self, scores: list[Tensor]) -> Tensor:
        total = torch.zeros_like(scores[0], dtype=torch.float64)
        for weight, scale, part in zip(self.weights, self._scales, scores, strict=True):
            total += weight * scale(part)
        return total.float()


class _Standard:
    """Mean 0 and standard deviation 1 over the reference."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers
        self.mean, self.deviation = float(numbers[0]), float(numbers[1])

    @classmethod
    def of(cls, reference: Tensor) -> _Standard:
        mean = float(reference.double().mean())
        deviation = float(reference.double().std()) or 1.0
        return cls(torch.tensor([mean, deviation], dtype=torch.float64))

    def __call__(self, scores: Tensor) -> Tensor:
        return (scores.double() - self.mean) / self.deviation

    def largest_change(self, slack: float) -> float:
        return slack / self.deviation


class _Ranks:
    """The share of the reference that is lower; ties count half."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers
        self.ordered = numbers.numpy()

    @classmethod
    def of(cls, reference: Tensor) -> _Ranks:
        return cls(reference.double().sort().values)

    def __call__(self, scores: Tensor) -> Tensor:
        flat = scores.double().numpy().ravel()
        below = np.searchsorted(self.ordered, flat, side="left")
        upto = np.searchsorted(self.ordered, flat, side="right")
        share = (below + upto) / (2 * self.ordered.size)
        return torch.from_numpy(share.reshape(scores.shape))

    def largest_change(self, slack: float) -> float:
        """How much the share can change if a score changes by the slack: the densest window."""
        end = np.searchsorted(self.ordered, self.ordered + 2 * slack, side="right")
        return float((end - np.arange(self.ordered.size)).max() / self.ordered.size)


_Scale = _Standard | _Ranks
