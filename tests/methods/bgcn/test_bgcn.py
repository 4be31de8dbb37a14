"""BGCN: its rounds, its drawn graphs, and the average of its predictions."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from gaug import BGCN, BGCNConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.graph.homophily import edge_homophily
from gaug.methods.bgcn.block_model import BlockModel
from gaug.models.config import ModuleConfig
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, Round, RoundResult
from gaug.training.loop import RunResult, train_run
from gaug.training.task import Task


def planted_task(*, multilabel: bool = False, **settings: Any) -> Task:
    data = planted_graph(SyntheticConfig(num_nodes=200, degree=8.0, **settings))
    if multilabel:
        first = functional.one_hot(data.y, 4)
        data.y = (first + functional.one_hot((data.y + 1) % 4, 4)).float()
    return Task.of(make_split(data, "random" if multilabel else "stratified").apply(data))


def train(task: Task, config: BGCNConfig, model: str = "gcn", epochs: int = 40) -> RunResult:
    return train_run(
        task,
        lambda: ModelSpec.of(MODELS.config_type(model)(hidden=16)).build(
            task.in_features, task.num_classes
        ),
        BGCN(config).prepare(task.visible(), 0),
        ModuleConfig(0.01, 5e-4),
        TrainingConfig(epochs=epochs),
        0,
    )


def start(task: Task, **settings: Any) -> AugmentedRun:
    return BGCN(BGCNConfig(**settings)).start(task.visible(), torch.Generator().manual_seed(0))


class Fixed:
    """Predicts the same for every graph, but for dropout, and keeps what it was asked."""

    def __init__(self, probabilities: Tensor, step: float = 0.0) -> None:
        self.probabilities = probabilities
        self.step = step
        self.asked: list[tuple[Adjacency, bool]] = []

    def __call__(self, adjacency: Adjacency, *, dropout: bool = False) -> Tensor:
        self.asked.append((adjacency, dropout))
        return self.probabilities + (self.step * len(self.asked) if dropout else 0)


def result(current: Round, predict: Fixed) -> RoundResult:
    return RoundResult(current, 0.0, 0.0, predict)


def drawn_graphs(run: AugmentedRun, predictions: Tensor) -> list[Adjacency]:
    """The graphs of the rounds after the first."""
    current = run.next_round(None)
    assert current is not None
    graphs = []
    while (current := run.next_round(result(current, Fixed(predictions)))) is not None:
        graphs.append(current.adjacency)
    return graphs


def test_the_first_round_is_on_the_original_graph_and_each_later_one_on_a_new_graph() -> None:
    task = planted_task()
    run = start(task, graphs=3)
    first = run.next_round(None)
    assert first is not None
    assert first.adjacency is task.adjacency
    graphs = drawn_graphs(start(task, graphs=3), functional.one_hot(task.labels).float())
    assert len(graphs) == 3
    seen = [{tuple(pair) for pair in graph.edge_index.t().tolist()} for graph in graphs]
    for edges in seen:
        assert edges == {(v, u) for u, v in edges}
        assert all(u != v for u, v in edges)
    original = {tuple(pair) for pair in task.adjacency.edge_index.t().tolist()}
    assert len({frozenset(edges) for edges in [*seen, original]}) == 4


def test_drawn_graphs_keep_the_number_of_edges_and_join_the_predicted_classes() -> None:
    task = planted_task(homophily=0.7)
    predictions = functional.one_hot(task.labels).float()
    for graph in drawn_graphs(start(task, graphs=3), predictions):
        assert graph.num_pairs == pytest.approx(task.adjacency.num_pairs, rel=0.15)
        homophily = edge_homophily(graph.edge_index, task.labels)
        assert homophily is not None
        assert homophily > 0.6


def test_the_class_is_followed_however_unsure_its_prediction() -> None:
    task = planted_task()
    unsure = functional.one_hot(task.labels).float() * 0.1 + 0.225
    by_class = drawn_graphs(start(task, graphs=1), unsure)[0]
    by_probability = drawn_graphs(start(task, graphs=1, prediction="probabilities"), unsure)[0]
    sure = drawn_graphs(start(task, graphs=1), functional.one_hot(task.labels).float())[0]
    assert torch.equal(by_class.edge_index, sure.edge_index)
    low, high = (edge_homophily(g.edge_index, task.labels) for g in (by_probability, by_class))
    assert low is not None
    assert high is not None
    assert low < high - 0.1


def test_predictions_are_the_mean_over_graphs_and_dropout_without_the_first_gnn() -> None:
    task = planted_task()
    rounds = [Round(task.adjacency) for _ in range(3)]
    rest = torch.full((200, 4), 0.2), torch.full((200, 4), 0.4)
    gnns = [Fixed(torch.full((200, 4), 9.0)), Fixed(rest[0], 0.01), Fixed(rest[1], 0.02)]
    results = [result(current, gnn) for current, gnn in zip(rounds, gnns, strict=True)]
    mean = start(task, dropout_samples=3).combine(results)
    # Samples 0.21, 0.22, 0.23 of the one and 0.42, 0.44, 0.46 of the other.
    torch.testing.assert_close(mean, torch.full((200, 4), 1.98 / 6))
    assert [len(gnn.asked) for gnn in gnns] == [0, 3, 3]
    assert all(
        adjacency is current.adjacency and dropout
        for current, gnn in zip(rounds, gnns, strict=True)
        for adjacency, dropout in gnn.asked
    )


def test_without_dropout_samples_each_gnn_predicts_once_without_dropout() -> None:
    task = planted_task()
    gnns = [Fixed(torch.full((200, 4), share), 0.01) for share in (0.9, 0.2, 0.4)]
    results = [result(Round(task.adjacency), gnn) for gnn in gnns]
    mean = start(task, dropout_samples=0).combine(results)
    torch.testing.assert_close(mean, torch.full((200, 4), 0.3))
    assert [len(gnn.asked) for gnn in gnns] == [0, 1, 1]


def test_a_run_that_ended_with_the_first_gnn_predicts_by_it() -> None:
    task = planted_task()
    first = result(Round(task.adjacency), Fixed(torch.full((200, 4), 0.25)))
    mean = start(task, dropout_samples=0).combine([first])
    torch.testing.assert_close(mean, torch.full((200, 4), 0.25))


@pytest.mark.parametrize("model", MODELS)
def test_it_learns_with_every_model(model: str) -> None:
    task = planted_task(homophily=0.95)
    trained = train(task, BGCNConfig(graphs=2, dropout_samples=3), model)
    assert len(trained.rounds) == 3
    assert trained.epochs == 3 * 40
    assert trained.test_score is not None
    assert trained.test_score > (40 if model == "mlp" else 75)
    assert (trained.warning is None) == (model != "mlp")


def test_it_learns_where_a_node_has_several_labels() -> None:
    task = planted_task(multilabel=True, homophily=0.95)
    trained = train(task, BGCNConfig(graphs=2, communities=6), epochs=100)
    assert trained.test_score is not None
    assert trained.test_score > 70  # all labels for every node would score 66.7


def test_a_graph_without_edges_and_the_original_graph_again_are_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = torch.tensor([0, 0, 0, 0, 1, 1])  # a clique of four and one of two
    pairs = torch.triu_indices(6, 6, offset=1)
    pairs = pairs[:, labels[pairs[0]] == labels[pairs[1]]]
    adjacency = Adjacency.from_edges(torch.cat([pairs, pairs.flip(0)], dim=1), 6)
    nodes = torch.arange(6)
    task = Task(torch.eye(6), adjacency, labels, nodes, nodes, nodes, 2)
    memberships = functional.one_hot(labels).double()
    for strength, words in ((0.0, "without edges"), (1 - 1e-12, "original graph again")):
        run = start(task, graphs=1)
        strengths = torch.full((2,), strength, dtype=torch.float64)
        model = BlockModel(memberships, strengths, torch.tensor(0.0))
        monkeypatch.setattr(run, "model", model)
        first = run.next_round(None)
        assert first is not None
        assert run.warning is None
        assert run.next_round(result(first, Fixed(memberships))) is not None
        assert run.warning is not None
        assert words in run.warning


def test_left_out_edge_weights_are_told() -> None:
    task = planted_task()
    data = task.adjacency.to_data()
    data.edge_weight = torch.full((data.num_edges,), 0.5)
    weighted = dataclasses.replace(task.visible(), adjacency=Adjacency.of(data))
    warning = BGCN().start(weighted, torch.Generator()).warning
    assert warning is not None
    assert warning.startswith("BGCN left out the edge weights")
    assert BGCN().start(task.visible(), torch.Generator()).warning is None


def test_fewer_communities_than_classes_are_refused_before_training() -> None:
    task = planted_task()
    with pytest.raises(ConfigError, match=r"number of classes \(4\), got 3"):
        BGCN(BGCNConfig(communities=3)).prepare(task.visible(), 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"graphs": 0}, "graphs must be at least 1, got 0"),
        ({"dropout_samples": -1}, "dropout_samples must be at least 0, got -1"),
        ({"prediction": "label"}, "Unknown prediction 'label'"),
        ({"membership_prior": -2.0}, "membership_prior must be at least 1, got -2"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BGCNConfig(**settings)
