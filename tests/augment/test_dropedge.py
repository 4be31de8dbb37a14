"""DropEdge: exact counts, both directions together, every edge alike."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaug.augment.base import Round
from gaug.augment.dropedge import DropEdge, DropEdgeConfig, sample_kept
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.training.task import Task


@given(st.integers(1, 200), st.floats(0, 0.99), st.integers(0, 1000))
def test_exactly_the_floor_of_the_share_is_dropped(count: int, share: float, seed: int) -> None:
    keep = sample_kept(count, share, torch.Generator().manual_seed(seed))
    assert int((~keep).sum()) == math.floor(share * count)


def test_each_edge_is_dropped_equally_often() -> None:
    generator = torch.Generator().manual_seed(0)
    draws, count, share = 4000, 20, 0.3
    dropped = sum((~sample_kept(count, share, generator)).double() for _ in range(draws))
    bound = 5 * math.sqrt(share * (1 - share) / draws)
    assert (dropped / draws - share).abs().max() < bound


@pytest.fixture
def task() -> Task:
    data = planted_graph(SyntheticConfig(num_nodes=60, degree=6.0))
    order = torch.arange(60)
    for part, chosen in (("train", order < 20), ("val", order // 20 == 1), ("test", order >= 40)):
        data[f"{part}_mask"] = chosen
    return Task.of(data)


def test_each_epoch_trains_on_a_new_symmetric_part_of_the_graph(task: Task) -> None:
    run = DropEdge(DropEdgeConfig(drop_fraction=0.5)).start(
        task.visible(), torch.Generator().manual_seed(0)
    )
    current = run.next_round(None)
    assert isinstance(current, Round)
    original = {tuple(pair) for pair in task.adjacency.edge_index.t().tolist()}
    seen = []
    for epoch in range(3):
        graph = run.training_graph(current, epoch)
        edges = {tuple(pair) for pair in graph.edge_index.t().tolist()}
        assert edges < original
        assert edges == {(v, u) for u, v in edges}
        seen.append(edges)
    assert seen[0] != seen[1] != seen[2]


def test_inference_is_on_the_original_graph(task: Task) -> None:
    run = DropEdge().start(task.visible(), torch.Generator())
    current = run.next_round(None)
    assert current is not None
    assert current.adjacency is task.adjacency


def test_dropping_nothing_is_the_original_graph(task: Task) -> None:
    run = DropEdge(DropEdgeConfig(drop_fraction=0.0)).start(task.visible(), torch.Generator())
    current = run.next_round(None)
    assert current is not None
    graph = run.training_graph(current, 0)
    assert torch.equal(graph.edge_index, task.adjacency.edge_index)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match=r"drop_fraction must be in \[0, 0.99\]"):
        DropEdgeConfig(drop_fraction=share)
