"""Tiles cover every pair once."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from gaug.pairs.tiles import by_tile, tiles


@given(st.integers(1, 40), st.integers(1, 12))
def test_every_pair_of_the_upper_triangle_is_in_exactly_one_tile(num_nodes: int, side: int) -> None:
    seen = torch.zeros(num_nodes, num_nodes, dtype=torch.long)
    for number, tile in enumerate(tiles(num_nodes, side)):
        assert tile.number == number
        seen[tile.rows, tile.cols] += 1
        if tile.on_diagonal:
            seen[tile.rows, tile.cols].triu_()
    assert torch.equal(seen, torch.ones_like(seen).triu())


@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 100))
def test_pairs_are_found_in_their_tiles(num_nodes: int, side: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    matrix = (torch.rand(num_nodes, num_nodes, generator=generator) < 0.3).triu(1)
    pairs = matrix.nonzero()[torch.randperm(int(matrix.sum()), generator=generator)].t()
    parts = by_tile(pairs, num_nodes, side)
    found = torch.zeros_like(matrix)
    for tile in tiles(num_nodes, side):
        block = found[tile.rows, tile.cols]
        places = parts[tile.number]
        block[places // block.size(1), places % block.size(1)] = True
    assert len(parts) == tile.number + 1
    assert torch.equal(found, matrix)
