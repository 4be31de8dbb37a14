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

    order: str = setting(
        "add-first",
        "What a change begins with; the second half predicts anew on the graph of the first.",
        choices=("add-first", "remove-first"),
        search=("add-first", "remove-first"),
    )
    add_fraction: float = setting(
        0.1,
        "Edges to add in a change, at most, as a share of |E|.",
        within=_SHARE,
        search=Span(0, 0.5, 0.05),
    )
    remove_fraction: float = setting(
        0.1,
        "Edges to remove in a change, at most, as a share of |E|.",
        within=_SHARE,
        search=Span(0, 0.5, 0.05),
    )
    add_confidence: float = setting(
        0.5,
        "Least confidence of a pair that is joined by an edge.",
        within=_SHARE,
        search=Span(0.5, 0.95, 0.05),
    )
    remove_confidence: float = setting(
        0.5,
        "Least confidence of a pair whose edge is removed.",
        within=_SHARE,
        search=Span(0.5, 0.95, 0.05),
    )
    rounds: int = setting(
        4, "Changes of the graph at most, each with a training of its own.", within=Range(1)
    )
