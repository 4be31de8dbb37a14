"""What a classifier knows of its graph: features that do not match, and nodes known again."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gaug import GraphInfo, NoAugmentation, load_graph
from gaug.classifier.fit_summary import FitSummary
from gaug.errors import DataError


def facts(**changes: Any) -> FitSummary:
    plain: dict[str, Any] = {
        "in_features": 3,
        "num_classes": 2,
        "multilabel": False,
        "num_nodes": 4,
        "graph_hash": "abc",
        "seed": 0,
        "best_epoch": 1,
        "epochs": 1,
        "val_score": None,
        "test_score": None,
        "warning": None,
        "class_names": ["cat", "dog"],
    }
    return FitSummary(**plain | changes)


def test_another_width_is_told() -> None:
    with pytest.raises(DataError, match="fitted to 3 features per node, and this graph has 5"):
        facts().check_features(5, GraphInfo())


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "c", "b"], "different order than in the fit: feature 1 is 'c', but was 'b'"),
        (["a", "b"], r"1 missing \('c'\)\."),
        (["a", "b", "c", "d"], r"1 unknown \('d'\)\."),
        (["a", "x", "y"], r"2 missing \('b', 'c'\), 2 unknown \('x', 'y'\)"),
    ],
)
def test_other_names_are_told(names: list[str], words: str) -> None:
    fitted = facts(feature_names=["a", "b", "c"])
    fitted.check_features(3, GraphInfo(feature_names=["a", "b", "c"]))
    with pytest.raises(DataError, match=words):
        fitted.check_features(len(names), GraphInfo(feature_names=names))


def test_features_are_scaled_as_in_the_fit() -> None:
    x = torch.tensor([[1.0, 10.0, 0.0], [3.0, 30.0, 0.0]])
    assert torch.equal(facts().scaled_features(x, None), x)
    rows = facts(feature_scaling="rows").scaled_features(x, None)
    torch.testing.assert_close(rows.sum(dim=1), torch.ones(2))
    fitted = facts(
        feature_scaling="columns", feature_statistics=[[1.0, 20.0, 0.0], [2.0, 10.0, 1.0]]
    )
    expected = torch.tensor([[0.0, -1.0, 0.0], [1.0, 1.0, 0.0]])
    assert torch.equal(fitted.scaled_features(x, None), expected)
    already = torch.tensor(fitted.feature_statistics)
    assert torch.equal(fitted.scaled_features(expected, already), expected)


def test_features_that_were_scaled_otherwise_are_refused() -> None:
    x, own = torch.zeros(2, 3), torch.ones(2, 3)
    fitted = facts(feature_scaling="columns", feature_statistics=[[0.0] * 3, [2.0] * 3])
    with pytest.raises(DataError, match="scaled by its own means and deviations, not by those of"):
        fitted.scaled_features(x, own)
    with pytest.raises(DataError, match="columns were not scaled, but those of this graph are"):
        facts().scaled_features(x, own)


def test_nodes_are_found_by_number_or_by_id() -> None:
    assert facts().places(6, GraphInfo()).tolist() == [0, 1, 2, 3]
    assert facts().places(2, GraphInfo()).tolist() == [0, 1, -1, -1]
    named = facts(node_ids=["a", "b", "c", "d"])
    assert named.places(3, GraphInfo(node_ids=["d", "x", "a"])).tolist() == [2, -1, -1, 0]
    with pytest.raises(DataError, match="The nodes of the graph of the fit have no ids"):
        facts().places(1, GraphInfo(node_ids=["a"]))


@pytest.mark.parametrize(
    "changes",
    [{"class_names": ["a"]}, {"node_ids": ["a"]}, {"feature_names": []}, {"node_ids": ["a"] * 4}],
)
def test_names_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="must"):
        facts(**changes)


def test_a_graph_with_other_features_is_refused_before_it_is_used() -> None:
    data = load_graph("karate")
    fitted = NoAugmentation(epochs=2).fit(data)
    other = data.clone()
    other.x = torch.eye(34)[:, :20]
    with pytest.raises(DataError, match="fitted to 34 features per node, and this graph has 20"):
        fitted.predict(other)
    other.x = None
    with pytest.raises(DataError, match="no features x"):
        fitted.predict(other)
