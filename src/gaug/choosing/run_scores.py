"""The scores of single nodes in repeated runs, which make runs comparable node by node."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: One value in percent per run and node; NaN where a node was not validated.  [R, n]
NodeScores = NDArray[np.float64]


@dataclass(frozen=True)
class RunScores:
    """The scores of validation nodes in repeated runs.

    Attributes:
        runs: Numbers of the runs, which decide their seeds.
        values: The score of each run.
        nodes: Scores of the nodes; the mean of a row is the score of the run.  [R, n]
        probabilities: How probable the right class of each node is, calibrated; None with several
            labels per node.  [R, n]
    """

    runs: tuple[int, ...]
    values: tuple[float, ...]
    nodes: NodeScores
    probabilities: NodeScores | None = None

    @property
    def num_nodes(self) -> int:
        """Number of validation nodes of a run."""
        return int((~np.isnan(self.nodes)).sum(axis=1).max())

    @property
    def mean(self) -> float:
        """The mean score."""
        return math.fsum(self.values) / len(self.values)

    @property
    def merit(self) -> float:
        """What candidates are ranked by: the score and how probable the right classes are, halved.

        Few nodes cannot tell the scores of two candidates apart, and a candidate can have better
        probabilities without a better score. So neither ranks alone.
        """
        return (self.mean + self.by_probability.mean) / 2

    def joined(self, other: RunScores) -> RunScores:
        """The runs of both."""
        return RunScores(
            (*self.runs, *other.runs),
            (*self.values, *other.values),
            np.concatenate([self.nodes, other.nodes]),
            _of_both(
                lambda mine, others: np.concatenate([mine, others]),
                self.probabilities,
                other.probabilities,
            ),
        )

    def minus(self, other: RunScores) -> RunScores:
        """The differences in the runs that both have."""
        shared = self.shared(other)
        mine = [self.runs.index(run) for run in shared]
        others = [other.runs.index(run) for run in shared]
        values = [self.values[i] - other.values[j] for i, j in zip(mine, others, strict=True)]
        return RunScores(
            shared,
            tuple(values),
            self.nodes[mine] - other.nodes[others],
            _of_both(
                lambda one, another: one[mine] - another[others],
                self.probabilities,
                other.probabilities,
            ),
        )

    @property
    def by_probability(self) -> RunScores:
        """The same runs, scored by how probable the right classes are, where that is known."""
        if self.probabilities is None:
            return self
        values = tuple(np.nanmean(self.probabilities, axis=1).tolist())
        return RunScores(self.runs, values, self.probabilities)

    def shared(self, other: RunScores) -> tuple[int, ...]:
        """The numbers of the runs that both have."""
        return tuple(run for run in self.runs if run in other.runs)


def _of_both(
    combine: Callable[[NodeScores, NodeScores], NodeScores],
    one: NodeScores | None,
    other: NodeScores | None,
) -> NodeScores | None:
    return None if one is None or other is None else combine(one, other)
