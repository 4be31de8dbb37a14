"""Warnings name the line of the user's program, whichever way it called."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch_geometric.data import Data

import gaug


@pytest.fixture
def one_way() -> Data:
    """A path whose edges have one direction only, which is worth a warning."""
    nodes = torch.arange(12)
    data = Data(
        x=torch.eye(12),
        edge_index=torch.stack([nodes[:-1], nodes[1:]]),
        y=nodes % 2,
    )
    for number, part in enumerate(("train", "val", "test")):
        data[f"{part}_mask"] = nodes % 3 == number
    return data


def fit(data: Data) -> object:
    return gaug.GAugM(predictor="ra", epochs=2).fit(data)


def change(data: Data) -> object:
    return gaug.GAugM(predictor="ra")(data)


def evaluate(data: Data) -> object:
    return gaug.evaluate(data, runs=1, epochs=2)


def auto(data: Data) -> object:
    return gaug.auto(data, time_budget=1e-9, trial_runs=1, epochs=2)


@pytest.mark.parametrize("call", [fit, change, evaluate, auto])
def test_a_warning_names_the_line_that_called(
    one_way: Data, call: Callable[[Data], object]
) -> None:
    with pytest.warns(UserWarning, match="undirected") as told:
        call(one_way)
    assert {(one.filename, one.lineno) for one in told} == {
        (__file__, call.__code__.co_firstlineno + 1)
    }
