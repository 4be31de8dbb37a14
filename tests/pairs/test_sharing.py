"""Tiles are shared out whole, each once, and always alike."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from gaug.edge_predictors.edge_loss import edge_loss
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.edge_sampling import sample_blocked
from gaug.pairs.sharing import share_tiles
from gaug.pairs.tiles import Tile, tiles

CPU = torch.device("cpu")


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def numbers(share: Iterator[Tile]) -> list[int]:
    return [tile.number for tile in share]


def test_every_tile_is_in_one_share_and_the_shares_are_alike_each_time(threads: int) -> None:
    shares = share_tiles(numbers, 50, 7, CPU)
    assert len(shares) == threads
    assert sorted(itertools.chain(*shares)) == [tile.number for tile in tiles(50, 7)]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert share_tiles(numbers, 50, 7, CPU) == shares


def test_a_graph_of_one_tile_has_one_share(threads: int) -> None:
    assert share_tiles(numbers, 5, 7, CPU) == [[0]]


def test_work_has_no_gradient_and_one_thread_and_leaves_the_rest_as_it_was(threads: int) -> None:
    def settings(share: Iterator[Tile]) -> tuple[bool, int]:
        return torch.is_grad_enabled(), torch.get_num_threads()

    for _ in range(2):
        assert share_tiles(settings, 50, 7, CPU) == [(False, 1)] * threads
    assert torch.is_grad_enabled()
    assert torch.get_num_threads() == threads


def test_an_error_in_a_share_is_raised(threads: int) -> None:
    def fail(share: Iterator[Tile]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share_tiles(fail, 50, 7, CPU)


def test_samples_do_not_depend_on_the_threads_nor_gradients_beyond_rounding(threads: int) -> None:
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

    edges, grad = made()
    again_edges, again = made()
    assert torch.equal(edges, again_edges)
    assert torch.equal(grad, again)
    torch.set_num_threads(1)
    alone_edges, alone = made()
    assert torch.equal(edges, alone_edges)
    torch.testing.assert_close(grad, alone)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork processes")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """In a process of its own: PyTorch's own threads are best not forked in that of the tests."""
    script = """
import os, torch
from gaug.pairs.sharing import share_tiles
torch.set_num_threads(2)
def work():
    return share_tiles(lambda share: sum(1 for _ in share), 50, 7, torch.device("cpu"))
expected = work()
child = os.fork()
if child == 0:
    os._exit(0 if work() == expected else 1)
print(os.waitpid(child, 0)[1])
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "0\n"
