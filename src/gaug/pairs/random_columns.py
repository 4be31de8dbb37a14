"""A few random columns for each band of rows: a sample of all pairs in small tiles.

A sum over all pairs is estimated from these tiles, each of which is one small matrix product.
Single random pairs would cost as much each as a dozen in a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from gaug.graph.sparse import Pattern
from gaug.pairs.sharing import share_out
from gaug.pairs.tile_work import compiled_form

#: Rows that share their columns. With fewer, sums over all rows vary less: columns are more varied.
BAND = 128

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Band:
    """Some rows and the columns that were drawn for them.

    Attributes:
        rows: Ids of the row nodes.
        cols: Ids of the column nodes, all different.  [k]
        start: Place of the first column in the random order of the nodes.
    """

    rows: slice
    cols: Tensor
    start: int


class RandomColumns:
    """Columns for each band of rows, without repetition.

    The bands take the nodes in one random order, one band after another and again from its
    beginning. So every node is a column of a band with the same probability, and of about as many
    bands as any other. If as many columns as nodes are asked for, a band has all of them.

    Args:
        num_nodes: Number of nodes.
        columns: Columns per band.
        seed: Seed of the order.
        device: Where the ids are needed.
        side: Rows of a band.
    """

    def __init__(
        self,
        num_nodes: int,
        columns: int,
        seed: int,
        device: torch.device,
        side: int = BAND,
    ) -> None:
        self.num_nodes = num_nodes
        self.columns = min(columns, num_nodes)
        self.side = side
        order = np.random.default_rng(seed % (1 << 64)).permutation(num_nodes)
        self.order = torch.from_numpy(order).to(device)
        self.place = torch.empty_like(self.order)
        self.place[self.order] = torch.arange(num_nodes, device=device)

    @property
    def weight(self) -> float:
        """How many pairs of its row each pair of a tile represents."""
        return self.num_nodes / self.columns

    def bands(self) -> Iterator[Band]:
        """The bands, from the first row to the last.

        >>> columns = RandomColumns(5, 2, seed=0, device=torch.device("cpu"), side=2)
        >>> [(band.rows.start, band.rows.stop, band.cols.numel()) for band in columns.bands()]
        [(0, 2, 2), (2, 4, 2), (4, 5, 2)]
        """
        twice = torch.cat([self.order, self.order[: self.columns]])
        for number, first in enumerate(range(0, self.num_nodes, self.side)):
            rows = slice(first, min(first + self.side, self.num_nodes))
            start = number * self.columns % self.num_nodes
            yield Band(rows, twice[start : start + self.columns], start)

    def share(self, work: Callable[[Iterator[Band]], _Result]) -> list[_Result]:
        """The result of each thread for its bands (see `share_out`)."""
        count = -(-self.num_nodes // self.side)
        return share_out(work, self.bands, count, self.order.device)

    def clear_entries(self, tile: Tensor, band: Band, pattern: Pattern) -> None:
        """Set a band's tile to 0 in place at the entries of a pattern and on the diagonal.

        Args:
            tile: A number for each row and column of the band.  [r, k]
            band: The band.
            pattern: The pattern.
        """
        if compiled_form(tile) is None:
            tile.view(-1)[self.entries(band, pattern)] = 0
            return
        from gaug.pairs import fused_slopes

        listed = pattern.crow.numpy(), pattern.col.numpy()
        fused_slopes.clear_entries(
            tile.numpy(), band.rows.start, band.start, self.place.numpy(), *listed
        )

    def entries(self, band: Band, pattern: Pattern) -> Tensor:
        """Flat positions in a band's tile of the entries of a pattern, and of the diagonal.  [n]"""
        first, end = pattern.crow[band.rows.start], pattern.crow[band.rows.stop]
        node = torch.arange(band.rows.start, band.rows.stop, device=self.place.device)
        degree = pattern.crow[band.rows.start : band.rows.stop + 1].diff()
        row = torch.cat([torch.repeat_interleave(node, degree), node]) - band.rows.start
        col = torch.cat([pattern.col[first:end], node])
        place = (self.place[col] - band.start) % self.num_nodes
        inside = place < self.columns
        found: Tensor = row[inside] * self.columns + place[inside]
        return found
