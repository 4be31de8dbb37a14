"""What every fitted classifier promises, checked for each method and each model by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import gaug
from gaug import Method
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError, DataError
from gaug.methods.registry import METHODS
from gaug.methods.spec import MethodSpec
from gaug.models.registry import MODELS
from gaug.seeding import run_seed
from gaug.training.config import TrainingConfig
from gaug.training.loop import train_run
from gaug.training.task import Task

SHORT = TrainingConfig(epochs=8)
FEWER: dict[str, dict[str, Any]] = {
    "adaedge": {"rounds": 1},
    "bgcn": {"graphs": 1, "block_steps": 5},
    "gaug-o": {"pretrain_predictor_epochs": 3, "pretrain_classifier_epochs": 3},
    "gaug-m": {"predictor": "ra"},
}


def fewer(name: str) -> dict[str, Any]:
    """Settings that make a method, or both parts of a stack, quick."""
    return {key: value for part in name.split("+") for key, value in FEWER.get(part, {}).items()}


class TwoLayers(nn.Module):
    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.first = GCNConv(in_features, 8)
        self.second = GCNConv(8, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        h = self.first(x, edge_index, edge_weight).relu()
        return self.second(h, edge_index, edge_weight)


def estimator(method: str, model: Any = "gcn", seed: int = 0) -> Method[Any]:
    config = METHODS.config_type(method)(**fewer(method))
    return MethodSpec.of(config).build(model=model, training=SHORT, seed=seed)


@pytest.fixture(scope="module")
def data() -> Data:
    graph = planted_graph(SyntheticConfig(num_nodes=90, degree=6.0, num_classes=3))
    graph.y[80:] = -1
    return graph


@pytest.mark.filterwarnings("ignore:This model uses no edges")
@pytest.mark.parametrize("model", [*MODELS, TwoLayers])
@pytest.mark.parametrize("method", METHODS)
def test_a_saved_model_predicts_exactly_what_the_fitted_one_did(
    data: Data, tmp_path: Path, method: str, model: Any
) -> None:
    fitted = estimator(method, model).fit(data)
    fitted.save(tmp_path / "saved")
    users = model if model is TwoLayers else None
    loaded = gaug.load(tmp_path / "saved", model=users)
    assert torch.equal(loaded.predict_proba(data), fitted.predict_proba(data))
    assert loaded.summary == fitted.summary
    assert type(loaded) is type(fitted)
    assert repr(loaded) == repr(fitted)


@pytest.mark.parametrize("method", METHODS)
def test_it_predicts_what_its_run_predicted(data: Data, method: str) -> None:
    """Against the loop itself: the same masks, seed and settings by hand."""
    own = estimator(method, seed=3)
    labeled = data.y >= 0
    split = data.clone()
    split.train_mask = labeled & (torch.arange(90) % 3 > 0)
    split.val_mask = labeled & ~split.train_mask
    split.test_mask = torch.zeros(90, dtype=torch.bool)
    task = Task.of(split)
    expected = train_run(
        task,
        lambda: own.model.build(task.in_features, task.num_classes),
        estimator(method, seed=3).prepare(task.visible(), 3),
        own.model.config,
        SHORT,
        run_seed(3, 0),
    )
    del split.test_mask
    fitted = own.fit(split)
    assert torch.equal(fitted.predict_proba(split), expected.probabilities)
    assert fitted.summary.val_score == expected.val_score
    assert fitted.summary.test_score is None


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"bgcn"}))
def test_a_grown_graph_is_predicted_whole(data: Data, method: str) -> None:
    grown = with_new_nodes(data)
    probabilities = estimator(method).fit(data).predict_proba(grown)
    assert probabilities.shape == (95, 3)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(95))


@pytest.mark.parametrize("method", ["none", "dropedge", "gaug-o"])
def test_these_predict_on_a_changed_graph_as_it_is(data: Data, method: str) -> None:
    """Another part of the graph's nodes and edges, far from a node, do not reach it."""
    fitted = estimator(method).fit(data)
    grown = with_new_nodes(data)
    touched = torch.zeros(95, dtype=torch.bool)
    touched[90:] = True
    for _ in range(3):  # two layers, and the degrees in their normalization
        touched[grown.edge_index[1, touched[grown.edge_index[0]]]] = True
    same = ~touched[:90]
    assert same.any()
    torch.testing.assert_close(
        fitted.predict_proba(grown)[:90][same], fitted.predict_proba(data)[same]
    )


def test_bgcn_refuses_another_graph_and_says_why(data: Data) -> None:
    fitted = estimator("bgcn").fit(data)
    with pytest.raises(DataError, match="bgcn predicts only on the graph that it was fitted to"):
        fitted.predict(with_new_nodes(data))


def test_a_model_of_a_user_needs_its_class(data: Data, tmp_path: Path) -> None:
    estimator("none", TwoLayers).fit(data).save(tmp_path / "mine")
    with pytest.raises(ConfigError, match=r"is of the class TwoLayers.*model=TwoLayers"):
        gaug.load(tmp_path / "mine")
    with pytest.raises(DataError, match=r"does not fit together: Error.* Missing key\(s\)"):
        gaug.load(tmp_path / "mine", model=lambda i, c: nn.Linear(i, c))
    estimator("none").fit(data).save(tmp_path / "ours")
    with pytest.raises(ConfigError, match="is the 'gcn' of gaug"):
        gaug.load(tmp_path / "ours", model=TwoLayers)


def with_new_nodes(data: Data) -> Data:
    """The graph with five more nodes, joined to nodes 0 and 1."""
    x = data.x.to_dense()
    new = torch.arange(90, 95)
    pairs = torch.stack([new.repeat_interleave(2), torch.tensor([0, 1]).repeat(5)])
    edges = torch.cat([data.edge_index, pairs, pairs.flip(0)], dim=1)
    return Data(x=torch.cat([x, x[:5]]), edge_index=edges, num_nodes=95)
