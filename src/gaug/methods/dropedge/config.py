"""The settings of DropEdge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Range, Span, setting
from gaug.training.config import MethodConfig


@dataclass(frozen=True)
class DropEdgeConfig(MethodConfig):
    """Settings of `DropEdge`."""

    name: ClassVar[str] = "dropedge"
    title: ClassVar[str] = "DropEdge"
    changes: ClassVar[str | None] = "each epoch"
    on_ranks: ClassVar[bool] = True

    drop_fraction: float = setting(
        0.5,
        "Share of edges dropped in each epoch.",
        within=Range(0, 0.99),
        search=Span(0.05, 0.95, 0.05),
    )
    layer_wise: bool = setting(False, "Whether each layer draws its own edges in each epoch.")
