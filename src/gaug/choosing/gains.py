r"""How much better than no augmentation, compared node by node, and how sure that is.

Two methods are compared on the same validation nodes with the same seeds, so most of the chance in
their scores is the same for both and drops out of the difference. What is left has two sources:
other validation nodes would give another gain, and so would other seeds. The difference at node i
in run r has a part of the node, a part of the run and a rest, whose variances are estimated from
sums of squares, also where each run has other nodes (Henderson, 1953).

The best of many is best partly by chance. So the gain of each candidate, in terms of its standard
error, is compared with the largest such ratio that chance alone would give among all candidates
(Hansen's test for superior predictive ability, 2005). Candidates are correlated, because they share
nodes, seeds and the runs without augmentation; the largest ratio is simulated with these
correlations. A candidate that is clearly worse than no augmentation adds no chance of a false
discovery, and is left out of it.

Finalists have runs of their own, with new seeds and some other nodes. What put them in front is
their luck in earlier runs, and only a part of that luck is still there in the final. How large that
part is shows in the data: in how much the node effects of the earlier and of the final runs are
alike. So for finalists, the whole choice is simulated: earlier runs by chance, the best of them
chosen, and their final by chance that is correlated with the earlier runs to this degree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

#: Scores of nodes in percent, one row per run; NaN where a node was not validated.  [R, n]
NodeScores = NDArray[np.float64]

# Draws of the largest ratio that chance gives: an error of half a percent at a confidence of 95.
_DRAWS = 20_000


@dataclass(frozen=True)
class RunScores:
    """The scores of validation nodes in repeated runs.

    Attributes:
        runs: Numbers of the runs, which decide their seeds.
        values: The score of each run.
        nodes: Scores of the nodes; the mean of a row is the score of the run.  [R, n]
    """

    runs: tuple[int, ...]
    values: tuple[float, ...]
    nodes: NodeScores

    @property
    def num_nodes(self) -> int:
        """Number of validation nodes of a run."""
        return int((~np.isnan(self.nodes)).sum(axis=1).max())

    @property
    def mean(self) -> float:
        """The mean score."""
        return math.fsum(self.values) / len(self.values)

    def joined(self, other: RunScores) -> RunScores:
        """The runs of both."""
        return RunScores(
            (*self.runs, *other.runs),
            (*self.values, *other.values),
            np.concatenate([self.nodes, other.nodes]),
        )

    def minus(self, other: RunScores) -> RunScores:
        """The differences in the runs that both have."""
        shared = self.shared(other)
        mine = [self.runs.index(run) for run in shared]
        others = [other.runs.index(run) for run in shared]
        values = [self.values[i] - other.values[j] for i, j in zip(mine, others, strict=True)]
        return RunScores(shared, tuple(values), self.nodes[mine] - other.nodes[others])

    def shared(self, other: RunScores) -> tuple[int, ...]:
        """The numbers of the runs that both have."""
        return tuple(run for run in self.runs if run in other.runs)


@dataclass(frozen=True)
class Gain:
    """The gain of a candidate over no augmentation on validation nodes.

    Attributes:
        points: Mean difference of the scores.
        error: Its standard error.
        confidence: How sure it is that the gain is above 0, between 0 and 1, considering how many
            other candidates were tried.
    """

    points: float
    error: float
    confidence: float

    def interval(self, share: float = 0.9) -> tuple[float, float]:
        """The interval that contains the true gain with this probability, taken by itself."""
        half = float(scipy.stats.norm.ppf((1 + share) / 2)) * self.error
        return self.points - half, self.points + half

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {"points": self.points, "error": self.error, "confidence": self.confidence}

    def __str__(self) -> str:
        return f"{self.points:+.1f} ± {self.error:.1f}"


def gains_over(plain: RunScores, others: Sequence[RunScores], seed: int = 0) -> list[Gain]:
    """The gain of each candidate, judged beside all others.

    Args:
        plain: The runs without augmentation.
        others: The runs of the candidates; each must share a run with those without augmentation.
        seed: Seed of the simulated chance.
    """
    differences = [_Difference.of(other.minus(plain)) for other in others]
    if not differences:
        return []
    chance = _Chance.of(differences, seed)
    return _judged(differences, chance.draw().max(axis=1))


def gains_of_finalists(
    plain: RunScores,
    earlier: Sequence[RunScores],
    final: Mapping[int, RunScores],
    seed: int = 0,
) -> list[Gain]:
    """The gains of finalists, judged by how they were chosen.

    Args:
        plain: The runs without augmentation.
        earlier: The earlier runs of all candidates, of which those best on average are finalists.
        final: The final runs of the finalists, by the place of the candidate in ``earlier``.
        seed: Seed of the simulated chance.
    """
    if not final:
        return []
    before = [_Difference.of(other.minus(plain)) for other in earlier]
    after = {place: _Difference.of(other.minus(plain)) for place, other in final.items()}
    alike = [before[place].likeness(difference) for place, difference in after.items()]
    kept = min(1.0, max(0.0, math.fsum(alike) / len(alike)))  # of the luck of earlier runs
    chance = _Chance.of(before, seed)
    first = chance.draw()
    last = kept * first + math.sqrt(1 - kept**2) * chance.draw()
    chosen = np.argsort(-first * chance.errors, axis=1)[:, : len(final)]
    return _judged(list(after.values()), np.take_along_axis(last, chosen, axis=1).max(axis=1))


def _judged(differences: Sequence[_Difference], largest: NDArray[np.float64]) -> list[Gain]:
    """Gains with how sure they are, by draws of the largest ratio that chance gives."""
    ratios = np.array([difference.ratio for difference in differences])
    # The share of draws above a ratio; one more is counted, so that it is never 0.
    above = len(largest) - np.searchsorted(np.sort(largest), ratios, side="left")
    chances = (above + 1) / (len(largest) + 1)
    return [
        Gain(difference.mean, difference.error, float(1 - chance) if difference.mean > 0 else 0.0)
        for difference, chance in zip(differences, chances, strict=True)
    ]


@dataclass(frozen=True)
class _Difference:
    """Differences to no augmentation, with what is needed of them.

    Attributes:
        mean: The mean difference.
        error: Its standard error.
        spread: The same without the node that could have gone the other way.
        ratio: The mean in terms of the error, as if that were known exactly.
        by_node: What each node contributes to the deviation of the mean.  [n]
        by_run: What each run contributes, by its number.
    """

    mean: float
    error: float
    spread: float
    ratio: float
    by_node: NDArray[np.float64]
    by_run: Mapping[int, float]

    def likeness(self, other: _Difference) -> float:
        """The correlation of the deviations of two means that have no runs in common.

        What they share is the effects of nodes, whose covariance is that of what each node
        contributes.
        """
        spreads = self.spread * other.spread
        return float(self.by_node @ other.by_node) / spreads if spreads > 0 else 1.0

    @classmethod
    def of(cls, differences: RunScores) -> _Difference:
        x = differences.nodes
        seen = ~np.isnan(x)
        total = seen.sum()
        mean = float(np.nanmean(x))
        centered = np.where(seen, x - mean, 0.0)
        by_node = centered.sum(axis=0) / total
        by_run = centered.sum(axis=1) / total
        nodes, runs = int(seen.any(axis=0).sum()), len(by_run)
        # One node more could have gone the other way: the smallest number of nodes is never sure.
        parts = _variance_of_mean(x, seen)
        of_nodes = parts.nodes + parts.rest + (100.0 / nodes) ** 2
        variance = of_nodes + parts.runs
        error = math.sqrt(variance)
        # Few runs or nodes know their own spread badly (Satterthwaite's degrees of freedom).
        doubt = of_nodes**2 / max(1, nodes - 1) + parts.runs**2 / max(1, runs - 1)
        freedom = variance**2 / doubt if doubt > 0 else math.inf
        ratio = _as_normal(mean / error, freedom)
        return cls(
            differences.mean,
            error,
            math.sqrt(sum(parts)),
            ratio,
            by_node,
            dict(zip(differences.runs, by_run, strict=True)),
        )


class _Variance(NamedTuple):
    """The variance of a mean, by where it comes from."""

    nodes: float
    runs: float
    rest: float


def _variance_of_mean(x: NodeScores, seen: NDArray[np.bool_]) -> _Variance:
    """The variance of the mean that nodes, runs, and nodes in single runs contribute.

    Three sums of squares are set to their expectations, which are linear in the three variances
    (Henderson's first method). It does not matter which nodes a run has.
    """
    total, squares = float(seen.sum()), np.where(seen, x, 0.0)
    of_node, of_run = seen.sum(axis=0), seen.sum(axis=1)  # how often, how many
    nodes, runs = int((of_node > 0).sum()), len(of_run)
    by_mean = squares.sum() ** 2 / total
    by_node = (squares.sum(axis=0) ** 2 / np.maximum(1, of_node)).sum()
    by_run = (squares.sum(axis=1) ** 2 / np.maximum(1, of_run)).sum()
    repeated, large = float((of_node**2).sum()) / total, float((of_run**2).sum()) / total
    found = np.array([by_node, by_run, (squares**2).sum()]) - by_mean
    expected = np.array(
        [
            [total - repeated, nodes - large, nodes - 1],
            [runs - repeated, total - large, runs - 1],
            [total - repeated, total - large, total - 1],
        ]
    )
    # Where each node is seen once, only the sum of two variances is known, and needed.
    variances = np.maximum(np.linalg.lstsq(expected, found, rcond=None)[0], 0.0)
    return _Variance(*(variances * [repeated, large, 1.0] / total).tolist())


def _as_normal(ratio: float, freedom: float) -> float:
    """The normal deviate that is as unlikely as a ratio with an estimated error."""
    if freedom > 1000:
        return ratio
    tail = float(scipy.stats.t.sf(abs(ratio), freedom))
    return math.copysign(float(scipy.stats.norm.isf(max(tail, 1e-300))), ratio)


class _Chance:
    """Ratios that candidates have by chance if they gain nothing, correlated as they are.

    Attributes:
        errors: The standard error of each candidate.
    """

    def __init__(self, candidates: Sequence[_Difference], seed: int) -> None:
        self.errors = np.array([candidate.error for candidate in candidates])
        self._generator = np.random.default_rng(seed)
        numbers = sorted({run for candidate in candidates for run in candidate.by_run})
        parts = np.array(
            [[*one.by_node, *(one.by_run.get(run, 0.0) for run in numbers)] for one in candidates]
        )  # [K, n + R]
        lengths = np.linalg.norm(parts, axis=1, keepdims=True)
        parts = np.divide(parts, lengths, out=np.zeros_like(parts), where=lengths > 0)
        correlation = parts @ parts.T
        np.fill_diagonal(correlation, 1.0)
        values, vectors = np.linalg.eigh(correlation)
        self._root = vectors * np.sqrt(np.maximum(values, 0.0))

    @classmethod
    def of(cls, candidates: Sequence[_Difference], seed: int) -> _Chance:
        """The chance of those that are not clearly worse than no augmentation."""
        nodes = len(candidates[0].by_node)
        clearly_worse = -math.sqrt(2 * math.log(max(math.e, math.log(max(nodes, 3)))))
        counted = [candidate for candidate in candidates if candidate.ratio > clearly_worse]
        return cls(counted or [max(candidates, key=lambda one: one.ratio)], seed)

    def draw(self) -> NDArray[np.float64]:
        """Ratios of all candidates.  [draws, K]"""
        normal = self._generator.standard_normal((_DRAWS, len(self._root)))
        ratios: NDArray[np.float64] = normal @ self._root.T
        return ratios
