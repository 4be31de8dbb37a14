"""Mini-batches: what they hold, what they compute, and that they change nothing else."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from typing import Any, NoReturn

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GraphConv

from gaug import BGCN, AdaEdge, DropEdge, GAugM, GAugO, NoAugmentation
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError, TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.graph.sparse import Pattern, SparseMatrix
from gaug.models.calling import apply_model
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec
from gaug.training.batch import Batch
from gaug.training.batches import MiniBatches
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, Round, Visible
from gaug.training.loop import RunResult
from gaug.training.loss import classification_loss
from gaug.training.run import PreparedRuns
from gaug.training.task import Task


def planted(degree: float) -> Task:
    config = SyntheticConfig(num_nodes=300, num_classes=3, degree=degree, num_features=40)
    data = planted_graph(config)
    return Task.of(make_split(data, "stratified", SplitConfig()).apply(data))


@pytest.fixture(scope="module")
def task() -> Task:
    return planted(degree=5.0)


@pytest.fixture(scope="module")
def dense_task() -> Task:
    """Connected, and still so after a few changes: some hops lead everywhere."""
    return planted(degree=16.0)


def batches(task: Task, **settings: Any) -> MiniBatches:
    settings = {"batch_size": 7, "hops": 2, "fanout": None, "seed": (0, 0), **settings}
    return MiniBatches(task, task.adjacency, **settings)


def run(
    task: Task, method: Any = None, model: str = "gcn", seed: int = 0, **training: Any
) -> RunResult:
    spec = ModelSpec.of(MODELS.config_type(model)(hidden=8))
    config = TrainingConfig(**{"epochs": 4, **training})
    runs = PreparedRuns.prepare(task, spec, method or NoAugmentation(), config, seed=seed)
    return runs.train(0, keep_history=True)


def test_an_epoch_has_every_training_node_once_in_a_new_order(task: Task) -> None:
    made = batches(task)
    orders = []
    for epoch in (1, 2):
        parts = list(made.epoch(epoch))
        assert len(parts) == len(made)
        assert all(part.nodes is not None for part in parts)
        ids = [part.nodes[part.seeds] for part in parts if part.nodes is not None]
        assert sorted(torch.cat(ids).tolist()) == task.train.tolist()
        orders.append([part.tolist() for part in ids])
    assert orders[0] != orders[1]


def test_a_batch_has_the_features_and_labels_of_its_nodes(task: Task) -> None:
    assert isinstance(task.features, SparseMatrix)
    dense = task.features.to_torch().to_dense()
    for given in (task, dataclasses.replace(task, features=dense)):
        for batch in batches(given).epoch(1):
            rows = batch.features
            if isinstance(rows, SparseMatrix):
                rows = rows.to_torch().to_dense()
            assert batch.nodes is not None
            assert torch.equal(rows, dense[batch.nodes])
            assert torch.equal(batch.labels, task.labels[batch.nodes[batch.seeds]])


@pytest.mark.parametrize("model", [name for name in MODELS if name != "mlp"])
def test_without_a_fanout_the_loss_and_its_gradient_are_those_of_the_whole_graph(
    task: Task, model: str
) -> None:
    """The mean over an epoch's batches, weighted by their training nodes, is the full gradient."""
    spec = ModelSpec.of(
        MODELS.config_type(model)(hidden=8, dropout=0.0, **_no_other_dropout(model))
    )
    torch.manual_seed(0)
    network = spec.build(task.in_features, task.num_classes)
    expected = _gradient(network, task.features, task.adjacency, task.train, task.labels)
    total = [torch.zeros_like(part) for part in expected]
    for batch in batches(task, hops=network.hops).epoch(1):
        assert batch.nodes is not None
        assert batch.nodes.numel() < task.adjacency.num_nodes
        labels = torch.full((batch.nodes.numel(),), -1)
        labels[batch.seeds] = batch.labels
        found = _gradient(network, batch.features, batch.adjacency, batch.seeds, labels)
        for part, gradient in zip(total, found, strict=True):
            part += gradient * batch.seeds.numel() / task.train.numel()
    for part, gradient in zip(total, expected, strict=True):
        torch.testing.assert_close(part, gradient, rtol=1e-4, atol=1e-6)


def _no_other_dropout(model: str) -> dict[str, Any]:
    return {"input_dropout": 0.0, "attention_dropout": 0.0} if model == "gat" else {}


