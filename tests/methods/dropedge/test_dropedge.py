"""DropEdge: exact counts, both directions together, every edge alike."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaug import DropEdge, DropEdgeConfig
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.methods.dropedge.method import sample_kept
from gaug.models.config import ModuleConfig
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec
from gaug.training.config import TrainingConfig
from gaug.training.hooks import Round
from gaug.training.loop import RunResult, train_run
from gaug.training.task import Task
from tests.batch_of import whole_batch


@given(st.integers(1, 200), st.floats(0, 0.99), st.integers(0, 1000))
def test_exactly_the_floor_of_the_share_is_dropped(count: int, share: float, seed: int) -> None:
    keep = sample_kept(count, share, torch.Generator().manual_seed(seed))
    assert int((~keep).sum()) == math.floor(share * count)


def test_each_edge_is_dropped_equally_often() -> None:
    generator = torch.Generator().manual_seed(0)
    draws, count, share = 4000, 20, 0.3
    dropped = torch.zeros(count, dtype=torch.float64)
    for _ in range(draws):
        dropped += ~sample_kept(count, share, generator)
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
        graph = run.training_graph(current, whole_batch(task), epoch)
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
    graph = run.training_graph(current, whole_batch(task), 0)
    assert torch.equal(graph.edge_index, task.adjacency.edge_index)


def test_each_layer_has_a_draw_of_its_own_with_exactly_the_share_left(task: Task) -> None:
    config = DropEdgeConfig(drop_fraction=0.3, layer_wise=True)
    run = DropEdge(config).start(task.visible(), torch.Generator().manual_seed(0))
    current = run.next_round(None)
    assert current is not None
    original = {tuple(pair) for pair in task.adjacency.edge_index.t().tolist()}
    kept = task.adjacency.num_pairs - math.floor(0.3 * task.adjacency.num_pairs)
    seen = []
    for epoch in range(2):
        graph = run.training_graph(current, whole_batch(task), epoch)
        for number in range(3):
            edges = {tuple(pair) for pair in graph.layer(number).edge_index.t().tolist()}
            assert edges < original
            assert edges == {(v, u) for u, v in edges}
            assert len(edges) == 2 * kept
            seen.append(frozenset(edges))
    assert len(set(seen)) == 6


def train(task: Task, model: str, method: DropEdge, seed: int = 0) -> RunResult:
    config = MODELS.config_type(model)(hidden=8)
    return train_run(
        task,
        lambda: ModelSpec.of(config).build(task.in_features, task.num_classes),
        method,
        ModuleConfig(0.01, 5e-4),
        TrainingConfig(epochs=5),
        seed,
    )


@pytest.mark.parametrize("model", ["gcn", "gsage", "gat", "jknet", "mlp"])
def test_every_model_trains_layer_wise_and_repeats_itself(task: Task, model: str) -> None:
    layered = DropEdge(DropEdgeConfig(layer_wise=True))
    first, second = train(task, model, layered), train(task, model, layered)
    assert torch.equal(first.probabilities, second.probabilities)
    if model != "mlp":
        whole = train(task, model, DropEdge(DropEdgeConfig(layer_wise=False)))
        assert not torch.equal(first.probabilities, whole.probabilities)
    (done,) = first.rounds
    assert done.round.adjacency is task.adjacency
    assert torch.equal(first.probabilities, done.predict(task.adjacency))


def test_a_share_of_less_than_one_edge_is_told(task: Task) -> None:
    count = task.adjacency.num_pairs
    few = train(task, "gcn", DropEdge(DropEdgeConfig(drop_fraction=0.5 / count)))
    assert few.warning is not None
    assert few.warning.startswith("DropEdge changed no edge: drop_fraction=0.00")
    assert few.warning.endswith(f"of {count} edges is less than one. Raise drop_fraction.")
    assert train(task, "gcn", DropEdge(DropEdgeConfig(drop_fraction=1.5 / count))).warning is None


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match=r"drop_fraction must be in \[0, 0.99\]"):
        DropEdgeConfig(drop_fraction=share)
