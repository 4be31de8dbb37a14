"""Training on a graph with a given change, for figures that compare changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from gaug.config import setting
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange
from gaug.methods.method import Method
from gaug.training.config import MethodConfig
from gaug.training.hooks import AugmentedRun, Round, RoundResult, Visible


@dataclass(frozen=True)
class FixedChangeConfig(MethodConfig):
    """Settings of `FixedChange`."""

    name: ClassVar[str] = "fixed-change"
    title: ClassVar[str] = "fixed change"
    changes: ClassVar[str | None] = "once"

    change: str = setting("", "Fingerprint of the added and removed edges.")
    kind: str = setting("", "Where the change is from.")
    inference: str = setting(
        "modified", "Graph to predict on: modified or original.", choices=("modified", "original")
    )


class FixedChange(Method[FixedChangeConfig]):
    """Trains on the graph with a given change.

    Args:
        change: Edges to add and remove.
        inference: ``modified`` or ``original``: the graph to predict on.
        kind: Where the change is from, for the records.
        options: Arguments of every method.
    """

    config_type = FixedChangeConfig

    def __init__(
        self,
        change: GraphChange,
        inference: str = "modified",
        kind: str = "",
        **options: Any,
    ) -> None:
        digest = hashlib.sha256()
        for pairs in (change.added, change.removed):
            digest.update(repr(sorted(map(tuple, pairs.t().tolist()))).encode())
        config = FixedChangeConfig(digest.hexdigest()[:12], kind, inference)
        super().__init__(config, **options)
        self.change = change

    @property
    def is_custom(self) -> bool:
        """Whether settings alone do not describe it: they do not contain the changed edges."""
        return True

    @property
    def knows_its_graph(self) -> bool:
        """It does: the change is given."""
        return True

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        changed = self.change.apply(visible.adjacency.to_data())
        return _Run(visible, generator, Adjacency.of(changed), self.config.inference)


class _Run(AugmentedRun):
    def __init__(
        self, visible: Visible, generator: torch.Generator, modified: Adjacency, inference: str
    ) -> None:
        super().__init__(visible, generator)
        self.modified = modified
        self.tested = modified if inference == "modified" else visible.adjacency

    def next_round(self, previous: RoundResult | None) -> Round | None:
        return Round(self.tested, self.modified) if previous is None else None

    def state(self) -> dict[str, Any]:
        return {}

    @property
    def known_graphs(self) -> dict[str, Adjacency]:
        return {**super().known_graphs, "modified": self.modified}
