r"""A sample whose cost grows with the pairs drawn, and its gradient.

Edges of the graph are decided one by one. Other pairs are drawn by `gaug.pairs.product_draws`. The
gradient with respect to the probabilities is the product of $\partial L / \partial A'_{ij}$ and the
mean slope of the relaxed sample given its outcome (`gaug.pairs.mean_slope`). It is exact for all
edges, drawn or not, and for all drawn pairs. The sum over the remaining pairs is estimated without
bias from a few random columns for each band of rows (`gaug.pairs.random_columns`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.graph.edges import pair_keys
from gaug.graph.sparse import Pattern, multiply, sampled_products
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.pairs.mean_slope import MeanSlopes
from gaug.pairs.noise import pair_noise, row_keys
from gaug.pairs.product_draws import draw_pairs
from gaug.pairs.random_columns import BAND, Band, RandomColumns
from gaug.pairs.sharing import share_out
from gaug.pairs.tile_work import compiled_form

# Kinds of listed pairs.
_ABSENT_EDGE, _PRESENT_EDGE, _ADDED = 0, 1, 2


class DrawnPairs:
    """The edges of a graph and the pairs drawn besides them; all other pairs are not listed.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`, none negative.  [N, d]
        original: The original graph.
        distribution: What to sample from, with ``max-normalized`` probabilities.
        seed: Seed of the sample.
        scale: What the probabilities of pairs that are not edges are multiplied by, in [0, 1].
        columns: Random columns for each band of rows in the gradient.
    """

    def __init__(
        self,
        z: Tensor,
        original: Adjacency,
        distribution: EdgeDistribution,
        seed: int,
        scale: float,
        columns: int,
    ) -> None:
        self.distribution = distribution
        self.edges = original.pairs
        self.seed, self.scale, self.columns = seed, scale, columns
        self.rate = distribution.alpha * scale
        alpha, num_nodes = distribution.alpha, z.size(0)
        p = alpha * edge_products(z, original) + (1 - alpha)
        noise = pair_noise(row_keys(seed, num_nodes).to(z.device), self.edges)
        added = draw_pairs(z, self.rate, seed, original.pattern)
        # Edges are all listed, by kind, so that one list serves the sample and its gradient.
        self.listed, self.kind = _listed(
            pair_keys(self.edges, num_nodes).cpu(), (noise < p).cpu(), added, num_nodes, z.device
        )

    def sample(self) -> Pattern:
        """The edges of the sample, in both directions."""
        return self.listed.select(self.kind != _ABSENT_EDGE, symmetric=True)

    def relaxed_at(self, z: Tensor, pairs: Tensor) -> Tensor:
        """A value with the mean gradient of the relaxed sample, for drawn pairs.  [2, n] → [n]"""
        p = self.distribution.of_pairs(z, pairs, self.edges, self.scale)
        return MeanSlopes(self.distribution.temperature).of_drawn(p.detach()) * p

    def gradient(self, z: Tensor, grad: Tensor, value: Tensor) -> Tensor:
        r"""Gradient of the embeddings if that of $A'_{ij}$ is $\langle g_i, v_j \rangle$.

        Args:
            z: The embeddings.  [N, d]
            grad: Gradients of all sums over neighbors, g.  [N, w]
            value: What was summed, v.  [N, w]
        """
        z, grad, value = (part.detach().contiguous() for part in (z, grad, value))
        slopes = MeanSlopes(self.distribution.temperature)
        total = self._of_listed(z, grad, value, slopes)
        self._add_others(total, z, grad, value, slopes)
        return total

    def _of_listed(self, z: Tensor, grad: Tensor, value: Tensor, slopes: MeanSlopes) -> Tensor:
        """The part of all edges and drawn pairs, exactly."""
        alpha, listed = self.distribution.alpha, self.listed
        base = z.new_tensor([1 - alpha, 1 - alpha, 0])
        scale = z.new_tensor([alpha, alpha, self.rate])
        if compiled_form(z) is None:
            upper = listed.col > listed.row
            pattern, kind = listed.select(upper), self.kind[upper].long()
            p = base[kind] + scale[kind] * sampled_products(pattern, z, z)
            drawn = kind != _ABSENT_EDGE
            weight = torch.where(drawn, slopes.of_drawn(p), slopes.of_undrawn(p)) * scale[kind]
            weight *= sampled_products(pattern, grad, value) + sampled_products(
                pattern, value, grad
            )
            mirrored = weight[pattern.transpose_order]
            return multiply(pattern, weight, z) + multiply(pattern.transpose, mirrored, z)
        from gaug.pairs import fused_slopes

        tables = slopes.undrawn_table.numpy(), slopes.drawn_table.numpy()
        pairs = [part.numpy() for part in (listed.crow, listed.col, self.kind, base, scale)]
        factors = [part.numpy() for part in (z, grad, value)]

        def add_up(share: Iterator[int]) -> Tensor:
            total = torch.zeros_like(z)
            for first in share:
                last = min(first + BAND, z.size(0))
                fused_slopes.add_pairs(first, last, *pairs, *factors, *tables, total.numpy())
            return total

        starts = range(0, z.size(0), BAND)
        first, *rest = share_out(add_up, lambda: starts, len(starts), z.device)
        for part in rest:
            first += part
        return first

    def _add_others(
        self, total: Tensor, z: Tensor, grad: Tensor, value: Tensor, slopes: MeanSlopes
    ) -> None:
        """Add an unbiased estimate of the part of all pairs that are not listed."""
        columns = RandomColumns(z.size(0), self.columns, self.seed, z.device)

        def add_up(share: Iterator[Band]) -> None:
            for band in share:
                rows, cols = band.rows, band.cols
                ends = z[cols]
                p = torch.mm(z[rows], ends.t()).mul_(self.rate)
                slope = torch.mm(grad[rows], value[cols].t())
                slope.addmm_(value[rows], grad[cols].t())
                slopes.multiply_undrawn(slope, p)
                slope.view(-1)[columns.entries(band, self.listed)] = 0
                # No other band has these rows.
                total[rows].addmm_(slope, ends, alpha=self.rate * columns.weight)

        columns.share(add_up)


def edge_products(z: Tensor, original: Adjacency) -> Tensor:
    """Inner products of the two ends of each edge, in the order of its pairs.  [E]"""
    pairs = original.pairs
    nodes = torch.arange(original.num_nodes + 1, device=pairs.device)
    crow = torch.searchsorted(pairs[0].contiguous(), nodes)
    upper = Pattern(crow, pairs[1].contiguous(), original.num_nodes)
    return sampled_products(upper, z.detach(), z.detach())


def _listed(
    edges: Tensor, present: Tensor, added: Tensor, num_nodes: int, device: torch.device
) -> tuple[Pattern, Tensor]:
    """All edges and added pairs in both directions, and the kind of each entry.

    Args:
        edges: Numbers of the edges, in ascending order (see `pair_keys`).  [E]
        present: Which of them were drawn.  [E]
        added: Numbers of the other drawn pairs, in ascending order.  [n]
        num_nodes: Number of nodes.
        device: Where the result is needed.
    """
    labeled = np.concatenate([edges.numpy() * 4 + present.numpy(), added.numpy() * 4 + _ADDED])
    labeled.sort(kind="stable")  # merges two sorted lists in linear time
    keys, kind = labeled >> 2, (labeled & 3).astype(np.int8)
    starts = np.searchsorted(keys, np.arange(num_nodes + 1) * num_nodes)
    small = np.repeat(np.arange(num_nodes, dtype=np.int32), np.diff(starts))
    large = (keys - small.astype(np.int64) * num_nodes).astype(np.int32)
    # The smaller neighbors of a node come first, so that SciPy has nothing to sort.
    row, col = np.concatenate([large, small]), np.concatenate([small, large])
    both = csr_matrix((np.tile(kind, 2), (row, col)), shape=(num_nodes, num_nodes))
    crow, indices = (
        torch.from_numpy(part.astype(np.int64)).to(device) for part in (both.indptr, both.indices)
    )
    kinds = torch.from_numpy(both.data).to(device)
    return Pattern(crow, indices, num_nodes, symmetric=True), kinds
