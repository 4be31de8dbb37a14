r"""Samples of GAug-O's graphs with their gradient, by two engines of one meaning.

``dense`` holds all pairs and leaves the gradient to autograd. ``blocked`` goes through the pairs
tile by tile: the forward pass keeps the edges that it hits, the backward pass makes each tile
and its noise anew. Memory is that of a tile and of the edges.

A layer that sums over the neighbours, $O = A' H$, has the gradient
$\partial L / \partial A'_{ij} = \langle G_i, H_j \rangle$ with $G = \partial L / \partial O$, for
every pair, an edge or not. The layers' G and H side by side make a tile of the whole gradient
one small matrix product.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gaug.adjacency import Adjacency, symmetric_pattern
from gaug.augment.edge_distribution import EdgeDistribution
from gaug.augment.sampled_adjacency import DenseSample, SampledAdjacency
from gaug.pairs.noise import pair_noise, row_keys, row_noise
from gaug.pairs.sharing import share_tiles
from gaug.pairs.tile_work import find_hits, multiply_by_slopes
from gaug.pairs.tiles import TILE, Tile, edges_by_tile
from gaug.sparse import Pattern, multiply

# The gradient of each sum and what was summed.
_Factors = list[tuple[Tensor, Tensor]]
# Rows of a matrix, as many as a tile has, from the first to the last.
_Bands = Sequence[Tensor]


def sample_dense(
    z: Tensor, original: Adjacency, distribution: EdgeDistribution, seed: int
) -> DenseSample:
    """A sample that holds all pairs; the reference of `sample_blocked`.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`.  [N, d]
        original: The graph as it is.
        distribution: What to sample from.
        seed: Seed of the noise.
    """
    num_nodes = z.size(0)
    known = z.new_zeros(num_nodes, num_nodes)
    known[original.pattern.row, original.pattern.col] = 1
    scores = distribution.of_scores(z @ z.t())
    p = distribution.alpha * scores + (1 - distribution.alpha) * known
    noise = torch.full_like(p, 0.5)
    if distribution.sampling == "bernoulli":
        keys = row_keys(seed, num_nodes).to(z.device)
        noise = row_noise(keys, 0, num_nodes)
    relaxed = distribution.relaxed(p, noise)
    hard = (noise < p).to(p.dtype)
    upper = (hard + (relaxed - relaxed.detach())).triu(diagonal=1)
    return DenseSample(upper + upper.t())


def sample_blocked(
    z: Tensor,
    original: Adjacency,
    distribution: EdgeDistribution,
    seed: int,
    tile: int = TILE,
) -> BlockedSample:
    """The sample of `sample_dense`, and its gradient, without a matrix of all pairs.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`.  [N, d]
        original: The graph as it is.
        distribution: What to sample from.
        seed: Seed of the noise.
        tile: Nodes along a side of a tile; changes memory and speed only.
    """
    pairs = _AllPairs(original, distribution, seed, tile)
    return BlockedSample(z, symmetric_pattern(pairs.sample(z.detach()), z.size(0)), pairs)


class BlockedSample(SampledAdjacency):
    """The edges that were hit; the gradient of a sum over neighbours reaches every pair.

    Args:
        z: Prepared embeddings, which carry gradient.  [N, d]
        pattern: The edges, in both directions.
        all_pairs: What they were sampled from.
    """

    def __init__(self, z: Tensor, pattern: Pattern, all_pairs: _AllPairs) -> None:
        super().__init__(pattern)
        self._z = z
        self._all_pairs = all_pairs
        self._factors: _Factors = []
        # A link of the graph of autograd: its backward pass comes after those of all sums.
        self._link: Tensor = _Link.apply(z, self._factors, all_pairs)  # type: ignore[no-untyped-call]

    @functools.cached_property
    def _degrees(self) -> Tensor:
        return self.sum(self._z.new_ones(self.num_nodes, 1)).squeeze(1)

    @functools.cached_property
    def weight(self) -> Tensor:
        """Ones that carry the gradient of the sampled edges, and of no other pair.  [nnz]

        For models that are not linear in the adjacency, attention for one.
        """
        relaxed = self._all_pairs.relaxed_at(self._z, self.pairs)
        return (1 + (relaxed - relaxed.detach()))[self.pair_of_entry]

    def sum(self, h: Tensor) -> Tensor:
        """The sum of h over the neighbours of each node.  [N, d]"""
        total: Tensor = _Sum.apply(self._link, h, self.pattern, self._factors)  # type: ignore[no-untyped-call]
        return total

    def degrees(self) -> Tensor:
        """Number of neighbours of each node.  [N]"""
        return self._degrees


class _AllPairs:
    """The probabilities and the noise of all pairs, tile by tile of the upper triangle."""

    def __init__(
        self, original: Adjacency, distribution: EdgeDistribution, seed: int, side: int
    ) -> None:
        self.num_nodes = original.num_nodes
        self.distribution = distribution
        self.side = side
        self.edges = original.pairs
        self.edges_by_tile = edges_by_tile(original, side)
        self.keys = None
        if distribution.sampling == "bernoulli":
            self.keys = row_keys(seed, self.num_nodes).to(self.edges.device)

    def probabilities(self, bands: _Bands, tile: Tile, buffer: Tensor) -> Tensor:
        """P of a tile, in the buffer."""
        alpha = self.distribution.alpha
        if self.distribution.reading == "sigmoid":
            p = self.learned(bands, tile, buffer).mul_(alpha)
        else:
            p = _product(bands[tile.row], bands[tile.col], tile.matrix(buffer), alpha)
        edges = self.edges_by_tile[tile.number]
        p.view(-1).scatter_add_(0, edges, p.new_full((1,), 1 - alpha).expand(edges.numel()))
        return p

    def learned(self, bands: _Bands, tile: Tile, buffer: Tensor) -> Tensor:
        """M of a tile whose reading is ``sigmoid``, in the buffer."""
        return _product(bands[tile.row], bands[tile.col], tile.matrix(buffer)).sigmoid_()

    def keys_of(self, tile: Tile) -> Tensor | None:
        return None if self.keys is None else self.keys[:, tile.rows]

    def sample(self, z: Tensor) -> Tensor:
        """The pairs whose probability is above their noise, tile by tile.  [2, E]

        A matrix product rounds differently from tile to tile. What that could decide is decided
        by the pair alone, in double precision, so that a sample does not depend on the tiles.
        """
        slack, bands = _rounding_error(z), torch.split(z, self.side)

        def find(share: Iterator[Tile]) -> list[tuple[int, Tensor, Tensor]]:
            found, buffer = [], self._buffer(z)
            for tile in share:
                p = self.probabilities(bands, tile, buffer)
                places, margin = find_hits(
                    p, self.keys_of(tile), tile.cols.start, slack, on_diagonal=tile.on_diagonal
                )
                corner = places.new_tensor([[tile.rows.start], [tile.cols.start]])
                found.append((tile.number, places + corner, margin))
            return found

        parts = share_tiles(find, self.num_nodes, self.side, z.device)
        in_order = sorted(itertools.chain(*parts), key=operator.itemgetter(0))
        pairs = torch.cat([places for _, places, _ in in_order], dim=1)
        margins = torch.cat([margin for _, _, margin in in_order])
        unsure = (margins <= slack).nonzero().flatten()
        joined = torch.ones(pairs.size(1), dtype=torch.bool, device=z.device)
        joined[unsure] = self._is_above(z, pairs[:, unsure])
        return pairs[:, joined]

    def gradient(self, z: Tensor, left: Tensor, right: Tensor) -> Tensor:
        r"""Gradient of the embeddings where that of $A'_{ij}$ is $\langle l_i, r_j \rangle$."""
        bands, lefts, rights = (torch.split(part.detach(), self.side) for part in (z, left, right))

        def add_up(share: Iterator[Tile]) -> Tensor:
            grad, buffer, other = torch.zeros_like(z), self._buffer(z), self._buffer(z)
            grads = torch.split(grad, self.side)
            for tile in share:
                p = self.probabilities(bands, tile, buffer)
                slope = _product(lefts[tile.row], rights[tile.col], tile.matrix(other))
                multiply_by_slopes(
                    slope,
                    p,
                    self.keys_of(tile),
                    tile.cols.start,
                    self.distribution.temperature,
                    on_diagonal=tile.on_diagonal,
                )
                if self.distribution.reading == "sigmoid":
                    learned = self.learned(bands, tile, buffer)
                    slope.mul_(learned).mul_(1 - learned)
                grads[tile.row].addmm_(slope, bands[tile.col])
                grads[tile.col].addmm_(slope.t(), bands[tile.row])
            return grad

        parts = share_tiles(add_up, self.num_nodes, self.side, z.device)
        return torch.stack(parts).sum(dim=0).mul_(self.distribution.alpha)

    def _buffer(self, z: Tensor) -> Tensor:
        return z.new_empty(self.side * self.side)

    def _is_above(self, z: Tensor, pairs: Tensor) -> Tensor:
        """Whether probabilities are above the noise, exactly: on the CPU, for not every device has
        double precision.  [2, n] → [n]
        """
        p = self.distribution.of_pairs(z.cpu().double(), pairs.cpu(), self.edges.cpu())
        return (p > self.noise_at(pairs).cpu()).to(pairs.device)

    def probabilities_at(self, z: Tensor, pairs: Tensor) -> Tensor:
        return self.distribution.of_pairs(z, pairs, self.edges)

    def noise_at(self, pairs: Tensor) -> Tensor:
        if self.keys is None:
            return torch.full((pairs.size(1),), 0.5, device=pairs.device)
        return pair_noise(self.keys, pairs)

    def relaxed_at(self, z: Tensor, pairs: Tensor) -> Tensor:
        """The relaxed sample of single pairs.  [2, n] → [n]"""
        return self.distribution.relaxed(self.probabilities_at(z, pairs), self.noise_at(pairs))


