"""All pairs of nodes, tile by tile.

Square tiles keep the operands and the result of a matrix product in a core's own cache: the same
work in blocks of whole rows takes up to 1.6 times as long at 7,575 nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from gaug.graph.adjacency import Adjacency

#: Nodes along a side of a tile.
TILE = 640


@dataclass(frozen=True)
class Tile:
    """The pairs of some nodes (rows) with others (columns), on or above the diagonal of tiles.

    Attributes:
        number: Its position in the order of `tiles`.
        row: Index of the band of nodes in its rows.
        col: Index of the band of nodes in its columns: the same or a later one.
        rows: Ids of the row nodes.
        cols: Ids of the column nodes.
    """

    number: int
    row: int
    col: int
    rows: slice
    cols: slice

    @property
    def on_diagonal(self) -> bool:
        """Whether rows and columns are the same nodes."""
        return self.row == self.col

    def matrix(self, buffer: Tensor) -> Tensor:
        """The first numbers of a buffer as a matrix of this tile's shape.

        Reused memory is already in the cache.
        """
        shape = self.rows.stop - self.rows.start, self.cols.stop - self.cols.start
        return buffer[: shape[0] * shape[1]].view(shape)


def tiles(num_nodes: int, side: int = TILE) -> Iterator[Tile]:
    """The tiles of the upper triangle, row by row.

    >>> [(tile.rows.start, tile.cols.start) for tile in tiles(5, side=2)]
    [(0, 0), (0, 2), (0, 4), (2, 2), (2, 4), (4, 4)]
    """
    bands = [slice(start, min(start + side, num_nodes)) for start in range(0, num_nodes, side)]
    number = 0
    for row in range(len(bands)):
        for col in range(row, len(bands)):
            yield Tile(number, row, col, bands[row], bands[col])
            number += 1


def by_tile(pairs: Tensor, num_nodes: int, side: int = TILE) -> list[Tensor]:
    """The pairs within each tile, in the order of `tiles`, as flat positions in its matrix.

    Args:
        pairs: Pairs in the upper triangle of tiles, such as (smaller id, larger id).  [2, n]
        num_nodes: Number of nodes.
        side: Nodes along a side of a tile.

    >>> by_tile(torch.tensor([[0, 1, 0], [4, 2, 1]]), num_nodes=5, side=2)[1]
    tensor([2])
    """
    count = -(-num_nodes // side)
    row, col = pairs // side
    # The tiles in the rows of tiles above, plus those further left in this row.
    number = row * count - row * (row - 1) // 2 + col - row
    width = (num_nodes - col * side).clamp(max=side)
    place = pairs[0] % side * width + pairs[1] % side
    sizes = torch.bincount(number, minlength=count * (count + 1) // 2)
    return list(torch.split(place[number.argsort(stable=True)], sizes.tolist()))


def edges_by_tile(adjacency: Adjacency, side: int = TILE) -> list[Tensor]:
    """The undirected edges of a graph `by_tile`, computed once and cached with the graph.

    Args:
        adjacency: The graph.
        side: Nodes along a side of a tile.
    """
    layouts = _LAYOUTS.setdefault(adjacency, {})
    if side not in layouts:
        layouts[side] = by_tile(adjacency.pairs, adjacency.num_nodes, side)
    return layouts[side]


_LAYOUTS: WeakKeyDictionary[Adjacency, dict[int, list[Tensor]]] = WeakKeyDictionary()