def _gradient(
    network: nn.Module, features: Any, adjacency: Adjacency, nodes: Tensor, labels: Tensor
) -> list[Tensor]:
    network.zero_grad()
    logits = apply_model(network, features, adjacency)
    classification_loss(logits[nodes], labels[nodes]).backward()
    return [
        torch.zeros_like(part) if part.grad is None else part.grad.clone()
        for part in network.parameters()
    ]


METHODS = {
    "none": lambda: NoAugmentation(),
    "dropedge": lambda: DropEdge(drop_fraction=0.3),
    "layer-wise dropedge": lambda: DropEdge(drop_fraction=0.3, layer_wise=True),
    "gaug-m": lambda: GAugM(predictor="ra"),
    "gaug-m on the original graph": lambda: GAugM(predictor="ra", inference="original"),
    "adaedge": lambda: AdaEdge(rounds=2, add_confidence=0.4, remove_confidence=0.4),
    "bgcn": lambda: BGCN(graphs=2),
    "gaug-o": lambda: GAugO(pretrain_predictor_epochs=3, pretrain_classifier_epochs=2),
    "gaug-o, vgae": lambda: GAugO(
        pretrain_predictor_epochs=3, pretrain_classifier_epochs=2, edge_model="vgae"
    ),
    "gaug-o, sparse": lambda: GAugO(
        pretrain_predictor_epochs=3, pretrain_classifier_epochs=2, engine="sparse"
    ),
    "gaug-o, random": lambda: GAugO(variant="random", pretrain_classifier_epochs=2),
}


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("name", list(METHODS))
def test_a_batch_that_holds_the_whole_graph_is_full_batch_training(
    dense_task: Task, name: str, model: str
) -> None:
    plain = run(dense_task, METHODS[name](), model, patience=3)
    batch_size = dense_task.train.numel()
    batched = run(
        dense_task,
        METHODS[name](),
        model,
        patience=3,
        batch_size=batch_size,
        batch_hops=30,
        validate_every=1,
    )
    torch.testing.assert_close(batched.probabilities, plain.probabilities)
    assert batched.best_epoch == plain.best_epoch
    assert [row["val_loss"] for row in batched.history] == pytest.approx(
        [row["val_loss"] for row in plain.history], rel=1e-5
    )


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("name", list(METHODS))
def test_graphs_of_batches_and_samples_are_freed_at_once(
    task: Task, name: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Python's search for cycles, which may come when memory has run out."""
    made: weakref.WeakSet[Pattern] = weakref.WeakSet()
    begin = Pattern.__init__

    def note(self: Pattern, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        made.add(self)

    monkeypatch.setattr(Pattern, "__init__", note)
    epochs = 8
    gc.disable()
    try:
        run(task, METHODS[name](), model, batch_size=9, epochs=epochs)
        # What a round keeps; each epoch has several batches.
        assert len(made) < epochs
    finally:
        gc.enable()


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("fanout", [None, 2])
def test_the_same_seed_gives_the_same_run_and_another_seed_another(
    task: Task, name: str, fanout: int | None
) -> None:
    first, again, other = (
        run(task, METHODS[name](), seed=seed, batch_size=9, fanout=fanout) for seed in (1, 1, 2)
    )
    assert torch.equal(first.probabilities, again.probabilities)
    assert not torch.equal(first.probabilities, other.probabilities)


def test_batches_are_the_same_however_many_are_prepared_ahead(task: Task) -> None:
    made = [list(batches(task, fanout=2, ahead=ahead).epoch(3)) for ahead in (0, 1, 4)]
    for parts in zip(*made, strict=True):
        for part in parts[1:]:
            assert part.nodes is not None
            assert parts[0].nodes is not None
            assert torch.equal(part.nodes, parts[0].nodes)
            assert torch.equal(part.adjacency.edge_index, parts[0].adjacency.edge_index)


def test_mini_batches_learn_planted_classes() -> None:
    config = SyntheticConfig(
        num_nodes=600, num_classes=4, degree=8.0, homophily=0.95, feature_signal=0.2
    )
    data = planted_graph(config)
    split = SplitConfig(train_fraction=0.4, val_fraction=0.2)
    task = Task.of(make_split(data, "stratified", split).apply(data))
    result = run(task, epochs=15, batch_size=40, fanout=10)
    assert result.test_score is not None
    assert result.test_score > 85


def test_several_labels_per_node_train_in_mini_batches(task: Task) -> None:
    several = torch.nn.functional.one_hot(task.labels, 3).float()
    several[:, 0] = (torch.arange(300) % 2).float()
    result = run(dataclasses.replace(task, labels=several), batch_size=20, epochs=10)
    assert result.probabilities.shape == (300, 3)
    assert result.history[-1]["train_loss"] < result.history[0]["train_loss"]


def test_validation_is_rarer_where_it_would_take_longer_than_training(task: Task) -> None:
    """Two batches of one node each train on far less than the whole graph."""
    few = dataclasses.replace(task, train=task.train[:2])
    rows = run(few, epochs=12, batch_size=1, batch_hops=0).history
    validated = [row["epoch"] for row in rows if row["val_score"] == row["val_score"]]
    assert validated == [10, 12]
    rows = run(few, epochs=5, batch_size=1, batch_hops=0, validate_every=2).history
    assert [row["epoch"] for row in rows if row["val_score"] == row["val_score"]] == [2, 4, 5]
    rows = run(task, epochs=3, batch_size=10).history
    assert all(row["val_score"] == row["val_score"] for row in rows)


class Stranger(nn.Module):
    """A module of a user; its depth is that of its layers of PyTorch Geometric."""

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.first = GraphConv(in_features, 8)
        self.last = GraphConv(8, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        h = self.first(x, edge_index, edge_weight).relu()
        out: Tensor = self.last(h, edge_index, edge_weight)
        return out


class Layerless(nn.Module):
    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        out: Tensor = self.layer(x)
        return out


def test_a_user_defined_module_trains_in_mini_batches(task: Task) -> None:
    assert isinstance(task.features, SparseMatrix)
    dense = dataclasses.replace(task, features=task.features.to_torch().to_dense())
    config = TrainingConfig(epochs=6, batch_size=20)
    runs = PreparedRuns.prepare(dense, ModelSpec.of(Stranger), NoAugmentation(), config)
    history = runs.train(0, keep_history=True).history
    assert history[-1]["train_loss"] < history[0]["train_loss"]


def test_a_graph_of_other_nodes_than_the_batch_is_refused(task: Task) -> None:
    class Whole(AugmentedRun):
        def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
            return self.visible.adjacency

    class Careless(NoAugmentation):
        def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
            return Whole(visible, generator)

    run(task, Careless())
    with pytest.raises(TrainingError, match=r"between the \d+ nodes of its batch, got one of 300"):
        run(task, Careless(), batch_size=5)


class Unprepared(NoAugmentation):
    """A method whose preparation must not be reached."""

    def prepare(self, visible: Visible, seed: int, *, on_share: Any = None) -> NoReturn:
        pytest.fail("This was prepared.")


def test_a_module_whose_depth_is_unknown_needs_batch_hops(task: Task) -> None:
    assert isinstance(task.features, SparseMatrix)
    dense = dataclasses.replace(task, features=task.features.to_torch().to_dense())
    config = TrainingConfig(epochs=2, batch_size=20)
    with pytest.raises(ConfigError, match=r"layers of Layerless cannot be told.* Set batch_hops"):
        PreparedRuns.prepare(dense, ModelSpec.of(Layerless), Unprepared(), config)
    config = dataclasses.replace(config, batch_hops=0)
    PreparedRuns.prepare(dense, ModelSpec.of(Layerless), NoAugmentation(), config).train(0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"batch_size": -3}, "batch_size must be at least 1, got -3"),
        ({"batch_size": "some"}, "Unknown batch_size 'some'. Choose from: auto"),
        ({"batch_size": 2.5}, "batch_size must be a whole number or a string or none, got 2.5"),
        ({"batch_size": 10, "fanout": 0}, "fanout must be at least 1, got 0"),
        ({"fanout": 5}, "fanout=5 is a setting of mini-batches: set batch_size, too"),
        ({"batch_hops": 1}, "batch_hops=1 is a setting of mini-batches"),
        ({"validate_every": 0}, "validate_every must be at least 1, got 0"),
    ],
)
def test_settings_of_batches_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainingConfig(**settings)


def test_a_batch_larger_than_the_training_nodes_is_refused(task: Task) -> None:
    count = task.train.numel()
    with pytest.raises(
        ConfigError, match=rf"at most the number of training nodes, {count}, got {count + 1}"
    ):
        run(task, Unprepared(), batch_size=count + 1)
