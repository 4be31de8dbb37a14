"""Other splits of the same labeled nodes, so that more of them judge a method.

Most of the error of a comparison is that of its validation nodes: others would give another gain,
however often a method is trained. So runs can draw their own, from the training and validation
nodes: those that have validated least so far validate, as many of each class as in the given split,
and the others train. Test nodes stay test nodes.

This asks for the gain with training nodes *like* the given ones. Where they are many, it hardly
depends on which they are. So if there are at least as many of each class as validation nodes, the
final runs of a comparison validate on former training nodes: three times as many as the validation
nodes if 60 % train and 20 % validate. What was tried on the given validation nodes could not adapt
to them.

Where training nodes are fewer, in all or of one class, but still some hundreds and not far fewer
than validation nodes, the final runs draw from all of both. Otherwise the given split stays: the
gain would depend on which nodes train, and the few of them that could validate would not make up
for that.

There are two exceptions. Fewer than `FEW` validation nodes say next to nothing, so all runs after
the first draw from all nodes. And `MANY` validation nodes are enough as they are.
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

#: With fewer validation nodes than this, all runs draw their own; with fewer training nodes and
#: more for validation, none.
FEW = 200
#: With this many validation nodes, no run draws its own.
MANY = 2000
#: With fewer training nodes than this share of the validation nodes, final runs do not draw.
SHARE = 0.4
#: What the name of a resampled split ends with.
RESAMPLED = ", resampled"


@dataclass(frozen=True)
class Resampling:
    """Draws the training and validation nodes of runs.

    Attributes:
        split: The given split.
        labels: Class ids [N], or 0/1 of several labels per node [N, C].
        seed: Seed of all draws.
        first: The first run that draws; those before have the given split.
        fresh: Whether the given validation nodes do not validate again.
    """

    split: Split
    labels: Tensor
    seed: int = 0
    first: int = 1
    fresh: bool = False

    @classmethod
    def of(cls, split: Split, labels: Tensor, seed: int, final: int) -> Resampling | None:
        """What pays on a split; None if all runs should have it.

        Args:
            split: The given split.
            labels: The labels.
            seed: Seed of all draws.
            final: The first of the final runs.
        """
        train, val = split.train.numel(), split.val.numel()
        if val < FEW:
            return cls(split, labels, seed)
        if max(FEW, SHARE * val) <= train and val < MANY:
            drawn = cls(split, labels, seed, first=final)
            return dataclasses.replace(drawn, fresh=drawn._train_as_many())
        return None

    @functools.cached_property
    def nodes(self) -> Tensor:
        """All training and validation nodes, in order."""
        return torch.cat([self.split.train, self.split.val]).sort().values

    def split_of(self, run: int) -> Split:
        """The split of a run."""
        if run < self.first:
            return self.split
        while len(self._drawn) <= run - self.first:
            self._drawn.append(self._next())
        return self._drawn[run - self.first]

    def plan_of(self, plan: Plan, run: int) -> Plan:
        """The plan of a run."""
        return dataclasses.replace(plan, split=self.split_of(run))

    @functools.cached_property
    def _drawn(self) -> list[Split]:
        """The splits drawn so far."""
        return []

    def _next(self) -> Split:
        """The split of the run after those drawn so far."""
        generator = np.random.default_rng([self.seed, self.first + len(self._drawn)])
        validated = torch.zeros(len(self.labels))
        for split in [self.split, *self._drawn]:
            validated[split.val] += 1
        if self.fresh:
            validated[self.split.val] = torch.inf
        val = torch.zeros(len(self.labels), dtype=torch.bool)
        for group in self._groups():
            wanted = int(torch.isin(group, self.split.val).sum())
            shuffled = group[torch.from_numpy(generator.permutation(len(group)))]
            shuffled = shuffled[validated[shuffled].argsort(stable=True)]
            val[shuffled[validated[shuffled] < torch.inf][:wanted]] = True
        inside = val[self.nodes]
        name = f"{self.split.name}{RESAMPLED}"
        return Split(name, self.nodes[~inside], self.nodes[inside], self.split.test)

    def _train_as_many(self) -> bool:
        """Whether of each class at least as many nodes train as validate."""
        val = self.split.val
        return all(2 * int(torch.isin(group, val).sum()) <= len(group) for group in self._groups())

    def _groups(self) -> list[Tensor]:
        """The nodes of each class; with several labels per node, all nodes."""
        if self.labels.dim() == 2:
            return [self.nodes]
        classes = self.labels[self.nodes]
        return [self.nodes[classes == number] for number in torch.unique(classes)]
