"""DropEdge: train on a random part of the edges in each epoch."""

from __future__ import annotations

import copy
import functools
import itertools
import math
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.graph.adjacency import Adjacency, LayeredAdjacency
from gaug.graph.edges import pair_keys
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.method import Method
from gaug.training.batch import Batch
from gaug.training.hooks import AugmentedRun, Round, Visible


class DropEdge(Method[DropEdgeConfig]):
    """DropEdge (Rong et al., ICLR 2020).

    Each epoch trains on the graph without ``floor(p |E|)`` undirected edges, drawn uniformly
    without replacement, both directions together; the adjacency is normalized again. In
    mini-batches, each batch loses that share of its own edges. Inference is on the original graph.
    The range of p is that of the paper's appendix C.

    With ``layer_wise``, each layer of the GNN has its own draw (Rong et al.'s layer-wise DropEdge).
    This needs a model that asks for the graph of each layer, as those of this package do.

    Arguments are those of every method; see `gaug.methods.method.Method`.
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

    def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
        draw = functools.partial(self._draw, batch.adjacency)
        return LayeredAdjacency(batch.adjacency, draw) if self.layer_wise else draw()

    def state(self) -> dict[str, Any]:
        return {}

    def _draw(self, adjacency: Adjacency) -> Adjacency:
        keep = sample_kept(adjacency.num_pairs, self.drop_fraction, self.generator)
        return adjacency.keep_pairs(keep.to(adjacency.pattern.col.device))


def drop_edges(data: Data, drop_fraction: float, generator: torch.Generator | None = None) -> Data:
    """A graph without a random part of its edges, for custom training loops.

    Both directions of an edge are dropped together, along with their edge attributes. The given
    graph is unchanged.

    Args:
        data: Any graph with ``edge_index``, on any device.
        drop_fraction: Share of undirected edges to drop, in [0, 0.99].
        generator: Source of randomness, on the CPU; by default PyTorch's own.

    Examples:
        >>> from gaug.data.catalog.loading import load_graph
        >>> drop_edges(load_graph("karate"), 0.5).num_edges // 2
        39
    """
    DropEdgeConfig(drop_fraction=drop_fraction)  # checks the range
    ends = data.edge_index.sort(dim=0).values
    keys, pair_of_edge = torch.unique(pair_keys(ends, int(data.num_nodes)), return_inverse=True)
    keep = sample_kept(keys.numel(), drop_fraction, generator).to(ends.device)[pair_of_edge]
    part = copy.copy(data)
    for key, value in data.to_dict().items():
        if not data.is_edge_attr(key):
            continue
        if isinstance(value, Tensor):
            along = data.__cat_dim__(
                key, value
            )  # the last for edge_index, the first for most others
            part[key] = value.index_select(along, keep.nonzero().flatten())
        elif isinstance(value, list):
            part[key] = list(itertools.compress(value, keep.tolist()))
    return part


def sample_kept(num_pairs: int, drop_fraction: float, generator: torch.Generator | None) -> Tensor:
    """A mask that keeps all but ``floor(drop_fraction * num_pairs)`` pairs.  [E]

    >>> sample_kept(10, 0.25, torch.Generator()).sum().item()
    8
    """
    num_dropped = math.floor(drop_fraction * num_pairs)
    keep = torch.ones(num_pairs, dtype=torch.bool)
    keep[torch.randperm(num_pairs, generator=generator)[:num_dropped]] = False
    return keep
