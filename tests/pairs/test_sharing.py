"""Tiles are shared out whole, each once, and always alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from gaug.adjacency import Adjacency
from gaug.augment.edge_distribution import EdgeDistribution
from gaug.augment.edge_sampling import sample_blocked
from gaug.edge_predictors.edge_loss import edge_loss
from gaug.pairs.sharing import share_tiles
from gaug.pairs.tiles import Tile, tiles

CPU = torch.device("cpu")


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def numbers(share: list[Tile]) -> list[int]:
    return [tile.number for tile in share]


def test_every_tile_is_in_one_share_and_the_shares_do_not_depend_on_the_threads(
    threads: int,
) -> None:
    shares = list(share_tiles(numbers, 50, 7, CPU))
    assert shares == [list(range(first, 36, 8)) for first in range(8)]
    assert [tile.number for tile in tiles(50, 7)] == list(range(36))


def test_a_graph_of_few_tiles_has_a_share_for_each(threads: int) -> None:
    assert list(share_tiles(numbers, 5, 7, CPU)) == [[0]]
    assert list(share_tiles(numbers, 14, 7, CPU)) == [[0], [1], [2]]


def test_work_has_no_gradient_and_one_thread_and_leaves_the_rest_as_it_was(threads: int) -> None:
    def settings(share: list[Tile]) -> tuple[bool, int]:
        return torch.is_grad_enabled(), torch.get_num_threads()

    for _ in range(2):
        assert set(share_tiles(settings, 50, 7, CPU)) == {(False, 1)}
    assert torch.is_grad_enabled()
    assert torch.get_num_threads() == threads


def test_an_error_in_a_share_is_raised(threads: int) -> None:
    def fail(share: list[Tile]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(share_tiles(fail, 50, 7, CPU))


def test_neither_samples_nor_gradients_depend_on_the_threads(threads: int) -> None:
    generator = torch.Generator().manual_seed(0)
    graph = (torch.rand(60, 60, generator=generator) < 0.1).triu(1)
    adjacency = Adjacency.of_pairs(graph.nonzero().t(), 60)
    distribution = EdgeDistribution(0.4, 0.7)
    z = torch.rand(60, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    h = torch.rand(60, 3, generator=generator, dtype=torch.float64)

    def made() -> tuple[torch.Tensor, ...]:
        sample = sample_blocked(distribution.prepare(z), adjacency, distribution, 1, 13)
        loss = sample.symmetric(h).square().sum() + edge_loss(z, adjacency, "exact", tile=13)
        return sample.edge_index, *torch.autograd.grad(loss, z)

    def of_pairs() -> torch.Tensor:
        return torch.autograd.grad(edge_loss(z, adjacency, "exact", tile=13), z)[0]

    exact = of_pairs()
    edges, grad = made()
    again_edges, again = made()
    assert torch.equal(edges, again_edges)
    assert torch.equal(grad, again)
    torch.set_num_threads(1)
    assert torch.equal(of_pairs(), exact)
    alone_edges, alone = made()
    assert torch.equal(edges, alone_edges)
    # The sums over neighbours are PyTorch's, whose order may depend on the threads.
    torch.testing.assert_close(grad, alone)
