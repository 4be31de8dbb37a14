"""Each graph is loaded, fingerprinted, split and laid out once, whatever is run on it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gaug import load_graph, open_graph
from gaug.data.config import SplitConfig
from gaug.edge_predictors.features import FeatureSimilarity
from gaug.edge_predictors.gae import GAE
from gaug.runs import graphs as graphs_module
from gaug.runs.execute import execute_all
from gaug.runs.execution import Request
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.training.run import PreparedRuns
from gaug.training.task import Task


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a graph was opened, fingerprinted, split and laid out, and a predictor fitted."""
    count: Counter[str] = Counter()

    def counted(name: str, function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            count[name] += 1
            return function(*arguments, **options)

        return call

    for name in ("open_graph", "as_loaded", "graph_hash", "split_graph"):
        monkeypatch.setattr(graphs_module, name, counted(name, getattr(graphs_module, name)))
    monkeypatch.setattr(Task, "of", counted("Task.of", Task.of))
    for predictor in (GAE, FeatureSimilarity):
        monkeypatch.setattr(predictor, "fit", counted(predictor.__name__, predictor.fit))
    return count


def test_many_settings_and_runs_share_one_graph_and_one_predictor(calls):
    # A seed that no other test has: predictors are kept for the whole process.
    plan = Plan.of("karate", method="gaug-m", settings=["predictor=gae", "epochs=2"], seed=4711)
    fractions = [0.1, 0.2, 0.3]
    plans = [plan.with_settings([f"add_fraction={share}"]) for share in fractions]
    plans += [plan.with_settings(["hidden=8"]), plan.with_method("none")]
    results = list(execute_all([Request(one, range(2)) for one in plans]))
    assert len(results) == 10
    assert calls == {"open_graph": 1, "graph_hash": 1, "split_graph": 1, "Task.of": 1, "GAE": 1}


def test_a_sum_of_predictors_takes_over_those_that_were_fitted_alone(calls):
    data = load_graph("karate")
    data.x = torch.rand(34, 4, generator=torch.Generator().manual_seed(0))
    plan = Plan.of(data, method="gaug-m", settings=["predictor=gae", "epochs=1"])
    plans = [plan, *(plan.with_settings([f"predictor={p}"]) for p in ("gae+features", "features"))]
    assert len(list(execute_all([Request(one, [0]) for one in plans]))) == 3
    assert (calls["GAE"], calls["FeatureSimilarity"]) == (1, 1)


def test_a_method_is_prepared_once_for_plans_that_are_run_again(calls, monkeypatch):
    prepared: list[str] = []
    prepare = PreparedRuns.prepare

    def counted(task: Task, model: Any, method: Any, *others: Any, **options: Any) -> Any:
        prepared.append(method.config.name)
        return prepare(task, model, method, *others, **options)

    monkeypatch.setattr(PreparedRuns, "prepare", counted)
    plan = Plan.of("karate", method="gaug-m", settings=["predictor=ra", "epochs=1"])
    graphs = Graphs()
    for runs in ([0], [1, 2], [0]):
        list(execute_all([Request(plan, runs)], graphs=graphs))
    assert prepared == ["gaug-m"]
    # Hidden labels are another task.
    list(execute_all([Request(plan, [0])], graphs=graphs, hide_test=True))
    assert prepared == ["gaug-m", "gaug-m"]


def test_a_data_in_memory_is_made_valid_once(calls):
    data = load_graph("karate")
    graphs = Graphs()
    placed = [graphs.place(Plan.of(data, seed=seed)) for seed in range(3)]
    assert calls == {"as_loaded": 1, "graph_hash": 1, "split_graph": 1, "Task.of": 1}
    assert placed[0].task is placed[1].task is placed[2].task


def test_other_splits_and_scalings_are_other_tasks_of_graphs_loaded_once_each(calls):
    graphs = Graphs()
    tasks = [
        graphs.place(
            Plan.of("karate", split="stratified", settings=[f"split_seed={seed}", *scaling])
        ).task
        for scaling in ([], ["feature_scaling=columns"])
        for seed in (0, 1, 0)
    ]
    assert calls == {"open_graph": 2, "graph_hash": 2, "split_graph": 4, "Task.of": 4}
    assert tasks[0] is tasks[2]
    assert not torch.equal(tasks[0].train, tasks[1].train)
    assert torch.equal(tasks[0].train, tasks[3].train)


def test_a_new_data_at_the_place_of_an_old_one_is_not_taken_for_it():
    graphs = Graphs()
    hashes = set()
    for seed in range(20):  # each may get the id of one that was thrown away
        data = load_graph("karate")
        data.x = torch.rand(34, 3, generator=torch.Generator().manual_seed(seed))
        hashes.add(graphs.place(Plan.of(data)).graph_hash)
    assert len(hashes) == 20


def test_more_graphs_than_are_kept_are_loaded_again_and_are_the_same(calls):
    loaded = [open_graph("karate") for _ in range(20)]
    graphs = Graphs()
    first = [graphs.place(Plan.of(one)).identity(0) for one in loaded]
    again = [graphs.place(Plan.of(one)).identity(0) for one in loaded]
    assert first == again
    assert calls["Task.of"] == 40


def test_the_features_of_a_user_defined_model_stay_dense(two_cliques: Data):
    two_cliques.x = torch.eye(6, 40)  # few are not zero
    graphs = Graphs()
    half = SplitConfig(train_fraction=0.4)
    own = Plan.of(two_cliques, model=lambda i, c: torch.nn.Linear(i, c), split_config=half)
    assert graphs.load(own).data.x.layout == torch.strided
    assert graphs.load(Plan.of(two_cliques)).data.x.layout == torch.sparse_csr


def test_the_given_graph_is_not_changed():
    data = load_graph("karate")
    before = data.clone()
    list(execute_all([Request(Plan.of(data, settings=["epochs=1"]), [0])], hide_test=True))
    assert data.keys() == before.keys()
    for key, value in before.items():
        same = value.to_dense() if torch.is_tensor(value) else value
        found = data[key].to_dense() if torch.is_tensor(value) else data[key]
        assert torch.equal(found, same) if torch.is_tensor(same) else found == same
