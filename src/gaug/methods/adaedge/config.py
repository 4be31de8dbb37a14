"""The settings of AdaEdge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Range, Span, setting
from gaug.training.config import MethodConfig

_SHARE = Range(0, 1)


@dataclass(frozen=True)
class AdaEdgeConfig(MethodConfig):
    """Settings of `AdaEdge`."""

    name: ClassVar[str] = "adaedge"
    title: ClassVar[str] = "AdaEdge"
    changes: ClassVar[str | None] = "once"
    on_ranks: ClassVar[bool] = True

    order: str = setting(
        "add-first",
        "Which half of a change comes first; the second half predicts again on its graph.",
        choices=("add-first", "remove-first"),
        search=("add-first", "remove-first"),
    )
    add_fraction: float = setting(
        0.1,
        "Maximum number of edges to add per change, as a share of |E|.",
        within=_SHARE,
        search=Span(0, 0.5, 0.05),
    )
    remove_fraction: float = setting(
        0.1,
        "Maximum number of edges to remove per change, as a share of |E|.",
        within=_SHARE,
        search=Span(0, 0.5, 0.05),
    )
    add_confidence: float = setting(
        0.5,
        "Minimum confidence of a pair to add an edge.",
        within=_SHARE,
        search=Span(0.5, 0.95, 0.05),
    )
    remove_confidence: float = setting(
        0.5,
        "Minimum confidence of a pair to remove its edge.",
        within=_SHARE,
        search=Span(0.5, 0.95, 0.05),
    )
    rounds: int = setting(
        4, "Maximum number of changes, each followed by new training.", within=Range(1)
    )
