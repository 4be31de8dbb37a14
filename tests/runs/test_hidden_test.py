"""Whoever chooses trains without the labels of test nodes; their score is read later, exactly."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy
import torch
from sqlalchemy.orm import Session
from torch_geometric.data import Data

from gaug import SyntheticConfig, planted_graph
from gaug.choosing.engine import TrialRunner
from gaug.choosing.trial import Trial
from gaug.data.config import SplitConfig
from gaug.data.splits import Split, make_split
from gaug.errors import ConfigError
from gaug.methods.method import Method
from gaug.methods.none.config import NoAugmentationConfig
from gaug.runs.execute import execute
from gaug.runs.executors import local_executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.predictions import unpack_predictions, unpack_probabilities
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.training import run as training_run
from gaug.training.calibration import calibrated_probabilities
from gaug.training.hooks import AugmentedRun, Visible
from gaug.training.loop import train_run
from gaug.training.task import Task
from tests.known import known

METHODS = {
    "none": [],
    "dropedge": [],
    "gaug-m": ["predictor=ra"],
    "adaedge": ["rounds=2"],
    "bgcn": ["graphs=2"],
    "gaug-o": ["pretrain_classifier_epochs=2", "pretrain_predictor_epochs=2"],
    "adaedge+dropedge": ["rounds=2"],
}


@pytest.fixture(params=["one class per node", "several labels per node"])
def graph(request: pytest.FixtureRequest) -> Data:
    """A small graph with masks, with one class per node or several labels."""
    data = planted_graph(SyntheticConfig(num_nodes=80, num_classes=3, degree=5.0, homophily=0.7))
    data = make_split(data, "stratified", SplitConfig(train_fraction=0.3)).apply(data)
    if request.param == "several labels per node":
        first = torch.nn.functional.one_hot(data.y, 3)
        data.y = (first + torch.nn.functional.one_hot((data.y + 1) % 3, 3)).float()
    return data


def planned(graph: Data, method: Any = "none", *settings: str, **options: Any) -> Plan:
    return Plan.of(graph, method=method, settings=["epochs=4", *settings], **options)


class Spy(Method[NoAugmentationConfig]):
    """Notes every label that it is shown."""

    config_type = NoAugmentationConfig

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.shown: list[torch.Tensor] = []

    def prepare(self, visible: Visible, seed: int, **_: Any) -> Spy:
        self.shown.append(visible.labels)
        return self

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        self.shown.append(visible.labels)
        return AugmentedRun(visible, generator)


class Control(Spy):
    """Says that it looks at labels."""

    looks_at_labels = True


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The tasks that the loop was called on, in a list that grows."""
    seen: list[Task] = []

    def watched(task: Task, *arguments: Any, **options: Any) -> Any:
        seen.append(task)
        return train_run(task, *arguments, **options)

    monkeypatch.setattr(training_run, "train_run", watched)
    return seen


def test_the_labels_of_test_nodes_are_gone_before_anything_trains(graph: Data, tasks):
    spy = Spy()
    execute(planned(graph, spy), runs=2, hide_test=True)
    nothing = 0 if graph.y.dim() == 2 else -1
    assert len(tasks) == 2
    assert len(spy.shown) == 3
    for task in tasks:
        assert task.test_hidden
        assert bool((task.labels[graph.test_mask] == nothing).all())
        assert torch.equal(task.labels[~graph.test_mask], graph.y[~graph.test_mask])
    for labels in spy.shown:
        assert bool((labels[graph.test_mask] == nothing).all())


def test_what_is_trained_does_not_depend_on_them(graph: Data):
    other = graph.clone()
    other.y[graph.test_mask] = other.y[graph.test_mask].flip(0)
    assert not torch.equal(other.y, graph.y)
    one, two = (execute(planned(each), runs=2, hide_test=True) for each in (graph, other))
    assert [r.test_predictions for r in one] == [r.test_predictions for r in two]
    assert [r.val_score for r in one] == [r.val_score for r in two]


def test_a_record_of_a_hidden_run_has_predictions_and_no_test_score(graph: Data, store: Store):
    execute(planned(graph), runs=1, store=store, hide_test=True)
    (record,) = store.all()
    assert record.test_score is None
    predicted = unpack_predictions(known(record.test_predictions))
    assert len(predicted) == int(graph.test_mask.sum())
    assert record.val_score is not None
    (shown,) = execute(planned(graph), runs=1)
    assert shown.test_score is not None
    assert shown.test_predictions is None