class _Link(torch.autograd.Function):
    """Nothing forward; backward, the gradient of all pairs from what the sums left behind."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, factors: _Factors, all_pairs: _AllPairs) -> Tensor:
        ctx.factors, ctx.all_pairs = factors, all_pairs
        ctx.save_for_backward(z)
        return z.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: Any) -> tuple[Tensor, None, None]:
        (z,) = ctx.saved_tensors
        factors = list(ctx.factors)
        ctx.factors.clear()
        if not factors or ctx.all_pairs.distribution.alpha == 0:
            return torch.zeros_like(z), None, None
        grad = torch.cat([grad for grad, _ in factors], dim=1)
        value = torch.cat([value for _, value in factors], dim=1)
        # A pair stands for both directions of its edge.
        left, right = torch.cat([grad, value], dim=1), torch.cat([value, grad], dim=1)
        return ctx.all_pairs.gradient(z, left, right), None, None


class _Sum(torch.autograd.Function):
    """The sum over neighbours; what the gradient of the edges needs is left for `_Link`."""

    @staticmethod
    def forward(
        ctx: Any,
        link: Tensor,  # noqa: ARG004 – the gradient's way to what made the edges
        h: Tensor,
        pattern: Pattern,
        factors: _Factors,
    ) -> Tensor:
        ctx.pattern, ctx.factors = pattern, factors
        ctx.save_for_backward(h)
        return multiply(pattern, None, h)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, Tensor | None, None, None]:
        (grad,) = grads
        (h,) = ctx.saved_tensors
        grad_link = grad_h = None
        if ctx.needs_input_grad[0]:
            if not ctx.factors:
                # A pass that does not ask for the embeddings never comes to the link.
                _at_the_end_of_the_pass(ctx.factors.clear)
            ctx.factors.append((grad, h))
            grad_link = grad.new_zeros(())
        if ctx.needs_input_grad[1]:
            grad_h = multiply(ctx.pattern, None, grad)
        return grad_link, grad_h, None, None


def _at_the_end_of_the_pass(call: Callable[[], None]) -> None:
    """Have something called when autograd is done with the backward pass that it is in."""
    torch.autograd.Variable._execution_engine.queue_callback(call)


def _product(left: Tensor, right: Tensor, out: Tensor, scale: float = 1.0) -> Tensor:
    """Inner products of rows, scaled on the way, in the place that is given."""
    return torch.addmm(out, left, right.t(), beta=0, alpha=scale, out=out)


def _rounding_error(z: Tensor) -> float:
    """How far a probability from a matrix product may be off: twice the classical bound.

    It is limited, lest very long embeddings leave every pair to be decided alone; nearly all of
    their probabilities are 0 or 1.
    """
    largest = float(z.square().sum(dim=1).max())
    return min(float(torch.finfo(z.dtype).eps) * (z.size(1) * largest + 4), 1e-3)
