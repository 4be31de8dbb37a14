"""Repeated runs on any graph: the same however the graph is given, and as a plan of it."""

from __future__ import annotations

import statistics
import warnings
from typing import Any

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE

from gaug import (
    DropEdge,
    DropEdgeConfig,
    GAugM,
    GAugO,
    NoAugmentation,
    Plan,
    SplitConfig,
    Store,
    evaluate,
    execute,
    load_graph,
    make_split,
    open_graph,
)
from gaug.errors import ConfigError


@pytest.fixture
def data() -> Data:
    return load_graph("karate")


class WithoutWeights(torch.nn.Module):
    def __init__(self, layers: torch.nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor | None
    ) -> torch.Tensor:
        logits: torch.Tensor = self.layers(x.to_dense(), edge_index)
        return logits


def mine(in_features: int, num_classes: int) -> torch.nn.Module:
    return WithoutWeights(GraphSAGE(in_features, 8, 2, num_classes))


class CloseIds:
    def fit(self, data: Data) -> None:
        pass

    def edge_logits(self, pairs: torch.Tensor) -> torch.Tensor:
        return -(pairs[0] - pairs[1]).abs()


def test_it_gives_the_scores_of_the_plan(data: Data) -> None:
    plan = Plan.of(
        "karate",
        method="dropedge",
        split="stratified",
        settings=["epochs=6", "drop_fraction=0.3", "hidden=8"],
        seed=4,
    )
    expected = [record.test_score for record in execute(plan, runs=3)]
    method = DropEdge(drop_fraction=0.3, hidden=8, epochs=6, seed=4)
    paper = SplitConfig(train_fraction=0.1)  # the default of a graph of the catalog
    assert evaluate(data, method=method, runs=3, split_config=paper).scores == expected


def test_mean_spread_and_words(data: Data) -> None:
    result = evaluate(data, method=NoAugmentation(epochs=3), runs=4)
    assert result.mean == pytest.approx(statistics.fmean(result.scores))
    assert result.spread == pytest.approx(statistics.stdev(result.scores))
    assert len(result.records) == len(result.val_scores) == 4
    assert f"{result.mean:.1f} ± {result.spread:.1f}" in str(result)
    assert str(result).startswith("NoAugmentation(epochs=3), gcn, split stratified-0, 4 runs")


def test_a_module_and_a_predictor_of_a_user(data: Data) -> None:
    method = GAugM(predictor=CloseIds(), add_fraction=0.1, remove_fraction=0.0, epochs=3)
    result = evaluate(data, model=mine, method=method, runs=2)
    assert [record.model for record in result.records] == ["mine", "mine"]
    assert result.records[0].config["method"]["predictor"] == "custom"
    assert method.model.name == "gcn"  # the given method is left as it was


def test_masks_of_the_graph_are_its_split(data: Data) -> None:
    split = make_split(data, "random", SplitConfig(train_fraction=0.3))
    masked = split.apply(data)
    result = evaluate(masked, method=NoAugmentation(epochs=2), runs=1)
    assert result.records[0].split_hash == split.hash
    other = evaluate(masked, method=NoAugmentation(epochs=2), runs=1, split="stratified")
    assert other.records[0].split_hash != split.hash


def test_records_go_to_a_store(data: Data) -> None:
    store = Store("sqlite://")
    evaluate(data, method=NoAugmentation(epochs=2), runs=2, store=store)
    assert [record.graph for record in store.all()] == ["a graph in memory"] * 2


def test_a_run_is_the_fit_of_the_same_masks(data: Data) -> None:
    masked = make_split(data, "stratified").apply(data)
    method = DropEdge(epochs=4, seed=2)
    fitted = method.fit(masked)
    record = evaluate(masked, method=method, runs=1).records[0]
    assert (fitted.summary.val_score, fitted.summary.test_score) == (
        record.val_score,
        record.test_score,
    )


def test_no_runs_are_refused(data: Data) -> None:
    with pytest.raises(ConfigError, match="runs must be at least 1, got 0"):
        evaluate(data, runs=0)


def test_what_a_run_has_to_say_is_raised_as_a_warning_with_the_number_of_runs(data: Data) -> None:
    nothing = GAugO(alpha=0.0, pretrain_predictor_epochs=1, epochs=2)
    with pytest.warns(UserWarning, match="^2 of 2 runs: GAug-O changed no edge"):
        evaluate(data, method=nothing, runs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(data, method=NoAugmentation(epochs=2), runs=2)


@pytest.mark.parametrize("method", [GAugO, 3])
def test_what_is_no_method_is_refused(data: Data, method: Any) -> None:
    with pytest.raises(ConfigError, match=r"such as GAugO\(alpha=0\.3\), got "):
        evaluate(data, method=method)


def test_a_name_a_loaded_graph_and_a_data_give_the_same(data: Data) -> None:
    options: dict[str, Any] = {
        "split": "stratified",
        "split_config": SplitConfig(train_fraction=0.2),
        "method": "dropedge",
        "epochs": 4,
        "runs": 2,
    }
    results = [evaluate(graph, **options) for graph in ("karate", open_graph("karate"), data)]
    for result in results[1:]:
        assert result.scores == results[0].scores
        assert result.title == results[0].title
        assert [r.identity for r in result.records] == [r.identity for r in results[0].records]


def test_a_method_by_name_by_settings_and_as_an_object_is_one(data: Data) -> None:
    ways: list[Any] = ["dropedge", DropEdgeConfig(drop_fraction=0.3), DropEdge(drop_fraction=0.3)]
    extra: list[dict[str, Any]] = [{"drop_fraction": 0.3}, {}, {}]
    results = [
        evaluate(data, method=way, runs=1, epochs=3, **more)
        for way, more in zip(ways, extra, strict=True)
    ]
    assert len({result.records[0].identity for result in results}) == 1
    assert {result.title for result in results} == {
        "DropEdge(drop_fraction=0.3, epochs=3), gcn, split stratified-0"
    }


def test_what_is_on_record_is_taken_over(data: Data, store: Store, trained: list[int]) -> None:
    first = evaluate(data, runs=2, epochs=2, store=store)
    again = evaluate(data, runs=3, epochs=2, store=store, resume=True)
    assert len(trained) == 3
    assert again.scores[:2] == first.scores


def test_workers_make_no_difference(data: Data) -> None:
    one, two = (evaluate(data, runs=3, epochs=3, workers=workers) for workers in (1, 2))
    assert one.scores == two.scores


def test_a_model_that_workers_cannot_import_is_refused_with_a_remedy(data: Data) -> None:
    with pytest.raises(ConfigError, match="in a module that can be imported, or use one worker"):
        evaluate(data, model=lambda i, c: mine(i, c), runs=2, epochs=1, workers=2)