@pytest.mark.parametrize("method", METHODS)
def test_the_test_score_is_read_later_and_is_that_of_a_run_that_was_not_hidden(
    graph: Data, store: Store, trained: list[int], method: str
):
    plan = planned(graph, method, *METHODS[method])
    expected = execute(plan, runs=2)
    hidden = execute(plan, runs=2, store=store, hide_test=True)
    assert [r.val_score for r in hidden] == [r.val_score for r in expected]
    del trained[:]
    read = execute(plan, runs=2, store=store, resume=True)
    assert trained == []
    assert [r.test_score for r in read] == [r.test_score for r in expected]
    assert [r.id for r in read] == [r.id for r in hidden]
    # It stands on record from now on, in the same two rows.
    assert [r.test_score for r in store.all()] == [r.test_score for r in expected]


def test_the_score_is_read_after_hidden_runs_in_workers_too(graph: Data, store: Store):
    plan = planned(graph)
    with local_executor(2) as executor:
        execute(plan, runs=2, store=store, hide_test=True, executor=executor)
    read = execute(plan, runs=2, store=store, resume=True)
    assert [r.test_score for r in read] == [r.test_score for r in execute(plan, runs=2)]


def test_who_chooses_gets_no_test_score_though_the_record_has_one(graph: Data, store: Store):
    plan = planned(graph)
    (first,) = execute(plan, runs=1, store=store)
    (found,) = execute(plan, runs=1, store=store, resume=True, hide_test=True)
    assert found.id == first.id
    assert found.test_score is None
    assert store.all()[0].test_score == first.test_score is not None


def test_who_chooses_runs_again_what_has_no_probabilities_on_record(
    graph: Data, store: Store, trained: list[int]
):
    """Records of older versions have none; with several labels per node there never are any."""
    plan = planned(graph)
    execute(plan, runs=1, store=store)
    with Session(sqlalchemy.create_engine(store.database_url)) as session, session.begin():
        session.execute(sqlalchemy.update(RunRecord).values(val_probabilities=None))
    del trained[:]
    execute(plan, runs=1, store=store, resume=True)
    assert trained == []
    (found,) = execute(plan, runs=1, store=store, resume=True, hide_test=True)
    several = graph.y.dim() == 2
    assert len(trained) == (0 if several else 1)
    assert (found.val_probabilities is None) == several


def test_the_probabilities_on_record_are_those_of_the_right_classes_calibrated(graph: Data):
    (record,) = execute(planned(graph), runs=1)
    if graph.y.dim() == 2:
        assert record.val_probabilities is None
        return
    prepared = Graphs().prepare(Graphs().place(planned(graph)), hide_test=False)
    probabilities = prepared.train(0).probabilities[graph.val_mask]
    expected = calibrated_probabilities(probabilities, graph.y[graph.val_mask])
    found = unpack_probabilities(known(record.val_probabilities))
    torch.testing.assert_close(found, expected.double(), rtol=1e-3, atol=0)


def test_a_trial_trains_without_the_labels_of_test_nodes(graph: Data, store: Store, tasks):
    trial = TrialRunner(Graphs(), runs=2, store=store).run_one(Trial("t", planned(graph)))
    assert trial.scores is not None
    assert trial.scores.num_nodes == int(graph.val_mask.sum())
    assert all(task.test_hidden for task in tasks)
    assert [record.test_score for record in store.all()] == [None, None]


def test_a_graph_without_test_nodes_has_no_test_score_to_read(graph: Data, store: Store):
    graph.test_mask[:] = False
    plan = planned(graph, split=Split.of_masks(graph, "masks"))
    execute(plan, runs=1, store=store, hide_test=True)
    (read,) = execute(plan, runs=1, store=store, resume=True)
    assert read.test_score is None
    assert execute(plan, runs=1)[0].test_score is None


@pytest.mark.parametrize("control", ["by predictor", "by method"])
def test_a_control_that_looks_at_labels_is_refused(graph: Data, control: str, trained: list[int]):
    plan = planned(graph, Control())
    if control == "by predictor":
        plan = planned(graph, "gaug-m", "predictor=omniscient")
    with pytest.raises(ConfigError, match=r"uses the labels of all nodes here: it is a control"):
        execute(plan, runs=1, hide_test=True)
    assert trained == []


def test_a_history_is_refused_for_it_counts_edges_by_all_labels(graph: Data, trained: list[int]):
    with pytest.raises(ConfigError, match="A history counts edges by all labels"):
        execute(planned(graph), runs=1, hide_test=True, keep_history=True)
    assert trained == []
