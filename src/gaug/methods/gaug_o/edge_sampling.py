r"""Samples of GAug-O's graphs with their gradient, by three engines.

``dense`` holds all pairs and leaves the gradient to autograd. ``blocked`` goes through the pairs
tile by tile: the forward pass keeps the sampled edges, and the backward pass recomputes each tile
and its noise. It needs memory for one tile and the edges. Both give the same graphs and gradients.
``sparse`` draws other graphs from the same distribution without going through the pairs, and has
the same gradient on average.

A layer that sums over the neighbors, $O = A' H$, has the gradient
$\partial L / \partial A'_{ij} = \langle G_i, H_j \rangle$ with $G = \partial L / \partial O$, for
every pair, whether or not it is an edge. With the G and H of all layers concatenated, a tile of the
total gradient is one small matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gaug.graph.adjacency import Adjacency, symmetric_pattern
from gaug.graph.caching import cached_with_gradient
from gaug.graph.sparse import Pattern, multiply
from gaug.methods.gaug_o.all_pairs import AllPairs
from gaug.methods.gaug_o.drawn_pairs import DrawnPairs, edge_products
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.sampled_adjacency import DenseSample, SampledAdjacency, kept_outside
from gaug.pairs.noise import row_keys, row_noise
from gaug.pairs.tiles import TILE

# The gradient of each sum, and its input.
_Factors = list[tuple[Tensor, Tensor]]
# What a sample was drawn from: has the gradient of all pairs.
_Pairs = AllPairs | DrawnPairs


def sample_dense(
    z: Tensor, original: Adjacency, distribution: EdgeDistribution, seed: int
) -> DenseSample:
    """A sample that holds all pairs; the reference for `sample_blocked`.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`.  [N, d]
        original: The original graph.
        distribution: What to sample from.
        seed: Seed of the noise.
    """
    p = distribution.of_all(z, original.pattern)
    noise = torch.full_like(p, 0.5)
    if distribution.sampling == "bernoulli":
        keys = row_keys(seed, z.size(0)).to(z.device)
        noise = row_noise(keys, 0, z.size(0))
    relaxed = distribution.relaxed(p, noise)
    hard = (noise < p).to(p.dtype)
    upper = (hard + (relaxed - relaxed.detach())).triu(diagonal=1)
    return DenseSample(upper + upper.t(), kept_outside(z, original, distribution))


def sample_blocked(
    z: Tensor,
    original: Adjacency,
    distribution: EdgeDistribution,
    seed: int,
    tile: int = TILE,
) -> ListedSample:
    """The sample of `sample_dense`, and its gradient, without a matrix of all pairs.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`.  [N, d]
        original: The original graph.
        distribution: What to sample from.
        seed: Seed of the noise.
        tile: Nodes along a side of a tile; changes memory and speed only.
    """
    pairs = AllPairs(original, distribution, seed, tile)
    pattern = symmetric_pattern(pairs.sample(z.detach()), z.size(0))
    return ListedSample(z, pattern, pairs, kept_outside(z, original, distribution))


def sample_sparse(
    z: Tensor,
    original: Adjacency,
    distribution: EdgeDistribution,
    seed: int,
    *,
    scale: float = 1.0,
    columns: int = 128,
    products: Tensor | None = None,
) -> ListedSample:
    """A sample with the same distribution, at a cost that grows with the edges drawn.

    Its gradient has the same mean given the sample; see `gaug.methods.gaug_o.drawn_pairs`.

    Args:
        z: Embeddings from `EdgeDistribution.prepare`, none negative.  [N, d]
        original: The original graph.
        distribution: What to sample from, with ``max-normalized`` probabilities.
        seed: Seed of the sample.
        scale: What the probabilities of pairs that are not edges are multiplied by, in [0, 1].
        columns: Random pairs per node from which the gradient of pairs not drawn is estimated.
        products: `edge_products` of the embeddings, if they are known already.  [E]
    """
    if products is None:
        products = edge_products(z, original)
    pairs = DrawnPairs(z.detach(), original, distribution, seed, scale, columns, products)
    return ListedSample(z, pairs.sample(), pairs, kept_outside(z, original, distribution))


class ListedSample(SampledAdjacency):
    """The sampled edges; the gradient of a sum over neighbors reaches every pair.

    Args:
        z: Prepared embeddings, which require gradients.  [N, d]
        pattern: The edges, in both directions.
        drawn_from: What they were sampled from.
        outside: Edges of each node that lead out, if it is a part of a larger graph.  [N]
    """

    def __init__(
        self, z: Tensor, pattern: Pattern, drawn_from: _Pairs, outside: Tensor | None = None
    ) -> None:
        super().__init__(pattern, outside)
        self._z = z
        self._drawn_from = drawn_from
        self._factors: _Factors = []
        # A node of the autograd graph whose backward pass runs after those of all sums.
        self._link: Tensor = _Link.apply(z, self._factors, drawn_from)  # type: ignore[no-untyped-call]

    @cached_with_gradient
    def _degrees(self) -> Tensor:
        return self.sum(self._z.new_ones(self.num_nodes, 1)).squeeze(1)

    @cached_with_gradient
    def weight(self) -> Tensor:
        """Ones that carry the gradient of the sampled edges, and of no other pair.  [nnz]

        For models that are not linear in the adjacency, such as attention.
        """
        relaxed = self._drawn_from.relaxed_at(self._z, self.pairs)
        return (1 + (relaxed - relaxed.detach()))[self.pair_of_entry]

    def sum(self, h: Tensor) -> Tensor:
        """The sum of h over the neighbors of each node.  [N, d]"""
        total: Tensor = _Sum.apply(self._link, h, self.pattern, self._factors)  # type: ignore[no-untyped-call]
        return total

    def degrees(self) -> Tensor:
        """Number of neighbors of each node.  [N]"""
        return self._degrees


class _Link(torch.autograd.Function):
    """Does nothing forward; backward, computes the gradient of all pairs from the saved sums."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, factors: _Factors, pairs: _Pairs) -> Tensor:
        ctx.factors, ctx.pairs = factors, pairs
        ctx.save_for_backward(z)
        return z.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: Any) -> tuple[Tensor, None, None]:
        (z,) = ctx.saved_tensors
        factors = list(ctx.factors)
        ctx.factors.clear()
        if not factors or ctx.pairs.distribution.alpha == 0:
            return torch.zeros_like(z), None, None
        grad = torch.cat([grad for grad, _ in factors], dim=1)
        value = torch.cat([value for _, value in factors], dim=1)
        return ctx.pairs.gradient(z, grad, value), None, None


class _Sum(torch.autograd.Function):
    """The sum over neighbors; saves for `_Link` what the gradient of the edges needs."""

    @staticmethod
    def forward(
        ctx: Any,
        link: Tensor,  # noqa: ARG004 – the gradient's path to the edges
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
                # A pass that does not need the gradient of the embeddings never reaches the link.
                _at_the_end_of_the_pass(ctx.factors.clear)
            ctx.factors.append((grad, h))
            grad_link = grad.new_zeros(())
        if ctx.needs_input_grad[1]:
            grad_h = multiply(ctx.pattern, None, grad)
        return grad_link, grad_h, None, None


def _at_the_end_of_the_pass(call: Callable[[], None]) -> None:
    """Call a function when autograd has finished the current backward pass."""
    torch.autograd.Variable._execution_engine.queue_callback(call)
