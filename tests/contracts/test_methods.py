"""What every augmentation promises, checked for each one by name."""

from __future__ import annotations

import pytest
import torch

from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.methods import METHOD_CONFIGS, build_method, method_config
from gaug.models import GCN, GCNConfig
from gaug.training.hooks import Augmentation
from gaug.training.loop import Optimization, RunResult, TrainingConfig, train_run
from gaug.training.task import Task


@pytest.fixture(scope="module")
def task() -> Task:
    data = planted_graph(SyntheticConfig(num_nodes=120, degree=6.0, num_classes=3))
    return Task.of(make_split(data, "stratified", SplitConfig()).apply(data))


@pytest.fixture(params=METHOD_CONFIGS)
def method(request: pytest.FixtureRequest, task: Task) -> Augmentation:
    return build_method(method_config(request.param)).prepare(task.visible(), 0)


def train(task: Task, method: Augmentation, seed: int) -> RunResult:
    return train_run(
        task,
        lambda: GCN(task.in_features, task.num_classes, GCNConfig(hidden=8)),
        method,
        Optimization(0.01, 5e-4),
        TrainingConfig(epochs=15),
        seed,
        keep_history=True,
    )


def test_the_same_seed_gives_the_same_run(task: Task, method: Augmentation) -> None:
    first, second = train(task, method, 3), train(task, method, 3)
    assert torch.equal(first.probabilities, second.probabilities)
    assert first.history == second.history


def test_another_seed_gives_another_run(task: Task, method: Augmentation) -> None:
    assert not torch.equal(
        train(task, method, 3).probabilities, train(task, method, 4).probabilities
    )


def test_the_input_graph_is_left_as_it_was(task: Task, method: Augmentation) -> None:
    before = task.adjacency.edge_index.clone()
    train(task, method, 0)
    fresh = Task.of(
        make_split(
            data := planted_graph(SyntheticConfig(num_nodes=120, degree=6.0, num_classes=3)),
            "stratified",
        ).apply(data)
    )
    assert torch.equal(task.adjacency.edge_index, before)
    assert torch.equal(fresh.adjacency.edge_index, before)


def test_predictions_are_distributions_over_the_classes(task: Task, method: Augmentation) -> None:
    probabilities = train(task, method, 0).probabilities
    assert probabilities.shape == (120, 3)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(120))


def test_it_sees_no_validation_or_test_label(task: Task, method: Augmentation) -> None:
    """Other labels on validation and test nodes change scores, never the trained model."""
    hidden = torch.cat([task.val, task.test])
    labels = task.labels.clone()
    labels[hidden] = (labels[hidden] + 1) % 3
    other = Task(
        task.features, task.adjacency, labels, task.train, task.val, task.test, task.num_classes
    )
    last = TrainingConfig(epochs=15, selection="last")
    arguments = (
        lambda: GCN(task.in_features, 3, GCNConfig(hidden=8)),
        method,
        Optimization(0.01, 5e-4),
        last,
        0,
    )
    assert torch.equal(
        train_run(task, *arguments).probabilities, train_run(other, *arguments).probabilities
    )


def test_the_global_random_state_is_left_as_it_was(task: Task, method: Augmentation) -> None:
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    train(task, method, 0)
    assert torch.equal(torch.rand(3), expected)


def test_a_run_has_no_more_epochs_than_it_says(task: Task, method: Augmentation) -> None:
    result = train(task, method, 0)
    assert 15 <= result.epochs <= method.max_epochs(15)


def test_the_history_tells_edges_within_a_class_from_others(
    task: Task, method: Augmentation
) -> None:
    for row in train(task, method, 0).history:
        assert row["edges"] == row["intra_edges"] + row["inter_edges"] > 0
