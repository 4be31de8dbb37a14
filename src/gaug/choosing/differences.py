r"""Differences between the scores of two methods, with their standard errors.

The difference at node i in run r has a part of the node, a part of the run and a rest, whose
variances are estimated from sums of squares, also where each run has other nodes (Henderson, 1953).

Few runs know badly how runs differ, and the best of several candidates tends to be one whose runs
happen to agree. So the variance between runs is taken to be at least that of a typical candidate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from gaug.choosing.run_scores import NodeScores, RunScores


@dataclass(frozen=True)
class Difference:
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

    def likeness(self, other: Difference) -> float:
        """The correlation of the deviations of two means that have no runs in common.

        What they share is the effects of nodes, whose covariance is that of what each node
        contributes.
        """
        spreads = self.spread * other.spread
        return float(self.by_node @ other.by_node) / spreads if spreads > 0 else 1.0

    @classmethod
    def of(cls, differences: RunScores, typical: _Estimate) -> Difference:
        """What is needed of differences.

        Args:
            differences: The differences.
            typical: The variance between runs of a typical candidate.
        """
        x = differences.nodes
        seen = ~np.isnan(x)
        total = seen.sum()
        mean = float(np.nanmean(x))
        centered = np.where(seen, x - mean, 0.0)
        by_node = centered.sum(axis=0) / total
        by_run = centered.sum(axis=1) / total
        nodes, runs = int(seen.any(axis=0).sum()), len(by_run)
        variances, shares = _variances(x, seen)
        own = _Estimate(variances[1], runs - 1)
        of_run = max(own, typical, key=lambda estimate: estimate.variance)
        of_runs = max(0.0, of_run.variance) * shares[1]
        # One node more could have gone the other way: the smallest number of nodes is never sure.
        known = max(0.0, variances[0]) * shares[0] + max(0.0, variances[2]) * shares[2]
        of_nodes = known + (100.0 / nodes) ** 2
        variance = of_nodes + of_runs
        error = math.sqrt(variance)
        # Few runs or nodes know their own spread badly (Satterthwaite's degrees of freedom).
        doubt = of_nodes**2 / max(1, nodes - 1) + of_runs**2 / max(1, of_run.freedom)
        freedom = variance**2 / doubt if doubt > 0 else math.inf
        ratio = _as_normal(mean / error, freedom)
        return cls(
            differences.mean,
            error,
            math.sqrt(known + of_runs),
            ratio,
            by_node,
            dict(zip(differences.runs, by_run, strict=True)),
        )


def differences_to(plain: RunScores, *groups: Sequence[RunScores]) -> list[list[Difference]]:
    """The differences of candidates to no augmentation, group by group.

    Args:
        plain: The runs without augmentation.
        groups: Runs of candidates; each must share a run with those without augmentation.
    """
    compared = [[other.minus(plain) for other in group] for group in groups]
    typical = _typical([one for group in compared for one in group])
    return [[Difference.of(one, typical) for one in group] for group in compared]


class _Estimate(NamedTuple):
    """An estimated variance, which may come out negative, and its degrees of freedom."""

    variance: float
    freedom: float


def _typical(differences: Sequence[RunScores]) -> _Estimate:
    """The variance between runs of a typical candidate: the median, which wild ones do not move.

    Half of it is that of the runs without augmentation, which all share. So two estimates correlate
    by a quarter, and many are worth four.
    """
    repeated = [one for one in differences if len(one.runs) > 1]
    if not repeated:
        return _Estimate(0.0, 1.0)
    freedom = np.array([len(one.runs) - 1 for one in repeated])
    found = np.array([_variances(one.nodes, ~np.isnan(one.nodes))[0][1] for one in repeated])
    # The median of few runs' variances is below their mean.
    found *= freedom / scipy.stats.chi2.median(freedom)
    alike = 1 + (len(repeated) - 1) / 4
    return _Estimate(float(np.quantile(found, 0.5, method="lower")), freedom.sum() / alike)


def _variances(
    x: NodeScores, seen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The variances of nodes, runs and the rest, and how much of each is in that of the mean.

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
    variances = np.linalg.lstsq(expected, found, rcond=None)[0]
    return variances, np.array([repeated, large, 1.0]) / total


def _as_normal(ratio: float, freedom: float) -> float:
    """The normal deviate that is as unlikely as a ratio with an estimated error."""
    if freedom > 1000:
        return ratio
    tail = float(scipy.stats.t.sf(abs(ratio), freedom))
    return math.copysign(float(scipy.stats.norm.isf(max(tail, 1e-300))), ratio)
