"""The scores of single nodes in repeated runs, which make runs comparable node by node."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Scores of nodes in percent, one row per run; NaN where a node was not validated.  [R, n]
NodeScores = NDArray[np.float64]


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
