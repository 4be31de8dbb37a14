"""Scores of whole rows that are those of single pairs to the last bit.

A score is rounded to float32 once, from double precision. A matrix product in double precision adds
in another order, but its error is known, and nearly all scores round to the same float32 with it
and without. The others are scored one by one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

#: Above this share of a block, scoring pairs one by one takes longer than all of it in rows.
ONE_BY_ONE = 1 / 64


def settled(
    values: Tensor,
    error: Tensor,
    score: Callable[[Tensor], Tensor],
    rows: tuple[int, int],
    closer: Callable[[], tuple[Tensor, Tensor]] | None = None,
) -> Tensor:
    """Scores rounded to float32 as if each had been computed alone.  [r, c]

    Args:
        values: Scores in double precision.  [r, c]
        error: The most that each may differ from the score of the pair alone.  [r, c]
        score: Scores of single pairs, [2, n] → [n].
        rows: The node of the first row, and the node of the first column.
        closer: Scores and errors by arithmetic that costs more and has smaller errors.
    """
    low, high = (values - error).float(), (values + error).float()
    unsettled = low != high
    num_unsettled = int(unsettled.sum())
    if closer is not None and num_unsettled > ONE_BY_ONE * values.numel():
        return settled(*closer(), score, rows)
    if num_unsettled:
        row, column = unsettled.nonzero(as_tuple=True)
        low[row, column] = score(torch.stack([row + rows[0], column + rows[1]]))
    return low


def sums_are_exact(embeddings: Tensor) -> bool:
    """Whether double precision holds every sum of products of two rows exactly, in any order.

    So it is for whole numbers, for instance: counts, or signs.
    """
    entries = embeddings[embeddings != 0].double()
    if entries.numel() == 0:
        return True
    mantissa, exponent = torch.frexp(entries)
    digits = (mantissa * 2.0**24).long()  # a float32 has 24
    lowest = exponent.double() - 24 + (digits & -digits).double().log2()
    largest = embeddings.double().square().sum(dim=1).max().log2()
    return bool(largest - 2 * lowest.min() <= 53)
