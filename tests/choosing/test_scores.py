from __future__ import annotations

import statistics

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaug import (
    DropEdge,
    Experiment,
    GAugM,
    SplitConfig,
    load_graph,
    make_split,
    run_experiment,
)
from gaug.choosing.scores import ValidationScores, validate_repeatedly, without_test
from gaug.errors import DataError
from gaug.methods.method import Method
from gaug.training.task import Task


@pytest.fixture
def data() -> Data:
    graph = load_graph("karate")
    split = make_split(graph, "stratified", SplitConfig(train_fraction=0.1))
    return split.apply(graph)


def scores_of(data: Data, method: Method) -> tuple[float, ...]:
    found = validate_repeatedly(
        Task.of(data), method.model, method, method.training, runs=2, seed=method.seed
    )
    assert found.num_nodes == int(data.val_mask.sum())
    return found.values


@pytest.mark.parametrize(
    ("name", "method", "settings"),
    [
        ("dropedge", DropEdge(epochs=5, seed=3), []),
        ("gaug-m", GAugM(predictor="ra", epochs=5, seed=3), ["predictor=ra"]),
    ],
)
def test_the_runs_are_those_of_the_experiment(data, name, method, settings):
    experiment = Experiment.of(
        "karate", method=name, split="stratified", settings=["epochs=5", *settings], seed=3
    )
    expected = [record.val_score for record in run_experiment(experiment, runs=2)]
    assert list(scores_of(data, method)) == expected


def test_labels_of_test_nodes_make_no_difference(data):
    other = data.clone()
    other.y[data.test_mask] = 1 - data.y[data.test_mask]
    assert scores_of(data, DropEdge(epochs=5)) == scores_of(other, DropEdge(epochs=5))


def test_a_task_without_test_has_no_label_of_a_test_node(data):
    task = Task.of(data)
    hidden = without_test(task)
    assert hidden.test.numel() == 0
    assert bool((hidden.labels[task.test] == -1).all())
    assert torch.equal(hidden.labels[task.val], task.labels[task.val])
    assert bool((task.labels >= 0).all()), "the given task is untouched"


def test_without_validation_nodes_nothing_is_compared(data):
    data.val_mask[:] = False
    with pytest.raises(DataError, match="validation nodes"):
        scores_of(data, DropEdge(epochs=1))


@given(values=st.lists(st.floats(0, 100), min_size=1, max_size=5), num_nodes=st.integers(1, 10_000))
def test_the_spread_is_the_larger_of_runs_and_nodes(values, num_nodes):
    scores = ValidationScores(tuple(values), num_nodes)
    runs = statistics.stdev(values) if len(values) > 1 else 0.0
    share = (num_nodes * statistics.fmean(values) / 100 + 1) / (num_nodes + 2)
    nodes = 100 * scipy.stats.binom(num_nodes, share).std() / num_nodes
    assert scores.spread == pytest.approx(max(runs, nodes))
    assert scores.spread > 0


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 1000))
def test_of_two_at_most_one_is_clearly_above(one, other, num_nodes):
    first, second = (ValidationScores((value,), num_nodes) for value in (one, other))
    assert not (first.clearly_above(second) and second.clearly_above(first))
    if first.clearly_above(second):
        assert one > other


def test_one_node_of_six_is_not_clearly_above():
    assert not ValidationScores((100.0,), 6).clearly_above(ValidationScores((500 / 6,), 6))
    assert ValidationScores((100.0,), 600).clearly_above(ValidationScores((500 / 6,), 600))


def test_words_say_whether_runs_or_nodes_leave_the_doubt():
    steady, shaky = ValidationScores((80.0, 80.0), 50), ValidationScores((60.0, 90.0), 50)
    assert "50 nodes leave to chance" in steady.chance_in_words(steady)
    assert "21.2 points by which runs differ" in steady.chance_in_words(shaky)
