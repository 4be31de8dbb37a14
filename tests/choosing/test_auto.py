"""A method chosen on validation nodes and fitted; the test nodes are looked at once, at the end."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gaug import (
    SplitConfig,
    Store,
    SyntheticConfig,
    auto,
    load_graph,
    make_split,
    open_graph,
    planted_graph,
)
from gaug.choosing.auto import choose_method
from gaug.choosing.candidates import CANDIDATES, FEATURES, GAUG_O, NONE
from gaug.errors import ConfigError, TrainingError
from gaug.runs.plan import Plan
from gaug.training.config import TrainingConfig
from gaug.training.run import PreparedRuns
from tests.known import known

NAMES = [str(candidate) for candidate in (NONE, *CANDIDATES)]


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
    result = auto(noisy, trial_runs=2, epochs=20)
    comparison = result.comparison
    assert set(NAMES) <= {trial.name for trial in comparison.trials}
    chosen = comparison.chosen
    assert "features" in chosen.plan.method.predictors
    assert chosen.confirmed
    gain = known(comparison.gain_of(chosen))
    assert gain.confidence >= 0.95
    assert comparison.gain > 10
    assert gain.points == comparison.gain
    predicted = result.classifier.predict(noisy)[noisy.test_mask]
    right = (predicted == noisy.y[noisy.test_mask]).double().mean()
    assert result.test_score == pytest.approx(100 * float(right))
    assert result.augmented.added_edges.size(1) > 0
    assert f"The best is {chosen}" in str(result)
    assert f"Chosen: {chosen}" in str(result)
    assert "Test micro-F1" in str(result)


def test_a_student_is_chosen_and_fitted_and_the_graph_stays_as_it_is(
    noisy: Data, scored: Any, monkeypatch: pytest.MonkeyPatch
):
    train = PreparedRuns.train
    scored(lambda prepared, run: 60.0 + 20.0 * (prepared.training.students == 1))
    comparison = choose_method(Plan.of(noisy, settings=["epochs=3"]), runs=2)
    assert comparison.chosen.name == "none students=1"
    monkeypatch.setattr(PreparedRuns, "train", train)
    monkeypatch.setattr("gaug.choosing.auto.choose_method", lambda *_, **others: comparison)
    result = auto(noisy, epochs=3)
    assert result.classifier.fitted.training == TrainingConfig(epochs=3, students=1)
    assert result.augmented is noisy


def test_labels_of_test_nodes_make_no_difference_to_the_choice(noisy: Data):
    other = noisy.clone()
    other.y[noisy.test_mask] = (noisy.y[noisy.test_mask] + 1) % 3
    one, two = (auto(graph, trial_runs=1, epochs=3, seed=5) for graph in (noisy, other))
    assert [t.scores for t in one.comparison.trials] == [t.scores for t in two.comparison.trials]
    assert torch.equal(one.classifier.predict(noisy), two.classifier.predict(noisy))
    assert one.test_score != two.test_score


def test_where_nothing_helps_the_graph_stays_as_it_is():
    data = load_graph("karate")
    result = auto(data, trial_runs=2, epochs=5)
    assert not result.comparison.helps
    assert result.comparison.drawn_nodes  # from the second run on
    assert result.augmented is data
    assert result.classifier.fitted.method.name == "none"
    assert result.test_score is None
    assert [left.name for left in result.comparison.left_out] == [str(FEATURES)]


def test_a_budget_that_is_spent_leaves_no_augmentation_alone(noisy: Data):
    result = auto(noisy, time_budget=1e-9, trial_runs=1, epochs=2)
    assert [trial.name for trial in result.comparison.trials] == ["none"]
    assert [left.name for left in result.comparison.left_out] == NAMES[1:]
    assert {left.failure for left in result.comparison.left_out} == {"no time was left"}
    assert "Only the trial without augmentation was finished." in str(result)


def test_a_method_whose_training_fails_is_left_out(noisy, monkeypatch: pytest.MonkeyPatch):
    train = PreparedRuns.train

    def fail(prepared: PreparedRuns, run: int, **options: Any) -> Any:
        if prepared.method.config.name == GAUG_O.config.name:
            raise TrainingError("The loss became nan.")
        return train(prepared, run, **options)

    monkeypatch.setattr(PreparedRuns, "train", fail)
    comparison = auto(noisy, trial_runs=1, epochs=2).comparison
    assert [(left.name, left.failure) for left in comparison.left_out] == [
        (str(GAUG_O), "The loss became nan.")
    ]


def test_a_user_defined_module_and_progress(noisy: Data):
    shares: list[float] = []
    result = auto(noisy, model=Module, trial_runs=1, epochs=2, on_progress=shares.append)
    assert result.classifier.fitted.model.factory is Module
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "mlp"}, "an mlp does not use"),
        ({"time_budget": 0.0}, "time_budget must be above 0"),
        ({"time_budget": float("nan")}, "time_budget must be above 0"),
        ({"trial_runs": 0}, "trial_runs must be at least 1"),
        ({"drop_fraction": 0.5}, "drop_fraction"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        auto(load_graph("karate"), **options)


def test_a_name_a_loaded_graph_and_a_data_give_the_same():
    graphs = ("karate", open_graph("karate"), load_graph("karate"))
    results = [auto(graph, trial_runs=1, epochs=2, seed=1) for graph in graphs]
    scores = [[trial.scores for trial in result.comparison.trials] for result in results]
    assert scores[0] == scores[1] == scores[2]
    assert len({result.comparison.chosen.name for result in results}) == 1


def test_a_split_that_is_asked_for_is_used():
    half = SplitConfig(train_fraction=0.3, val_fraction=0.3)
    result = auto("karate", trial_runs=1, epochs=2, split="stratified", split_config=half)
    expected = make_split(load_graph("karate"), "stratified", half)
    assert known(result.comparison.plain.scores).num_nodes == expected.val.numel()
    assert result.test_score is not None


def test_the_choice_does_not_depend_on_the_workers_and_goes_on_record(noisy, tmp_path: Path):
    plan = Plan.of(noisy, settings=["epochs=2"])
    with closing(Store(str(tmp_path / "runs.sqlite"))) as store:
        one = choose_method(plan, runs=1, store=store)
        records = store.all()
        assert {record.test_score for record in records} == {None}
        assert len({record.identity for record in records}) == len(records)
        again = choose_method(plan, runs=1, store=store)
        assert len(store.all()) == len(records)
    assert [trial.scores for trial in one.trials] == [trial.scores for trial in again.trials]
    spread = auto(noisy, trial_runs=1, epochs=2, workers=2).comparison
    assert [trial.scores for trial in one.trials] == [trial.scores for trial in spread.trials]
