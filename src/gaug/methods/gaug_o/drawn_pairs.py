r"""A sample whose cost grows with the pairs drawn, and its gradient.

Edges of the graph are decided one by one. Other pairs are drawn by `gaug.pairs.product_draws`. The
gradient with respect to the probabilities is the product of $\partial L / \partial A'_{ij}$ and the
mean slope of the relaxed sample given its outcome (`gaug.pairs.mean_slope`). It is exact for all
edges, drawn or not, and for all drawn pairs. The sum over the remaining pairs is estimated without
bias from a few random columns for each band of rows (`gaug.pairs.random_columns`).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.graph.sparse import Pattern, multiply, sampled_products
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.pairs.mean_slope import MeanSlopes
from gaug.pairs.noise import pair_noise, row_keys
from gaug.pairs.pair_list import ABSENT_EDGE, PairList
from gaug.pairs.product_draws import draw_pairs
from gaug.pairs.random_columns import BAND, Band, RandomColumns
from gaug.pairs.sharing import share_out
from gaug.pairs.tile_work import compiled_form


class DrawnPairs:
    """The edges of a graph and the pairs drawn besides them; all other pairs are not listed.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`, none negative.  [N, d]
        original: The original graph.
        distribution: What to sample from, with ``max-normalized`` probabilities.
        seed: Seed of the sample.
        scale: What the probabilities of pairs that are not edges are multiplied by, in [0, 1].
        columns: Random columns for each band of rows in the gradient.
        products: `edge_products` of the embeddings.  [E]
    """

    def __init__(
        self,
        z: Tensor,
        original: Adjacency,
        distribution: EdgeDistribution,
        seed: int,
        scale: float,
        columns: int,
        products: Tensor,
    ) -> None:
        self.distribution = distribution
        self.edges = original.pairs
        self.seed, self.scale, self.columns = seed, scale, columns
        self.rate = distribution.alpha * scale
        alpha, num_nodes = distribution.alpha, z.size(0)
        p = alpha * products + (1 - alpha)
        noise = pair_noise(row_keys(seed, num_nodes).to(z.device), self.edges)
        added = draw_pairs(z, self.rate, seed, original.pattern)
        pairs = PairList.of(self.edges, noise < p, added, num_nodes, z.device)
        self.listed, self.kind, self._drawn = pairs.listed, pairs.kind, pairs.drawn

    def sample(self) -> Pattern:
        """The edges of the sample, in both directions."""
        return self._drawn

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
            drawn = kind != ABSENT_EDGE
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
                columns.clear_entries(slope, band, self.listed)
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
