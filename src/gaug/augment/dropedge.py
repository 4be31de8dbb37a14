"""DropEdge: a random part of the edges in each epoch."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gaug.adjacency import Adjacency, LayeredAdjacency
from gaug.augment.method import Method
from gaug.config import Range, setting
from gaug.training.hooks import AugmentedRun, MethodConfig, Round, Visible


@dataclass(frozen=True)
class DropEdgeConfig(MethodConfig):
    """Settings of `DropEdge`."""

    name: ClassVar[str] = "dropedge"

    drop_fraction: float = setting(
        0.5, "Share of the edges left out in each epoch.", within=Range(0, 0.99)
    )
    layer_wise: bool = setting(False, "Whether each layer draws its own edges in each epoch.")


class DropEdge(Method[DropEdgeConfig]):
    """DropEdge (Rong et al., ICLR 2020).

    Each epoch trains on the graph without ``floor(p |E|)`` undirected edges, drawn uniformly
    without replacement, both directions together; the adjacency is normalised anew. Inference is
    on the original graph. The range of p is the paper's appendix C.

    With ``layer_wise`` each layer of the GNN has a draw of its own (Rong et al.'s layer-wise
    DropEdge); it needs a model that asks for the graph of each layer, as those of this package do.

    Arguments are those of every method; see `gaug.augment.method.Method`.
    """

    config_type = DropEdgeConfig

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        return _DropEdgeRun(visible, generator, self.config)


class _DropEdgeRun(AugmentedRun):
    def __init__(
        self, visible: Visible, generator: torch.Generator, config: DropEdgeConfig
    ) -> None:
        super().__init__(visible, generator)
        self.drop_fraction = config.drop_fraction
        self.layer_wise = config.layer_wise
        num_edges = visible.adjacency.num_pairs
        if math.floor(self.drop_fraction * num_edges) == 0:
            self.warning = (
                f"DropEdge changed no edge: drop_fraction={self.drop_fraction:g} of"
                f" {num_edges} edges is less than one. Raise drop_fraction."
            )

    def training_graph(self, current: Round, epoch: int) -> Adjacency:
        draw = functools.partial(self._draw, current.adjacency)
        return LayeredAdjacency(current.adjacency, draw) if self.layer_wise else draw()

    def _draw(self, adjacency: Adjacency) -> Adjacency:
        keep = sample_kept(adjacency.num_pairs, self.drop_fraction, self.generator)
        return adjacency.keep_pairs(keep.to(adjacency.pattern.col.device))


def sample_kept(num_pairs: int, drop_fraction: float, generator: torch.Generator) -> Tensor:
    """A mask that keeps all but ``floor(drop_fraction * num_pairs)`` pairs.  [E]

    >>> sample_kept(10, 0.25, torch.Generator()).sum().item()
    8
    """
    num_dropped = math.floor(drop_fraction * num_pairs)
    keep = torch.ones(num_pairs, dtype=torch.bool)
    keep[torch.randperm(num_pairs, generator=generator)[:num_dropped]] = False
    return keep
