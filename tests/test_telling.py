"""Warnings name the line of the user's program, whichever way it called."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

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


def sample(data: Data) -> object:
    return gaug.EdgeSampler(data)


def auto(data: Data) -> object:
    return gaug.auto(data, time_budget=1e-9, trial_runs=1, epochs=2)


@pytest.mark.parametrize("call", [fit, change, evaluate, sample, auto])
def test_a_warning_names_the_line_that_called(
    one_way: Data, call: Callable[[Data], object]
) -> None:
    with pytest.warns(UserWarning, match="undirected") as told:
        call(one_way)
    assert {(one.filename, one.lineno) for one in told} == {
        (__file__, call.__code__.co_firstlineno + 1)
    }


def test_a_warning_from_a_module_that_is_called_names_no_line_of_pytorch(
    one_way: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_way.edge_index = torch.cat([one_way.edge_index, one_way.edge_index.flip(0)], dim=1)
    sampler = gaug.EdgeSampler(one_way)
    learned = SimpleNamespace(note="Pairs were left out.", sample=lambda seed: None)
    monkeypatch.setattr(sampler, "_learned", lambda: learned)
    with pytest.warns(UserWarning, match="left out") as told:
        sampler()
    assert [one.filename for one in told] == [__file__]
