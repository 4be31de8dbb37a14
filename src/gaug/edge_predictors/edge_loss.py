r"""The loss of a graph auto-encoder over all pairs of nodes, in three forms.

With $s_{ij} = \langle z_i, z_j \rangle$, the target $T = A + I$ and $P = \sum_{ij} T_{ij}$,

$$
L = \frac{\nu}{N^2} \sum_{i,j} \bigl[ w\, T_{ij}\, \zeta(-s_{ij})
+ (1 - T_{ij})\, \zeta(s_{ij}) \bigr], \quad
w = \frac{N^2 - P}{P}, \quad \nu = \frac{N^2}{2 (N^2 - P)}, \quad \zeta(s) = \log(1 + e^s)
$$

with the rare positives weighted as in Kipf and Welling (2016). Rearranged, it is a sum of
$\zeta(s)$ over all pairs plus a correction over the positives alone; the forms differ in how they
compute the former.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from gaug.edge_predictors.sampled_loss import sampled_sum
from gaug.errors import unknown_name
from gaug.graph.adjacency import Adjacency
from gaug.pairs.sharing import share_tiles
from gaug.pairs.tile_work import softplus_to_sigmoid
from gaug.pairs.tiles import TILE, Tile, edges_by_tile

FORMS = ("dense", "exact", "sampled")

#: Random pairs per node of the form ``sampled``.
COLUMNS = 128


def edge_loss(
    z: Tensor,
    adjacency: Adjacency,
    form: str,
    generator: torch.Generator | None = None,
    tile: int = TILE,
    columns: int = COLUMNS,
) -> Tensor:
    """The weighted reconstruction loss of embeddings.

    Args:
        z: Embeddings, one row per node.  [N, d]
        adjacency: The graph, A.
        form: ``dense`` holds all pairs (the reference); ``exact`` has the same value and gradient
            but only needs memory for one tile of pairs; ``sampled`` is an unbiased estimate, exact
            for the positives and from random pairs otherwise, linear in nodes and edges.
        generator: Source of the random pairs of ``sampled``.
        tile: Nodes along a side of the tiles of ``exact``; changes memory and speed only.
        columns: Random pairs per node of ``sampled``.
    """
    num_nodes = z.size(0)
    positives, _ = adjacency.looped
    total, count = num_nodes * num_nodes, positives.nnz
    weight = (total - count) / count
    norm = total / (2 * max(1, total - count))
    if form == "exact":
        value: Tensor = _ExactLoss.apply(z, adjacency, weight, tile)  # type: ignore[no-untyped-call]
        return value * (norm / total)
    if form == "sampled":
        seed = int(torch.randint(2**62, (1,), generator=generator))
        return sampled_sum(z, positives, weight, seed, columns) * (norm / total)
    if form != "dense":
        raise unknown_name("edge loss", form, FORMS)
    scores = (z[positives.row] * z[positives.col]).sum(dim=1)
    correction = (weight * functional.softplus(-scores) - functional.softplus(scores)).sum()
    result: Tensor = (functional.softplus(z @ z.t()).sum() + correction) * (norm / total)
    return result


class _ExactLoss(torch.autograd.Function):
    """The sum of the loss over all i, j; the gradient is computed along with the value."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, adjacency: Adjacency, weight: float, side: int) -> Tensor:
        pairs, bands = edges_by_tile(adjacency, side), torch.split(z.detach(), side)

        def add_up(share: Iterator[Tile]) -> tuple[float, Tensor]:
            total, grad, buffer = 0.0, torch.zeros_like(z), z.new_empty(side * side)
            grads = torch.split(grad, side)
            for tile in share:
                left, right = bands[tile.row], bands[tile.col]
                scores = torch.mm(left, right.t(), out=tile.matrix(buffer))
                entries, positives = scores.view(-1), _positives(pairs[tile.number], tile)
                known = entries[positives]
                value = softplus_to_sigmoid(scores)
                corrections = weight * functional.softplus(-known) - functional.softplus(known)
                value += float(corrections.sum())
                entries[positives] = -weight * (-known).sigmoid()
                grads[tile.row].addmm_(scores, right)
                if not tile.on_diagonal:  # its mirror image is another tile
                    value *= 2
                    grads[tile.col].addmm_(scores.t(), left)
                total += value
            return total, grad

        parts = share_tiles(add_up, z.size(0), side, z.device)
        ctx.save_for_backward(sum(grad for _, grad in parts) * 2)
        return z.new_tensor(sum(total for total, _ in parts))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None]:
        (grad,) = ctx.saved_tensors
        return grads[0] * grad, None, None, None


def _positives(edges: Tensor, tile: Tile) -> Tensor:
    """Positions of the entries of A + I within a tile, from those of its edges.  [n]"""
    if not tile.on_diagonal:
        return edges
    side = tile.rows.stop - tile.rows.start
    mirrored = edges % side * side + edges // side
    return torch.cat([edges, mirrored, torch.arange(0, side * side, side + 1, device=edges.device)])
