"""What a GNN layer multiplies by: the adjacency of one graph with its normalizations.

Training passes over the same graph hundreds of times. An `Adjacency` lays it out once, normalizes
it once for each rule that a model asks for, and is shared by every layer, epoch and run. A method
that trains through graphs of its own making hands the model another object with the same methods.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch_geometric.data import Data

from gaug.errors import TrainingError
from gaug.graph.attention import attend
from gaug.graph.caching import cached_with_gradient, with_gradient
from gaug.graph.edges import undirected_pairs
from gaug.graph.sparse import Pattern, SparseMatrix


class Adjacency:
    """A graph without self-loops, ready for message passing.

    Args:
        pattern: Row i lists the nodes that send messages to i, in ascending order.
        weight: A weight for each entry, or None for ones; may carry gradient.  [nnz]
        symmetric: Whether pattern and weights are the same in both directions, which saves the
            backward pass a second layout.
        outside: If it is a part of a larger graph: for each node, the sum of the weights of its
            edges that lead out of it. They count in the GCN's degrees; None: there are none.  [N]
    """

    def __init__(
        self,
        pattern: Pattern,
        weight: Tensor | None = None,
        *,
        symmetric: bool = False,
        outside: Tensor | None = None,
    ) -> None:
        self.pattern = pattern
        self._weight = weight
        self.is_symmetric = symmetric
        self.outside = outside
        self._row_normalized: dict[float, SparseMatrix] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Copies: a thread may pickle it for a worker while another lays out more of it.
        return {**self.__dict__, "_row_normalized": dict(self._row_normalized)}

    @classmethod
    def of(cls, data: Data) -> Adjacency:
        """The adjacency of a valid graph (see `gaug.graph.valid`)."""
        row, col = data.edge_index
        pattern = _pattern(row, col, int(data.num_nodes), symmetric=True)
        return cls(pattern, data.get("edge_weight"), symmetric=True)

    @classmethod
    def of_pairs(cls, pairs: Tensor, num_nodes: int) -> Adjacency:
        """The adjacency of undirected edges, each once as (smaller id, larger id).  [2, E]"""
        return cls(symmetric_pattern(pairs, num_nodes), symmetric=True)

    @classmethod
    def from_edges(
        cls, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None
    ) -> Adjacency:
        """The adjacency of any edges from ``edge_index[0]`` to ``edge_index[1]``.

        Self-loops are left out: a layer adds its own.
        """
        source, target = edge_index
        proper = source != target
        if not bool(proper.all()):
            source, target = source[proper], target[proper]
            edge_weight = None if edge_weight is None else edge_weight[proper]
        order = torch.argsort(target * num_nodes + source, stable=True)
        pattern = _pattern(target[order], source[order], num_nodes, symmetric=False)
        return cls(pattern, None if edge_weight is None else edge_weight[order])

    def to(self, device: torch.device | str) -> Adjacency:
        """The adjacency on another device."""
        weight = None if self.weight is None else self.weight.to(device)
        outside = None if self.outside is None else self.outside.to(device)
        return Adjacency(
            self.pattern.to(device), weight, symmetric=self.is_symmetric, outside=outside
        )

    def to_data(self) -> Data:
        """Edges and weights of a symmetric adjacency as a valid graph: the inverse of `of`."""
        data = Data(edge_index=self.edge_index.flip(0), num_nodes=self.num_nodes)
        if self.weight is not None:
            data.edge_weight = self.weight
        return data

    def layer(self, number: int) -> Adjacency:
        """The graph of a layer of a GNN, counted from 0: this one, in all of them."""
        return self

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.pattern.num_rows

    @property
    def weight(self) -> Tensor | None:
        """The weight of each entry, or None for ones.  [nnz]"""
        return self._weight

    @cached_with_gradient
    def edge_index(self) -> Tensor:
        """The edges as PyTorch Geometric writes them: sources over targets.  [2, nnz]"""
        return torch.stack([self.pattern.col, self.pattern.row])

    @cached_with_gradient
    def pair_of_entry(self) -> Tensor:
        """For each entry of a symmetric adjacency, the undirected edge that it belongs to.  [nnz]

        Edges are numbered by (smaller id, larger id).
        """
        is_upper = self.pattern.col > self.pattern.row
        number = is_upper.cumsum(0) - 1
        return torch.where(is_upper, number, number[self.pattern.transpose_order])

    @property
    def num_pairs(self) -> int:
        """Number of undirected edges of a symmetric adjacency."""
        return self.pattern.nnz // 2

    @cached_with_gradient
    def pairs(self) -> Tensor:
        """The undirected edges of a symmetric adjacency, as (smaller id, larger id), in order.

        Shape [2, E].
        """
        return undirected_pairs(torch.stack([self.pattern.row, self.pattern.col]))

    @cached_with_gradient
    def strengths(self) -> Tensor:
        """The sum of the weights of each node's edges.  [N]"""
        if self.weight is None:
            return self.pattern.crow.diff().float()
        return self.weight.new_zeros(self.num_nodes).index_add(0, self.pattern.row, self.weight)

    @property
    def listed_pairs(self) -> Tensor | None:
        """The undirected edges if there is one list of them, otherwise None."""
        return self.pairs

    def keep_pairs(self, keep: Tensor) -> Adjacency:
        """The symmetric adjacency with only the undirected edges that a mask keeps.  keep: [E]"""
        entries = keep[self.pair_of_entry]
        weight = None if self.weight is None else self.weight[entries]
        # Of the edges that lead out, as many are left as of the others.
        share = keep.float().mean() if keep.numel() else 1.0
        outside = None if self.outside is None else self.outside * share
        pattern = self.pattern.select(entries, symmetric=True)
        return Adjacency(pattern, weight, symmetric=True, outside=outside)

    def symmetric(self, h: Tensor) -> Tensor:
        r"""The GCN's rule, $\tilde D^{-1/2} (A + I) \tilde D^{-1/2} h$."""
        return self._symmetrically_normalized @ h

    def mean(self, h: Tensor, self_weight: float = 1.0) -> Tensor:
        r"""The mean over a node and its neighbors, $(D + s I)^{-1} (A + s I) h$.

        Args:
            h: One row per node.  [N, d]
            self_weight: How much the node itself counts, s.
        """
        if self_weight not in self._row_normalized:
            self._row_normalized[self_weight] = self._normalize_rows(self_weight)
        return self._row_normalized[self_weight] @ h

    def attend(
        self, z: Tensor, target_score: Tensor, source_score: Tensor, dropout: float = 0.0
    ) -> Tensor:
        """GAT's rule, softmax attention over a node and its neighbors.  [H, N, C]

        Args:
            z: What is attended to, head by head.  [H, N, C]
            target_score: The attending node's part of the logit.  [H, N]
            source_score: The attended node's part of the logit.  [H, N]
            dropout: Share of the attention that is dropped.
        """
        pattern, weight = self.looped
        weight_or_ones = None if self.weight is None else weight
        return attend(pattern, z, target_score, source_score, weight_or_ones, dropout)

    @cached_with_gradient
    def looped(self) -> tuple[Pattern, Tensor]:
        """The pattern of $A + I$ and the weight of each of its entries."""
        pattern = self.pattern
        node = torch.arange(self.num_nodes, device=pattern.col.device)
        is_upper = pattern.col > pattern.row
        num_lower = torch.bincount(pattern.row[~is_upper], minlength=self.num_nodes)
        loop_at = pattern.crow[:-1] + node + num_lower
        entry = torch.arange(pattern.nnz, device=node.device)
        entry_at = entry + pattern.row + is_upper
        col = torch.empty(pattern.nnz + self.num_nodes, dtype=torch.long, device=node.device)
        col[loop_at] = node
        col[entry_at] = pattern.col
        crow = pattern.crow + torch.arange(self.num_nodes + 1, device=node.device)
        looped = Pattern(crow, col, self.num_nodes, symmetric=pattern.symmetric)
        ones = torch.ones(col.numel(), device=node.device)
        if self.weight is None:
            return looped, ones
        return looped, ones.to(self.weight.dtype).index_put((entry_at,), self.weight)

    @cached_with_gradient
    def _symmetrically_normalized(self) -> SparseMatrix:
        pattern, weight = self.looped
        degrees = self._row_sums(weight)
        if self.outside is not None:
            degrees = degrees + self.outside
        scale = degrees.rsqrt()
        values = scale[pattern.row] * weight * scale[pattern.col]
        return SparseMatrix(pattern, values, values.detach() if self.is_symmetric else None)

    @with_gradient
    def _normalize_rows(self, self_weight: float) -> SparseMatrix:
        pattern, weight = self.looped
        if self_weight != 1:
            weight = torch.where(pattern.row == pattern.col, self_weight, weight)
        total = self._row_sums(weight)
        # A node without neighbors that does not count itself has a mean of 0.
        scale = torch.where(total > 0, total, 1.0).reciprocal()
        values = scale[pattern.row] * weight
        transposed = (weight * scale[pattern.col]).detach() if self.is_symmetric else None
        return SparseMatrix(pattern, values, transposed)

    def _row_sums(self, weight: Tensor) -> Tensor:
        """Sum of the weights in each row of A + I.  [N]"""
        row = self.looped[0].row
        return weight.new_zeros(self.num_nodes).index_add(0, row, weight)


