"""The identity of a run: it follows from what decides the outcome, and from nothing else."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from gaug.runs.record import run_identity

CONFIG = {
    "model": {"hidden": 8},
    "method": {"predictor": "gae"},
    "predictors": {"gae": {"embedding": 4}},
    "training": {"epochs": 5, "patience": None},
    "data": {"feature_scaling": "default"},
    "split": {"split_seed": 0},
    "threads": 1,
    "device": "cpu",
}
KEY: dict[str, Any] = {
    "graph_hash": "aa",
    "split_hash": "bb",
    "model": "gcn",
    "method": "none",
    "config": CONFIG,
    "seed": 0,
    "run": 0,
    "gaug_version": "1",
}
OTHERS = [
    ("graph_hash", "bb"),
    ("split_hash", "aa"),
    ("model", "gat"),
    ("method", "dropedge"),
    ("config", CONFIG | {"model": {"hidden": 9}}),
    ("config", CONFIG | {"method": {"predictor": "ra"}}),
    ("config", CONFIG | {"predictors": {"gae": {"embedding": 5}}}),
    ("config", CONFIG | {"training": {"epochs": 6, "patience": None}}),
    ("config", CONFIG | {"training": {"epochs": 5, "patience": 5}}),
    ("config", CONFIG | {"threads": 2}),
    ("config", CONFIG | {"device": "cuda"}),
    ("seed", 1),
    ("run", 1),
    ("gaug_version", "2"),
]


def test_an_identity_follows_from_the_values_alone():
    again = dict(reversed(CONFIG.items())) | {"training": {"patience": None, "epochs": 5}}
    assert run_identity(**KEY | {"config": again}) == run_identity(**KEY)


@pytest.mark.parametrize(("part", "value"), OTHERS)
def test_an_identity_differs_when_any_part_differs(part, value):
    assert {part for part, _ in OTHERS} == set(inspect.signature(run_identity).parameters)
    assert run_identity(**KEY | {part: value}) != run_identity(**KEY)


@pytest.mark.parametrize(
    "same",
    [
        CONFIG | {"data": {"feature_scaling": "columns"}},
        CONFIG | {"split": {"split_seed": 7}},
        {name: part for name, part in CONFIG.items() if name not in ("data", "split")},
    ],
)
def test_how_graph_and_split_were_made_has_no_part_in_it(same):
    assert run_identity(**KEY | {"config": same}) == run_identity(**KEY)


def test_no_predictors_are_as_none_at_all():
    without = {name: part for name, part in CONFIG.items() if name != "predictors"}
    empty = without | {"predictors": {}}
    assert run_identity(**KEY | {"config": without}) == run_identity(**KEY | {"config": empty})
