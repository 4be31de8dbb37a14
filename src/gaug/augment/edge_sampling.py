r"""Samples of GAug-O's graphs with their gradient, by two engines of one meaning.

``dense`` holds all pairs and leaves the gradient to autograd. ``blocked`` goes through the pairs
block by block: the forward pass keeps the edges that it hits, the backward pass makes each block
and its noise anew. Memory is that of a block and of the edges.

A layer that sums over the neighbours, $O = A' H$, has the gradient
$\partial L / \partial A'_{ij} = \langle G_i, H_j \rangle$ with $G = \partial L / \partial O$, for
every pair, an edge or not. The layers' G and H side by side make a block of the whole gradient
one small matrix product.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gaug.adjacency import Adjacency, symmetric_pattern
from gaug.augment.edge_distribution import EDGE_OF_RANGE, EdgeDistribution
from gaug.augment.sampled_adjacency import DenseSample, SampledAdjacency
from gaug.pairs.noise import pair_noise, row_keys, row_noise
from gaug.sparse import Pattern, multiply

# The gradient of each sum and what was summed.
_Factors = list[tuple[Tensor, Tensor]]

# Pairs at a time: small enough for a core's own cache.
BLOCK_ELEMENTS = 1 << 18


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
        noise = row_noise(keys, 0, num_nodes, 0, num_nodes)
    relaxed = distribution.relaxed(p, noise)
    hard = (noise < p).to(p.dtype)
    upper = (hard + (relaxed - relaxed.detach())).triu(diagonal=1)
    return DenseSample(upper + upper.t())


def sample_blocked(
    z: Tensor,
    original: Adjacency,
    distribution: EdgeDistribution,
    seed: int,
    block_elements: int = BLOCK_ELEMENTS,
) -> BlockedSample:
    """The sample of `sample_dense`, and its gradient, without a matrix of all pairs.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`.  [N, d]
        original: The graph as it is.
        distribution: What to sample from.
        seed: Seed of the noise.
        block_elements: Pairs at a time; changes memory and speed only.
    """
    blocks = _Blocks(original, distribution, seed, block_elements)
    return BlockedSample(z, blocks.sample(z.detach()), blocks)


class BlockedSample(SampledAdjacency):
    """The edges that were hit; the gradient of a sum over neighbours reaches every pair.

    Args:
        z: Prepared embeddings, which carry gradient.  [N, d]
        pairs: The edges, each once as (smaller id, larger id).  [2, E]
        blocks: What they were sampled from.
    """

    def __init__(self, z: Tensor, pairs: Tensor, blocks: _Blocks) -> None:
        super().__init__(symmetric_pattern(pairs, z.size(0)))
        self._z = z
        self._pairs = pairs
        self._blocks = blocks
        self._factors: _Factors = []
        # A link of the graph of autograd: its backward pass comes after those of all sums.
        self._link: Tensor = _Link.apply(z, self._factors, blocks)  # type: ignore[no-untyped-call]

    @functools.cached_property
    def _ones(self) -> Tensor:
        return self._z.new_ones(self.pattern.nnz)

    @functools.cached_property
    def _degrees(self) -> Tensor:
        return self.sum(self._z.new_ones(self.num_nodes, 1)).squeeze(1)

    @functools.cached_property
    def weight(self) -> Tensor:
        """Ones that carry the gradient of the sampled edges, and of no other pair.  [nnz]

        For models that are not linear in the adjacency, attention for one.
        """
        relaxed = self._blocks.relaxed_at(self._z, self._pairs)
        return (1 + (relaxed - relaxed.detach()))[self.pair_of_entry]

    def sum(self, h: Tensor) -> Tensor:
        """The sum of h over the neighbours of each node.  [N, d]"""
        total: Tensor = _Sum.apply(self._link, h, self.pattern, self._ones, self._factors)  # type: ignore[no-untyped-call]
        return total

    def degrees(self) -> Tensor:
        """Number of neighbours of each node.  [N]"""
        return self._degrees


class _Blocks:
    """The probabilities and the noise of all pairs, block by block of the upper triangle."""

    def __init__(
        self,
        original: Adjacency,
        distribution: EdgeDistribution,
        seed: int,
        block_elements: int,
    ) -> None:
        self.num_nodes = original.num_nodes
        self.distribution = distribution
        self.block_elements = block_elements
        pattern = original.pattern
        upper = pattern.col > pattern.row
        self.edges = torch.stack([pattern.row[upper], pattern.col[upper]])
        counts = torch.bincount(self.edges[0], minlength=self.num_nodes)
        self.edge_starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).tolist()
        self.keys = None
        if distribution.sampling == "bernoulli":
            self.keys = row_keys(seed, self.num_nodes).to(pattern.col.device)

    def ranges(self) -> Iterator[tuple[int, int]]:
        start = 0
        while start < self.num_nodes:
            height = max(1, self.block_elements // (self.num_nodes - start))
            stop = min(self.num_nodes, start + height)
            yield start, stop
            start = stop

    def block(self, z: Tensor, start: int, stop: int) -> tuple[Tensor, Tensor, Tensor | float]:
        """M, P and the noise of rows start to stop, columns from start on."""
        scores = self.distribution.of_scores(z[start:stop] @ z[start:].t())
        p = scores * self.distribution.alpha
        mine = slice(self.edge_starts[start], self.edge_starts[stop])
        row, col = self.edges[:, mine] - start
        p[row, col] += 1 - self.distribution.alpha
        if self.keys is None:
            return scores, p, 0.5
        return scores, p, row_noise(self.keys, start, stop, start, self.num_nodes)

    def sample(self, z: Tensor) -> Tensor:
        """The pairs whose probability is above their noise, in ascending order.  [2, E]

        A matrix product rounds differently from block to block. What that could decide is decided
        by the pair alone, in double precision, so that a sample does not depend on the blocks.
        """
        slack = _rounding_error(z)
        found, margins = [], []
        for start, stop in self.ranges():
            _, p, noise = self.block(z, start, stop)
            margin = p.sub_(noise)
            hit = margin > -slack
            size = stop - start
            hit[:, :size].logical_and_(_above_diagonal(size, z.device))
            row, col = hit.nonzero(as_tuple=True)
            found.append(torch.stack([row, col]) + start)
            margins.append(margin[row, col])
        pairs = torch.cat(found, dim=1)
        unsure = (torch.cat(margins) <= slack).nonzero().flatten()
        close = pairs[:, unsure]
        joined = torch.ones(pairs.size(1), dtype=torch.bool, device=z.device)
        joined[unsure] = self.probabilities_at(z.double(), close) > self.noise_at(close)
        return pairs[:, joined]

    def gradient(self, z: Tensor, left: Tensor, right: Tensor) -> Tensor:
        r"""Gradient of the embeddings where that of $A'_{ij}$ is $\langle l_i, r_j \rangle$."""
        alpha, temperature = self.distribution.alpha, self.distribution.temperature
        result = torch.zeros_like(z)
        for start, stop in self.ranges():
            scores, p, noise = self.block(z, start, stop)
            inside = (p >= EDGE_OF_RANGE).logical_and_(p <= 1 - EDGE_OF_RANGE)
            size = stop - start
            inside[:, :size].logical_and_(_above_diagonal(size, z.device))
            p = torch.where(inside, p, 0.5)
            spread = p * (1 - p)
            odds = p / (1 - p) * (1 - noise) / noise
            # s (1 - s) of the relaxed sample s, which is even in the logarithm of the odds.
            small = odds.log_().abs_().mul_(-1 / temperature).exp_()
            slope = small.div_((1 + small).square_()).div_(spread.mul_(temperature / alpha))
            if self.distribution.reading == "sigmoid":
                slope.mul_(scores).mul_(1 - scores)
            slope.mul_(left[start:stop] @ right[start:].t()).mul_(inside)
            result[start:stop] += slope @ z[start:]
            result[start:] += slope.t() @ z[start:stop]
        return result

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
    def forward(ctx: Any, z: Tensor, factors: _Factors, blocks: _Blocks) -> Tensor:
        ctx.factors, ctx.blocks = factors, blocks
        ctx.save_for_backward(z)
        return z.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *_: Any) -> tuple[Tensor, None, None]:
        (z,) = ctx.saved_tensors
        factors = list(ctx.factors)
        ctx.factors.clear()
        if not factors or ctx.blocks.distribution.alpha == 0:
            return torch.zeros_like(z), None, None
        grad = torch.cat([grad for grad, _ in factors], dim=1)
        value = torch.cat([value for _, value in factors], dim=1)
        # A pair stands for both directions of its edge.
        left, right = torch.cat([grad, value], dim=1), torch.cat([value, grad], dim=1)
        return ctx.blocks.gradient(z, left, right), None, None


class _Sum(torch.autograd.Function):
    """The sum over neighbours; what the gradient of the edges needs is left for `_Link`."""

    @staticmethod
    def forward(
        ctx: Any,
        link: Tensor,  # noqa: ARG004 – the gradient's way to what made the edges
        h: Tensor,
        pattern: Pattern,
        ones: Tensor,
        factors: _Factors,
    ) -> Tensor:
        ctx.pattern, ctx.ones, ctx.factors = pattern, ones, factors
        ctx.save_for_backward(h)
        return multiply(pattern, ones, h)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        (grad,) = grads
        (h,) = ctx.saved_tensors
        grad_link = grad_h = None
        if ctx.needs_input_grad[0]:
            ctx.factors.append((grad, h))
            grad_link = grad.new_zeros(())
        if ctx.needs_input_grad[1]:
            grad_h = multiply(ctx.pattern, ctx.ones, grad)
        return grad_link, grad_h, None, None, None


def _rounding_error(z: Tensor) -> float:
    """How far a probability from a matrix product may be off: twice the classical bound.

    It is limited, lest very long embeddings leave every pair to be decided alone; nearly all of
    their probabilities are 0 or 1.
    """
    largest = float(z.square().sum(dim=1).max())
    return min(float(torch.finfo(z.dtype).eps) * (z.size(1) * largest + 4), 1e-3)


@functools.lru_cache(maxsize=64)
def _above_diagonal(size: int, device: torch.device) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool, device=device).triu_(1)
