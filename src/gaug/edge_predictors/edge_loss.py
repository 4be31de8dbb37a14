r"""The loss of a graph auto-encoder over all pairs of nodes, in three forms.

With $s_{ij} = \langle z_i, z_j \rangle$, the target $T = A + I$ and $P = \sum_{ij} T_{ij}$,

$$
L = \frac{\nu}{N^2} \sum_{i,j} \bigl[ w\, T_{ij}\, \zeta(-s_{ij})
+ (1 - T_{ij})\, \zeta(s_{ij}) \bigr], \quad
w = \frac{N^2 - P}{P}, \quad \nu = \frac{N^2}{2 (N^2 - P)}, \quad \zeta(s) = \log(1 + e^s)
$$

as Kipf and Welling (2016) weight the rare positives. Rearranged, it is a sum of $\zeta(s)$ over all
pairs and a correction over the positives alone; the forms differ in how they take the former.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gaug.errors import unknown_name
from gaug.pairs.tile_work import softplus_to_sigmoid
from gaug.pairs.tiles import TILE, by_tile, tiles

FORMS = ("dense", "exact", "sampled")


def edge_loss(
    z: Tensor,
    positives: Tensor,
    form: str,
    generator: torch.Generator | None = None,
    tile: int = TILE,
) -> Tensor:
    """The weighted reconstruction loss of embeddings.

    Args:
        z: Embeddings, one row a node.  [N, d]
        positives: The entries of A + I, both directions and the diagonal.  [2, P]
        form: ``dense`` holds all pairs (the reference); ``exact`` has the same value and gradient
            in memory of a tile of pairs; ``sampled`` is an unbiased estimate from as many random
            pairs as there are positives, linear in the edges.
        generator: Source of the random pairs of ``sampled``.
        tile: Nodes along a side of the tiles of ``exact``; changes memory and speed only.
    """
    num_nodes = z.size(0)
    total, count = num_nodes * num_nodes, positives.size(1)
    weight = (total - count) / count
    norm = total / (2 * max(1, total - count))
    if form == "exact":
        value: Tensor = _ExactLoss.apply(z, positives, weight, tile)  # type: ignore[no-untyped-call]
        return value * (norm / total)
    scores = (z[positives[0]] * z[positives[1]]).sum(dim=1)
    correction = (weight * functional.softplus(-scores) - functional.softplus(scores)).sum()
    if form == "dense":
        everything = functional.softplus(z @ z.t()).sum()
    elif form == "sampled":
        u, v = torch.randint(num_nodes, (2, count), generator=generator).to(z.device)
        everything = functional.softplus((z[u] * z[v]).sum(dim=1)).sum() * (total / count)
    else:
        raise unknown_name("edge loss", form, FORMS)
    result: Tensor = (everything + correction) * (norm / total)
    return result


class _ExactLoss(torch.autograd.Function):
    """The sum of the loss over all i, j, its gradient taken along with its value."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, positives: Tensor, weight: float, side: int) -> Tensor:
        total = 0.0
        grad = torch.zeros_like(z)
        above = positives[:, positives[0] // side <= positives[1] // side]
        parts = by_tile(above, z.size(0), side)
        for tile in tiles(z.size(0), side):
            scores = z[tile.rows] @ z[tile.cols].t()
            row, col = parts[tile.number]
            known = scores[row, col]
            value = softplus_to_sigmoid(scores)
            corrections = weight * functional.softplus(-known) - functional.softplus(known)
            value += float(corrections.sum())
            scores[row, col] = -weight * (-known).sigmoid()
            grad[tile.rows] += scores @ z[tile.cols]
            if not tile.on_diagonal:  # its mirror image is a tile of its own
                value *= 2
                grad[tile.cols] += scores.t() @ z[tile.rows]
            total += value
        ctx.save_for_backward(grad.mul_(2))
        return z.new_tensor(total)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None]:
        (grad,) = ctx.saved_tensors
        return grads[0] * grad, None, None, None
