from __future__ import annotations

import dataclasses
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

import gaug
from gaug import (
    Inspection,
    SplitConfig,
    Store,
    SyntheticConfig,
    load_graph,
    make_split,
    open_graph,
    planted_graph,
)
from gaug.errors import ConfigError, DataError
from gaug.inspection.inspect import inspect_plan
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.training.config import TrainingConfig

HALF = SplitConfig(train_fraction=0.3, val_fraction=0.4)
SHORT = TrainingConfig(epochs=25)


def inspect(data: Data, **options: Any) -> Inspection:
    defaults: dict[str, Any] = {"training": SHORT, "runs": 2}
    has_masks = isinstance(data, Data) and data.get("train_mask") is not None
    if not has_masks and options.get("split", "stratified") == "stratified":
        defaults["split_config"] = HALF  # of a split that is drawn
    return gaug.inspect(data, **defaults | options)


def planted(**settings: Any) -> Data:
    defaults: dict[str, Any] = {
        "num_nodes": 300,
        "num_classes": 3,
        "feature_density": 0.1,
        "degree": 6.0,
    }
    return planted_graph(SyntheticConfig(**defaults | settings))


def stars() -> Data:
    """Twenty stars of five leaves, joined in a ring by a leaf each: centers and leaves."""
    centers = range(0, 120, 6)
    pairs = [(center, center + leaf) for center in centers for leaf in range(1, 6)]
    pairs += [(center + 1, (center + 8) % 120) for center in centers]
    both = torch.tensor(pairs + [(v, u) for u, v in pairs]).t().contiguous()
    labels = (torch.arange(120) % 6 == 0).long()
    noise = torch.rand(120, 4, generator=torch.Generator().manual_seed(0))
    return Data(x=noise, edge_index=both, y=labels, num_nodes=120)


def test_good_features_and_random_edges_call_for_features():
    found = inspect(planted(feature_signal=0.9, homophily=0.33))
    assert found.advice is not None
    assert found.advice.kind == "features"
    assert [str(one) for one in found.advice.candidates] == [
        "gaug-m predictor=features add_fraction=0.5 remove_fraction=0.3 allocation=per-node"
    ]


def test_good_edges_and_random_features_call_for_more_edges():
    found = inspect(planted(feature_signal=0.3, homophily=0.9), training=TrainingConfig(epochs=60))
    assert found.advice is not None
    assert (found.advice.kind, len(found.advice.candidates)) == ("edges", 2)


def test_centres_and_leaves_are_roles():
    found = inspect(stars(), training=TrainingConfig(epochs=60))
    assert found.advice is not None
    assert found.advice.kind == "roles"


def test_labels_of_test_nodes_are_counted_and_not_looked_at():
    data = planted()
    test = make_split(data, "stratified", HALF).apply(data).test_mask
    data = make_split(data, "stratified", HALF).apply(data)
    other = data.clone()
    other.y[test] = (data.y[test] + 1) % 3
    one, two = (inspect(graph, training=TrainingConfig(epochs=3)) for graph in (data, other))
    assert one.split == "public"
    assert (one.evidence, one.homophily, one.advice) == (two.evidence, two.homophily, two.advice)


def test_a_guess_is_the_most_frequent_training_class(two_cliques: Data):
    masks = {"train": [0, 1, 3], "val": [2, 4], "test": [5]}
    for part, nodes in masks.items():
        two_cliques[f"{part}_mask"] = torch.zeros(6, dtype=torch.bool)
        two_cliques[f"{part}_mask"][nodes] = True
    found = inspect(two_cliques, training=TrainingConfig(epochs=1), runs=1)
    assert found.evidence is not None
    assert found.evidence.guess.values == (50.0,)
    # Of 0-1, 0-2, 1-2, 2-3 and 3-4 all but one are within a class; 5 is a test node.
    assert found.homophily is not None
    assert (found.homophily.share, found.homophily.num_edges) == (0.8, 5)


def test_without_labels_all_is_said_that_needs_none(two_cliques: Data):
    two_cliques.y = None
    found = inspect(two_cliques)
    assert (found.shape.edges, found.degrees) == (7, [0, 0, 4, 2])
    assert (found.labels, found.advice) == (None, None)
    assert found.remark is not None
    assert "no labels" in found.remark
    assert json.loads(json.dumps(found.to_dict()))["nodes"] == 6


def test_too_few_labels_for_a_split_are_told(two_cliques: Data):
    two_cliques.y[1:] = -1
    found = inspect(two_cliques)
    assert found.labels is not None
    assert (found.labels.labeled, found.labels.unlabeled) == (1, 5)
    assert found.advice is None
    assert found.remark is not None
    assert found.remark.startswith("Features and edges cannot be evaluated: The val")


def test_a_split_file_that_is_wrong_is_an_error(two_cliques: Data, tmp_path: Path):
    with pytest.raises(DataError, match="no split file"):
        inspect(two_cliques, split=str(tmp_path / "nowhere.npz"))


def test_several_labels_a_node():
    data = planted(num_nodes=60)
    data.y = torch.nn.functional.one_hot(data.y, 3).float()
    found = inspect(data, training=TrainingConfig(epochs=2), runs=1)
    assert found.homophily is None
    assert found.labels is not None
    assert found.labels.counts == {"0": 20, "1": 20, "2": 20}
    assert found.advice is not None


def test_the_same_seed_gives_the_same_and_progress_counts_runs():
    steps: list[float] = []
    short = TrainingConfig(epochs=3)
    one = inspect(planted(num_nodes=90), training=short, on_progress=steps.append)
    two = inspect(planted(num_nodes=90), training=short)
    assert one == two
    assert steps == sorted(steps)
    assert steps[-1] == 6


def test_a_quick_look_trains_nothing():
    found = gaug.inspect(open_graph("karate"), train=False)
    assert (found.evidence, found.advice) == (None, None)
    assert found.remark is not None
    with pytest.raises(ConfigError, match="runs must be at least 1"):
        gaug.inspect(open_graph("karate"), runs=0)


def test_a_name_a_loaded_graph_and_a_data_give_the_same():
    options = {"split": "stratified", "training": TrainingConfig(epochs=2), "runs": 1}
    named, loaded, data = (
        inspect(graph, **options)
        for graph in ("karate", open_graph("karate"), load_graph("karate"))
    )
    assert named == loaded
    assert dataclasses.replace(data, graph="karate") == named


def test_workers_and_a_store_make_no_difference(tmp_path: Path):
    data = planted(num_nodes=90)
    short = TrainingConfig(epochs=3)
    with closing(Store(str(tmp_path / "runs.sqlite"))) as store:
        alone = inspect(data, training=short)
        assert inspect(data, training=short, store=store, workers=2) == alone
        records = store.all()
        assert len(records) == 6  # three models, two runs each
        assert {record.test_score for record in records} == {None}
        assert [record.model for record in records].count("mlp") == 4
        assert inspect(data, training=short, store=store) == alone
        assert len(store.all()) == 6


def test_the_model_and_method_of_a_plan_do_not_count():
    data = planted(num_nodes=90)
    plans = [
        Plan.of(data, model=model, method=method, settings=["epochs=2"], split_config=HALF)
        for model, method in (("gcn", "none"), ("gat", "gaug-o"))
    ]
    one, two = (inspect_plan(plan, runs=1, graphs=Graphs()) for plan in plans)
    assert one == two