class LayeredAdjacency(Adjacency):
    """Another graph for each layer of a GNN, drawn when a layer first asks for it.

    Nodes, pattern and weights are those of the whole graph. It cannot be multiplied by itself, only
    layer by layer: a model that takes one graph for all layers is refused.

    Args:
        whole: The graph that the layers' graphs are parts of.
        draw: Makes the graph of the next layer.
    """

    def __init__(self, whole: Adjacency, draw: Callable[[], Adjacency]) -> None:
        super().__init__(whole.pattern, whole.weight, symmetric=whole.is_symmetric)
        self._draw = draw
        self._drawn: list[Adjacency] = []

    def layer(self, number: int) -> Adjacency:
        """The graph of a layer; the same one each time it is asked for."""
        while len(self._drawn) <= number:
            self._drawn.append(self._draw())
        return self._drawn[number]

    @property
    def listed_pairs(self) -> None:
        """None: each layer has edges of its own."""

    @functools.cached_property
    def edge_index(self) -> Tensor:
        """Refused: there is no one list of edges."""
        raise _no_graph_for_all_layers()

    @functools.cached_property
    def looped(self) -> tuple[Pattern, Tensor]:
        """Refused: there is no one matrix."""
        raise _no_graph_for_all_layers()


def _no_graph_for_all_layers() -> TrainingError:
    return TrainingError(
        "Each layer has a graph of its own here, but this model uses one graph for all layers."
        " Set layer_wise=false, or take a model that asks adjacency.layer(i), as gcn, gsage, gat"
        " and jknet do."
    )


def symmetric_pattern(pairs: Tensor, num_nodes: int) -> Pattern:
    """The pattern of undirected edges, each once as (smaller id, larger id).  [2, E]

    Any order will do. The smaller neighbors of a node are listed before the larger ones, so that
    SciPy has nothing to sort if both ascend, in ascending order of pairs or tile by tile.
    """
    small, large = pairs.int().cpu().numpy()  # as SciPy keeps them
    row, col = np.concatenate([large, small]), np.concatenate([small, large])
    both = csr_matrix((np.ones(row.size, np.int8), (row, col)), shape=(num_nodes, num_nodes))
    crow, indices = (
        torch.from_numpy(part.astype(np.int64)) for part in (both.indptr, both.indices)
    )
    return Pattern(crow.to(pairs.device), indices.to(pairs.device), num_nodes, symmetric=True)


def _pattern(row: Tensor, col: Tensor, num_nodes: int, *, symmetric: bool) -> Pattern:
    counts = torch.bincount(row, minlength=num_nodes)
    crow = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Pattern(crow, col.contiguous(), num_nodes, symmetric=symmetric)
