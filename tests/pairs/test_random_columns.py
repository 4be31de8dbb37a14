"""Random columns of bands: fair, distinct, and found again in a pattern."""

from __future__ import annotations

import math

import pytest
import torch

from gaug.graph.adjacency import Adjacency
from gaug.pairs.random_columns import RandomColumns

CPU = torch.device("cpu")


def test_every_row_is_in_one_band_and_the_columns_of_a_band_are_different() -> None:
    columns = RandomColumns(50, 9, seed=3, device=CPU, side=7)
    rows = [node for band in columns.bands() for node in range(band.rows.start, band.rows.stop)]
    assert rows == list(range(50))
    assert all(band.cols.unique().numel() == 9 for band in columns.bands())


def test_the_bands_together_use_all_nodes_as_evenly_as_can_be() -> None:
    columns = RandomColumns(50, 9, seed=3, device=CPU, side=7)
    used = torch.bincount(torch.cat([band.cols for band in columns.bands()]), minlength=50)
    assert int(used.max() - used.min()) <= 1


def test_every_node_is_a_column_of_every_band_equally_often() -> None:
    """Binomial with 2000 draws; within 5 standard deviations for 3 bands of 10 nodes."""
    count = torch.zeros(3, 10)
    for seed in range(2000):
        for number, band in enumerate(RandomColumns(10, 4, seed, CPU, side=4).bands()):
            count[number, band.cols] += 1
    assert float((count / 2000 - 0.4).abs().max()) < 5 * math.sqrt(0.4 * 0.6 / 2000)


@pytest.mark.parametrize("asked", [6, 100])
def test_as_many_columns_as_nodes_are_all_of_them_once(asked: int) -> None:
    columns = RandomColumns(6, asked, seed=0, device=CPU, side=4)
    assert columns.weight == 1
    for band in columns.bands():
        assert band.cols.sort().values.tolist() == list(range(6))


def test_entries_are_those_of_the_pattern_and_the_diagonal_within_the_tile() -> None:
    generator = torch.Generator().manual_seed(0)
    upper = (torch.rand(30, 30, generator=generator) < 0.3).triu(1)
    pattern = Adjacency.of_pairs(upper.nonzero().t(), 30).pattern
    wanted = (upper | upper.t()).logical_or_(torch.eye(30, dtype=torch.bool))
    columns = RandomColumns(30, 8, seed=1, device=CPU, side=7)
    for band in columns.bands():
        tile = torch.zeros(band.rows.stop - band.rows.start, 8, dtype=torch.bool)
        tile.view(-1)[columns.entries(band, pattern)] = True
        assert torch.equal(tile, wanted[band.rows][:, band.cols])
        numbers = torch.ones(tile.shape)  # float32, which the compiled form takes
        columns.clear_entries(numbers, band, pattern)
        assert torch.equal(numbers == 0, tile)
