"""The probabilities and the noise of all pairs of nodes, tile by tile."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.pairs.noise import pair_noise, row_keys
from gaug.pairs.sharing import share_tiles
from gaug.pairs.tile_work import find_hits, multiply_by_slopes
from gaug.pairs.tiles import Tile, edges_by_tile

# The rows of a matrix, in bands of as many rows as a tile.
_Bands = Sequence[Tensor]


class AllPairs:
    """What decides whether each pair is an edge, recomputed on demand.

    Args:
        original: The original graph.
        distribution: What to sample from.
        seed: Seed of the noise.
        side: Nodes along a side of a tile.
    """

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

    def sample(self, z: Tensor) -> Tensor:
        """The pairs whose probability is above their noise, tile by tile.  [2, E]

        A matrix product rounds differently from tile to tile. Pairs that this could affect are
        recomputed one by one in double precision, so a sample does not depend on the tiles.
        """
        slack, bands = _rounding_error(z), torch.split(z, self.side)

        def find(share: Iterator[Tile]) -> list[tuple[int, Tensor, Tensor]]:
            found, buffer = [], self._buffer(z)
            for tile in share:
                p = self._probabilities(bands, tile, buffer)
                places, margin = find_hits(
                    p, self._keys_of(tile), tile.cols.start, slack, on_diagonal=tile.on_diagonal
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

    def gradient(self, z: Tensor, grad: Tensor, value: Tensor) -> Tensor:
        r"""Gradient of the embeddings if that of $A'_{ij}$ is $\langle g_i, v_j \rangle$.

        Args:
            z: The embeddings.  [N, d]
            grad: Gradients of all sums over neighbors, g.  [N, w]
            value: What was summed, v.  [N, w]
        """
        # A pair represents both directions of its edge.
        left, right = torch.cat([grad, value], dim=1), torch.cat([value, grad], dim=1)
        bands, lefts, rights = (torch.split(part.detach(), self.side) for part in (z, left, right))

        def add_up(share: Iterator[Tile]) -> Tensor:
            grad, buffer, other = torch.zeros_like(z), self._buffer(z), self._buffer(z)
            grads = torch.split(grad, self.side)
            for tile in share:
                p = self._probabilities(bands, tile, buffer)
                slope = _product(lefts[tile.row], rights[tile.col], tile.matrix(other))
                multiply_by_slopes(
                    slope,
                    p,
                    self._keys_of(tile),
                    tile.cols.start,
                    self.distribution.temperature,
                    on_diagonal=tile.on_diagonal,
                )
                if self.distribution.reading == "sigmoid":
                    learned = self._learned(bands, tile, buffer)
                    slope.mul_(learned).mul_(1 - learned)
                grads[tile.row].addmm_(slope, bands[tile.col])
                grads[tile.col].addmm_(slope.t(), bands[tile.row])
            return grad

        parts = share_tiles(add_up, self.num_nodes, self.side, z.device)
        return torch.stack(parts).sum(dim=0).mul_(self.distribution.alpha)

    def relaxed_at(self, z: Tensor, pairs: Tensor) -> Tensor:
        """The relaxed sample of single pairs.  [2, n] → [n]"""
        p = self.distribution.of_pairs(z, pairs, self.edges)
        return self.distribution.relaxed(p, self._noise_at(pairs))

    def _probabilities(self, bands: _Bands, tile: Tile, buffer: Tensor) -> Tensor:
        """P of a tile, written to the buffer."""
        alpha = self.distribution.alpha
        if self.distribution.reading == "sigmoid":
            p = self._learned(bands, tile, buffer).mul_(alpha)
        else:
            p = _product(bands[tile.row], bands[tile.col], tile.matrix(buffer), alpha)
        edges = self.edges_by_tile[tile.number]
        p.view(-1).scatter_add_(0, edges, p.new_full((1,), 1 - alpha).expand(edges.numel()))
        return p

    def _learned(self, bands: _Bands, tile: Tile, buffer: Tensor) -> Tensor:
        """M of a tile whose reading is ``sigmoid``, written to the buffer."""
        return _product(bands[tile.row], bands[tile.col], tile.matrix(buffer)).sigmoid_()

    def _keys_of(self, tile: Tile) -> Tensor | None:
        return None if self.keys is None else self.keys[:, tile.rows]

    def _buffer(self, z: Tensor) -> Tensor:
        return z.new_empty(self.side * self.side)

    def _is_above(self, z: Tensor, pairs: Tensor) -> Tensor:
        """Whether probabilities are above the noise, exactly.  [2, n] → [n]

        Computed on the CPU, because not every device has double precision.
        """
        p = self.distribution.of_pairs(z.cpu().double(), pairs.cpu(), self.edges.cpu())
        return (p > self._noise_at(pairs).cpu()).to(pairs.device)

    def _noise_at(self, pairs: Tensor) -> Tensor:
        if self.keys is None:
            return torch.full((pairs.size(1),), 0.5, device=pairs.device)
        return pair_noise(self.keys, pairs)


def _product(left: Tensor, right: Tensor, out: Tensor, scale: float = 1.0) -> Tensor:
    """Scaled inner products of rows, written to the given output."""
    return torch.addmm(out, left, right.t(), beta=0, alpha=scale, out=out)


def _rounding_error(z: Tensor) -> float:
    """Largest error of a probability from a matrix product: twice the classical bound.

    It is limited, because with very long embeddings every pair would be recomputed, although nearly
    all of their probabilities are 0 or 1.
    """
    largest = float(z.square().sum(dim=1).max())
    return min(float(torch.finfo(z.dtype).eps) * (z.size(1) * largest + 4), 1e-3)
