"""Masks and settings of splits are used or refused, never ignored."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gaug import SplitConfig, evaluate, open_graph, split_graph
from gaug.data.opening import as_loaded
from gaug.errors import ConfigError, DataError


@pytest.mark.parametrize("parts", [["train"], ["train", "val"], ["test"]])
def test_some_masks_without_the_others_are_refused(two_cliques: Data, parts: list[str]) -> None:
    data = two_cliques.clone()
    for part in parts:
        data[f"{part}_mask"] = torch.ones(6, dtype=torch.bool)
    with pytest.raises(DataError, match="Give all three masks, or name a split"):
        split_graph(as_loaded(data))
    with pytest.raises(DataError, match="Give all three masks, or name a split"):
        evaluate(data, runs=1, epochs=1)
    assert split_graph(as_loaded(data), "stratified").train.numel() > 0


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("per-class", {"train_fraction": 0.5}),
        ("stratified", {"labels_per_class": 5}),
        ("random", {"labels_per_class": 5}),
    ],
)
def test_a_setting_that_a_split_does_not_use_is_refused(kind: str, setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"has no effect on the split '{kind}'"):
        split_graph(open_graph("karate"), kind, SplitConfig(**setting))


def test_a_public_split_takes_no_settings(two_cliques: Data) -> None:
    data = two_cliques.clone()
    for part, nodes in (("train", [0, 3]), ("val", [1, 4]), ("test", [2, 5])):
        mask = torch.zeros(6, dtype=torch.bool)
        mask[nodes] = True
        data[f"{part}_mask"] = mask
    loaded = as_loaded(data)
    assert split_graph(loaded).name == "public"
    with pytest.raises(ConfigError, match="val_fraction has no effect on the split 'public'"):
        split_graph(loaded, None, SplitConfig(val_fraction=0.3))
