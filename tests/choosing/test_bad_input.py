"""Auto on graphs that give it little to go by, and where nothing can be tried."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gaug import SyntheticConfig, auto, planted_graph
from gaug.choosing.auto import AutoResult
from gaug.choosing.candidates import CANDIDATES, FEATURES
from gaug.choosing.comparison import SURE
from gaug.errors import DataError, TrainingError
from gaug.training.run import PreparedRuns
from tests.known import known


@pytest.fixture
def data() -> Data:
    return planted_graph(SyntheticConfig(num_nodes=60, num_classes=2, degree=4.0))


def quick(data: Data, **options: Any) -> AutoResult:
    return auto(data, trial_runs=1, epochs=2, **options)


def check(result: AutoResult, data: Data) -> None:
    """Every candidate was tried, the verdict is the number, and all nodes have a known class."""
    comparison = result.comparison
    assert {str(candidate) for candidate in CANDIDATES} <= {t.name for t in comparison.trials}
    assert known(comparison.resampling).first == 1  # all runs but the first draw
    if comparison.helps:
        assert known(comparison.gain_of(comparison.chosen)).confidence >= SURE
    predicted = result.classifier.predict(data)
    assert len(predicted) == data.num_nodes
    assert set(predicted.tolist()) <= set(data.y[data.y >= 0].tolist())


def test_ten_labeled_nodes(data: Data) -> None:
    labeled = torch.cat([torch.nonzero(data.y == number).flatten()[:5] for number in (0, 1)])
    labels = data.y[labeled]
    data.y[:] = -1
    data.y[labeled] = labels
    result = quick(data)
    check(result, data)
    # Four nodes of each class train in each run, and one validates.
    outcomes = known(result.comparison.plain.outcomes)
    assert (outcomes.nodes.shape[1], outcomes.num_nodes) == (10, 2)


def test_a_class_with_two_nodes_is_trained_and_validated_in_every_run(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.y[:] = 0
    data.y[30:] = 1
    data.y[58:] = 2
    seen = set()
    train = PreparedRuns.train

    def noted(prepared: PreparedRuns, run: int, **options: Any) -> Any:
        task = prepared.task
        parts = (task.labels[nodes].tolist().count(2) for nodes in (task.train, task.val))
        seen.add(tuple(parts))
        return train(prepared, run, **options)

    monkeypatch.setattr(PreparedRuns, "train", noted)
    check(quick(data), data)
    assert seen == {(1, 1)}


def test_fifty_classes() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=300, num_classes=50, degree=2.0))
    check(quick(data), data)


def test_a_graph_without_features_is_refused_in_one_line(data: Data) -> None:
    data.x = None
    with pytest.raises(DataError, match=r"The graph has no features x\. Give a matrix"):
        quick(data)


def test_features_that_are_all_alike_are_not_compared(data: Data) -> None:
    data.x = torch.ones(60, 1)
    (left,) = quick(data).comparison.left_out
    assert left.name == str(FEATURES)
    assert "all have the same ones" in known(left.failure)


def test_where_no_node_can_validate_it_says_so(data: Data) -> None:
    data.y[2:] = -1
    data.y[:2] = torch.tensor([0, 1])
    with pytest.raises(DataError, match="There are no nodes to validate on"):
        quick(data)


def test_where_every_candidate_fails_the_graph_stays_as_it_is(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, plain=False)
    result = quick(data)
    comparison = result.comparison
    assert comparison.chosen is comparison.plain
    assert comparison.trials == [comparison.plain]
    assert {trial.name for trial in comparison.left_out} == {str(one) for one in CANDIDATES}
    assert {trial.failure for trial in comparison.left_out} == {"The loss became nan."}
    assert comparison.verdict() == "Only the trial without augmentation was finished."
    assert result.augmented is data
    assert result.classifier.fitted.method.name == "none"


def test_where_plain_training_fails_that_is_the_error(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, plain=True)
    with pytest.raises(TrainingError, match="The loss became nan"):
        quick(data)


def failing(monkeypatch: pytest.MonkeyPatch, *, plain: bool) -> None:
    """Let the training of every candidate fail, and that without augmentation, too, if asked."""
    train = PreparedRuns.train

    def fail(prepared: PreparedRuns, run: int, **options: Any) -> Any:
        added = prepared.training.students or prepared.training.consistency_passes
        if plain or added or prepared.method.config.name != "none":
            raise TrainingError("The loss became nan.")
        return train(prepared, run, **options)

    monkeypatch.setattr(PreparedRuns, "train", fail)
