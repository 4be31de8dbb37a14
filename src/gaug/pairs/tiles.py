"""All pairs of nodes, tile by tile.

Square tiles keep a matrix product's operands and its result in a core's own cache: the same work
in blocks of whole rows takes up to 1.6 times as long at 7,575 nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

#: Nodes along a side of a tile.
TILE = 512


@dataclass(frozen=True)
class Tile:
    """The pairs of some nodes (rows) with others (columns), on or above the diagonal of tiles.

    Attributes:
        number: Its place in the order of `tiles`.
        rows: Ids of the row nodes.
        cols: Ids of the column nodes: the same, or all larger.
    """

    number: int
    rows: slice
    cols: slice

    @property
    def on_diagonal(self) -> bool:
        """Whether rows and columns are the same nodes."""
        return self.rows == self.cols


def tiles(num_nodes: int, side: int = TILE) -> Iterator[Tile]:
    """The tiles of the upper triangle, row by row.

    >>> [(tile.rows.start, tile.cols.start) for tile in tiles(5, side=2)]
    [(0, 0), (0, 2), (0, 4), (2, 2), (2, 4), (4, 4)]
    """
    bands = [slice(start, min(start + side, num_nodes)) for start in range(0, num_nodes, side)]
    number = 0
    for place, rows in enumerate(bands):
        for cols in bands[place:]:
            yield Tile(number, rows, cols)
            number += 1


def by_tile(pairs: Tensor, num_nodes: int, side: int = TILE) -> list[Tensor]:
    """The pairs within each tile, in the order of `tiles`, as ids relative to the tile.

    Args:
        pairs: Each in a tile of the upper triangle: (smaller id, larger id) for instance.  [2, n]
        num_nodes: Number of nodes.
        side: Nodes along a side of a tile.

    >>> by_tile(torch.tensor([[0, 1, 0], [4, 2, 1]]), num_nodes=5, side=2)[1]
    tensor([[1],
            [0]])
    """
    count = -(-num_nodes // side)
    row, col = pairs // side
    # So many tiles are in the rows of tiles above, and so many further left in this one.
    number = row * count - row * (row - 1) // 2 + col - row
    order = number.argsort(stable=True)
    sizes = torch.bincount(number, minlength=count * (count + 1) // 2)
    return list(torch.split(pairs[:, order] % side, sizes.tolist(), dim=1))
