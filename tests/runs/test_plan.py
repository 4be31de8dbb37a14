"""A plan names the same thing by the same identity, however it is asked for."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gaug import DropEdge, GAugM, evaluate, load_graph, make_split, open_graph
from gaug.data.config import SplitConfig
from gaug.edge_predictors.config import GAEConfig
from gaug.errors import ConfigError
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.spec import MethodSpec
from gaug.models.config import GATConfig, GCNConfig
from gaug.runs.execute import execute
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.training.config import TrainingConfig

SETTINGS = ("train_fraction=0.2", "epochs=5")


def karate(*settings: str, **options: Any) -> Plan:
    return Plan.of("karate", split="stratified", settings=[*SETTINGS, *settings], **options)


def identity(plan: Plan, run: int = 0) -> str:
    return Graphs().place(plan).identity(run)


# One thing, one identity.


def test_a_name_a_loaded_graph_and_a_data_in_python_have_one_identity():
    by_name = karate("drop_fraction=0.3", "hidden=8", method="dropedge", seed=4)
    loaded = open_graph("karate")
    half = SplitConfig(train_fraction=0.2)
    method = DropEdge(drop_fraction=0.3, hidden=8, epochs=5, seed=4)
    of_loaded = Plan.of(loaded, method=method, split="stratified", split_config=half)
    result = evaluate(loaded.data, method=method, split="stratified", split_config=half, runs=2)
    for run, record in enumerate(result.records):
        assert record.identity == identity(by_name, run) == identity(of_loaded, run)


def test_a_split_by_masks_a_split_object_and_a_kind_have_one_identity():
    data = load_graph("karate")
    split = make_split(data, "stratified", SplitConfig(train_fraction=0.2))
    training = TrainingConfig(epochs=5)
    by_mask = Plan.of(split.apply(data), training=training)
    by_object = Plan.of(data, training=training, split=split)
    assert identity(by_mask) == identity(by_object) == identity(karate())


@pytest.mark.parametrize(
    "same",
    [
        karate("feature_scaling=as-is"),  # what the features of this graph are by default
        Plan.of("karate", split="stratified", split_config=SplitConfig(0.2), settings=["epochs=5"]),
        karate(model=GCNConfig(), method=MethodSpec.of("none")),
    ],
    ids=["feature_scaling", "split_config", "objects"],
)
def test_settings_that_do_not_change_the_result_do_not_change_the_identity(same):
    assert identity(same) == identity(karate())


@pytest.mark.parametrize(
    "other",
    [
        karate("epochs=6"),
        karate("split_seed=1"),
        karate("train_fraction=0.3"),
        karate("feature_scaling=columns"),
        karate("hidden=64"),
        karate("selection=last"),
        karate(model="gat"),
        karate(method="dropedge"),
        karate(seed=1),
        karate(threads=2),
    ],
    ids=lambda plan: str(plan),
)
def test_whatever_changes_the_result_changes_the_identity(other):
    assert identity(other) != identity(karate())


def test_the_settings_of_a_predictor_are_part_of_the_identity():
    plan = karate("predictor=gae", method="gaug-m")
    other = karate("predictor=gae", "predictor_epochs=3", method="gaug-m")
    assert plan.config["predictors"]["gae"] != other.config["predictors"]["gae"]
    assert identity(plan) != identity(other)


def test_two_graphs_that_differ_in_one_label_have_two_identities():
    data = load_graph("karate")
    split = make_split(data, "stratified")
    other = data.clone()
    other.y[split.test[0]] = 1 - other.y[split.test[0]]
    assert identity(Plan.of(data, split=split)) != identity(Plan.of(other, split=split))


# From names and settings.


def test_making_a_plan_imports_no_torch():
    script = (
        "import sys; from gaug import Plan;"
        "Plan.of('cora', model='gat', method='gaug-m',"
        " settings=['predictor=gae', 'epochs=3', 'predictor_epochs=9'], split='public');"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_settings_may_be_a_dict():
    by_text = Plan.of("karate", settings=["epochs=7", "hidden=9"])
    assert Plan.of("karate", settings={"epochs": 7, "hidden": 9}) == by_text


def test_a_method_object_brings_its_model_training_and_seed_unless_they_are_given():
    method = GAugM(predictor="ra", model="gat", heads=2, epochs=9, seed=3)
    plan = Plan.of("karate", method=method)
    assert isinstance(plan.model.config, GATConfig)
    assert (plan.model.name, plan.model.config.heads) == ("gat", 2)
    assert (plan.training.epochs, plan.seed) == (9, 3)
    assert plan.method.instance is None  # its settings say all of it
    given = Plan.of("karate", method=method, model="mlp", training=TrainingConfig(epochs=2), seed=1)
    assert (given.model.name, given.training.epochs, given.seed) == ("mlp", 2, 1)


def test_with_another_method_all_else_stays():
    plan = karate("hidden=8", model="gsage", seed=2)
    other = plan.with_method(DropEdgeConfig(drop_fraction=0.1))
    assert other == dataclasses.replace(plan, method=MethodSpec.of(DropEdgeConfig(0.1)))
    assert plan.method.name == "none"


def test_a_change_of_predictor_keeps_the_settings_of_those_that_stay():
    plan = karate("predictor=gae", "embedding=7", method="gaug-m")
    both = plan.with_settings(["predictor=gae+ra"])
    assert list(both.method.predictors) == ["gae", "ra"]
    gae = both.method.predictors["gae"]
    assert isinstance(gae, GAEConfig)
    assert gae.embedding == 7
    assert plan.with_settings(["predictor=ra"]).method.predictors.keys() == {"ra"}


@pytest.mark.parametrize("name", ["predictor", "method.predictor"])
def test_the_predictor_decides_which_settings_there_are_wherever_it_stands(name):
    plan = karate("gae.embedding=7", f"{name}=gae+ra", method="gaug-m")
    assert list(plan.method.predictors) == ["gae", "ra"]
    gae = plan.method.predictors["gae"]
    assert isinstance(gae, GAEConfig)
    assert gae.embedding == 7
    assert list(karate(f"{name}=jaccard", method="gaug-m").method.predictors) == ["jaccard"]


def test_the_device_is_that_of_the_data_unless_another_is_given(two_cliques: Data):
    assert Plan.of(two_cliques).device == "cpu"
    assert Plan.of(two_cliques, device="cuda:1").device == "cuda:1"
    assert Plan.of("karate").device == "cpu"
    meta = Data(edge_index=torch.zeros(2, 0, device="meta", dtype=torch.long))
    assert Plan.of(meta).device == "meta"


# What is refused.


@pytest.mark.parametrize("device", ["gpu", "meta", ""])
def test_a_device_that_nobody_has_is_refused_in_one_line(device):
    message = f"device must be one of cpu, cuda, mps, xpu, got '{device}'"
    with pytest.raises(ConfigError, match=message) as caught:
        karate(device=device)
    assert "\n" not in str(caught.value)


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="seed must be at least 0, got -1"):
        karate(seed=-1)


@pytest.mark.parametrize("seed", [2**31, 2**63])
def test_a_seed_that_no_database_holds_is_refused(seed):
    with pytest.raises(ConfigError, match=f"seed must be at most 2147483647, got {seed}"):
        karate(seed=seed)


def test_the_largest_seed_is_recorded(tmp_path):
    store = Store(str(tmp_path / "runs.sqlite"))
    execute(karate(seed=2**31 - 1).with_settings(["epochs=1"]), runs=1, store=store)
    assert [record.seed for record in store.all()] == [2**31 - 1]


def test_no_threads_are_refused():
    with pytest.raises(ConfigError, match="threads must be at least 1, got 0"):
        karate(threads=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "gnc"}, "Unknown model 'gnc'.*gcn"),
        ({"method": "drop"}, "Unknown method 'drop'.*dropedge"),
        ({"settings": ["epoch=5"]}, "Unknown setting 'epoch'.*epochs"),
        ({"settings": ["dropout=-0.5"]}, "dropout must be in .*got -0.5"),
        ({"settings": ["epochs=many"]}, "epochs must be a whole number, got 'many'"),
        ({"settings": ["epochs"]}, "name=value, got 'epochs'"),
    ],
)
def test_unknown_names_and_values_out_of_range_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Plan.of("karate", **options)


@pytest.mark.parametrize(
    ("setting", "owner"),
    [
        ("predictor=ra", "method gaug-m"),
        ("drop_fraction=0.3", "method dropedge"),
        ("heads=2", "model gat"),
    ],
)
def test_a_setting_of_something_else_is_refused_with_what_it_goes_with(setting, owner):
    with pytest.raises(ConfigError, match=f"goes with {owner}"):
        Plan.of("karate", settings=[setting])


def test_a_name_of_a_graph_is_looked_up_when_it_is_run_and_refused_with_the_known_ones(trained):
    plan = Plan.of("karte", settings=SETTINGS)
    with pytest.raises(ConfigError, match=r"Unknown graph 'karte'.*karate"):
        execute(plan, runs=1)
    assert trained == []
