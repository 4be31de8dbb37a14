"""Scores on validation nodes, and whether one is better than another by more than chance."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from gaug.runs.summary import mean_and_spread, spread


@dataclass(frozen=True)
class ValidationScores:
    r"""Validation scores of repeated runs, as micro-F1 in percent.

    A score is uncertain for two reasons: each run has different random weights, and different
    validation nodes would give a different score. ``spread`` is the larger of the two: the sample
    standard deviation over the runs, and that of a share of n nodes,

    $$
    100 \sqrt{\frac{p (1 - p)}{n}}, \qquad p = \frac{n s / 100 + 1}{n + 2}
    $$

    for the mean score s. With this p, a score of 100 on six nodes is not considered certain. With
    several labels per node, this is a rough measure.

    Attributes:
        values: The score of each run.
        num_nodes: Number of validation nodes.

    >>> plain, other = ValidationScores((80.0, 82.0), 100), ValidationScores((84.0, 84.0), 100)
    >>> round(plain.spread, 1), other.clearly_above(plain)
    (4.0, False)
    """

    values: tuple[float, ...]
    num_nodes: int

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return statistics.fmean(self.values)

    @property
    def spread_of_runs(self) -> float:
        """Sample standard deviation over the runs."""
        return spread(self.values)

    @property
    def spread_of_nodes(self) -> float:
        """Standard deviation of the mean score on the same number of other nodes."""
        share = (self.num_nodes * self.mean / 100 + 1) / (self.num_nodes + 2)
        return 100 * math.sqrt(share * (1 - share) / self.num_nodes)

    @property
    def spread(self) -> float:
        """How far the mean may be off by chance, in points."""
        return max(self.spread_of_runs, self.spread_of_nodes)

    def gain_over(self, other: ValidationScores) -> float:
        """Difference of the means, in points."""
        return self.mean - other.mean

    def chance_beside(self, other: ValidationScores) -> float:
        """The larger of the two spreads; smaller differences are not significant."""
        return max(self.spread, other.spread)

    def chance_in_words(self, other: ValidationScores) -> str:
        """That spread and its source, in words."""
        wider = max(self, other, key=lambda scores: scores.spread)
        if wider.spread_of_runs > wider.spread_of_nodes:
            return f"the {wider.spread:.1f} points by which runs differ"
        return f"the {wider.spread:.1f} points that {wider.num_nodes:,} nodes leave to chance"

    def clearly_above(self, other: ValidationScores) -> bool:
        """Whether the gain over another is larger than both spreads."""
        return self.gain_over(other) > self.chance_beside(other)

    def __str__(self) -> str:
        return mean_and_spread(self.values)
