from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gaug import SplitConfig, SyntheticConfig, auto, load_graph, make_split, planted_graph
from gaug.choosing import auto as automatic
from gaug.choosing.candidates import CANDIDATES, DROPEDGE, FEATURES, GAUG_O, NONE
from gaug.choosing.scores import validate_repeatedly
from gaug.errors import ConfigError, TrainingError


@pytest.fixture
def noisy() -> Data:
    """Features know the classes and edges do not."""
    config = SyntheticConfig(
        num_nodes=240, num_classes=3, degree=6.0, homophily=0.33, feature_signal=0.8,
        feature_density=0.1,
    )  # fmt: skip
    data = planted_graph(config)
    split = make_split(data, "stratified", SplitConfig(train_fraction=0.3, val_fraction=0.4))
    return split.apply(data)


class Module(torch.nn.Module):
    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.layer = GCNConv(in_features, num_classes)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, weight: torch.Tensor | None
    ) -> torch.Tensor:
        logits: torch.Tensor = self.layer(x.to_dense(), edge_index, weight)
        return logits


def test_where_features_know_better_gaug_m_is_chosen_and_fitted(noisy: Data):
    result = auto(noisy, runs=2, epochs=20)
    choice = result.choice
    assert [trial.candidate for trial in choice.trials] == list(CANDIDATES)
    assert choice.chosen.candidate is FEATURES
    assert choice.chosen.scores.clearly_above(choice.plain.scores)
    # The classifier is the first run of the trial, and the only thing that was tested.
    assert result.classifier.summary.val_score == choice.chosen.scores.values[0]
    predicted = result.classifier.predict(noisy)[noisy.test_mask]
    right = (predicted == noisy.y[noisy.test_mask]).double().mean()
    assert result.test_score == pytest.approx(100 * float(right))
    assert result.augmented.added_edges.size(1) == int(0.5 * noisy.num_edges / 2)
    assert "Chose gaug-m predictor=features" in str(result)
    assert "Test micro-F1" in str(result)


def test_labels_of_test_nodes_make_no_difference_to_the_choice(noisy: Data):
    other = noisy.clone()
    other.y[noisy.test_mask] = (noisy.y[noisy.test_mask] + 1) % 3
    one, two = (auto(graph, runs=1, epochs=3, seed=5) for graph in (noisy, other))
    assert [t.scores for t in one.choice.trials] == [t.scores for t in two.choice.trials]
    assert torch.equal(one.classifier.predict(noisy), two.classifier.predict(noisy))
    assert one.test_score != two.test_score


def test_where_nothing_helps_the_graph_stays_as_it_is():
    data = load_graph("karate")
    result = auto(data, runs=1, epochs=5)
    assert not result.choice.helps
    assert result.augmented is data
    assert result.classifier.fitted.method.name == "none"
    assert result.test_score is None
    assert [left.candidate for left in result.choice.omissions] == [FEATURES]


def test_a_budget_that_is_spent_leaves_no_augmentation_alone(noisy: Data):
    result = auto(noisy, time_budget=1e-9, runs=1, epochs=2)
    assert [trial.candidate for trial in result.choice.trials] == [NONE]
    assert len(result.choice.omissions) == len(CANDIDATES) - 1
    assert "longer time budget" in str(result)


def test_a_trial_is_stopped_when_the_time_is_over(noisy, monkeypatch: pytest.MonkeyPatch):
    ticks = itertools.count()  # a clock that moves a second each time somebody looks
    monkeypatch.setattr(automatic, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    result = auto(noisy, time_budget=25.0, runs=1, epochs=12)
    reasons = {str(left.candidate): left.reason for left in result.choice.omissions}
    assert result.choice.plain.candidate is NONE
    assert reasons[str(FEATURES)] == "the time was over before its end"
    assert reasons["gaug-o"] == "no time was left"
    assert len(result.choice.trials) + len(reasons) == len(CANDIDATES)


def test_what_cannot_end_in_time_is_not_begun(noisy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(automatic, "_PAIRS_A_SECOND", 1.0)
    tried = [trial.candidate for trial in auto(noisy, runs=1, epochs=2).choice.trials]
    assert tried == [NONE, DROPEDGE]


def test_a_method_whose_training_fails_is_left_out(noisy, monkeypatch: pytest.MonkeyPatch):
    def fail(task, model, method, *arguments, **options):
        if method.config == GAUG_O.config:
            raise TrainingError("The loss became nan.")
        return validate_repeatedly(task, model, method, *arguments, **options)

    monkeypatch.setattr(automatic, "validate_repeatedly", fail)
    choice = auto(noisy, runs=1, epochs=2).choice
    assert [(left.candidate, left.reason) for left in choice.omissions] == [
        (GAUG_O, "training failed: The loss became nan.")
    ]


def test_a_module_of_a_user_and_progress(noisy: Data):
    shares: list[float] = []
    result = auto(noisy, model=Module, runs=1, epochs=2, on_progress=shares.append)
    assert result.classifier.fitted.model.factory is Module
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "mlp"}, "an mlp looks at none"),
        ({"time_budget": 0.0}, "time_budget must be above 0"),
        ({"time_budget": float("nan")}, "time_budget must be above 0"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"drop_fraction": 0.5}, "drop_fraction"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        auto(load_graph("karate"), **options)
