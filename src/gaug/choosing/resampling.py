"""Other splits of the same labeled nodes, for graphs with few validation nodes.

A few validation nodes say little about a method, however often it is trained. If there are fewer
than `ENOUGH`, each run of a comparison draws its own training nodes from all nodes of the training
and validation part, as many of each class as before, and validates on the others. Test nodes stay
test nodes.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gaug.data.splits import Split
from gaug.runs.plan import Plan

#: With fewer validation nodes than this, each run has its own training and validation nodes.
ENOUGH = 200
#: What the name of a resampled split ends with.
RESAMPLED = ", resampled"


@dataclass(frozen=True)
class Resampling:
    """Draws the training and validation nodes of each run.

    Attributes:
        split: The given split.
        labels: Class ids [N], or 0/1 of several labels per node [N, C].
        seed: Seed of all draws.
    """

    split: Split
    labels: Tensor
    seed: int = 0

    @functools.cached_property
    def nodes(self) -> Tensor:
        """All training and validation nodes, in order."""
        return torch.cat([self.split.train, self.split.val]).sort().values

    def split_of(self, run: int) -> Split:
        """The split of a run."""
        generator = np.random.default_rng([self.seed, run])
        train = torch.zeros(len(self.labels), dtype=torch.bool)
        for group in self._groups():
            wanted = int(torch.isin(group, self.split.train).sum())
            chosen = generator.permutation(len(group))[:wanted]
            train[group[torch.from_numpy(chosen)]] = True
        inside = train[self.nodes]
        name = f"{self.split.name}{RESAMPLED}"
        return Split(name, self.nodes[inside], self.nodes[~inside], self.split.test)

    def plan_of(self, plan: Plan, run: int) -> Plan:
        """The plan of a run."""
        return dataclasses.replace(plan, split=self.split_of(run))

    def _groups(self) -> list[Tensor]:
        """The nodes of each class; with several labels per node, all nodes."""
        if self.labels.dim() == 2:
            return [self.nodes]
        classes = self.labels[self.nodes]
        return [self.nodes[classes == number] for number in torch.unique(classes)]
