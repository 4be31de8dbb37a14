"""Saved classifiers, read again: those of an earlier gaug, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import gaug
from gaug import GAugM, GAugO, load_graph
from gaug.classifier.files import read_folder, write_folder
from gaug.errors import DataError
from gaug.methods.method import Method

SHORT: dict[str, Any] = {"epochs": 3}
JOINT: dict[str, Any] = {"pretrain_predictor_epochs": 2, "pretrain_classifier_epochs": 2}


@pytest.mark.parametrize(
    ("method", "setting", "earlier"),
    [
        (GAugM(predictor="ra+jaccard", **SHORT), "combination", "standardised"),
        (GAugO(**JOINT, **SHORT), "edge_probability", "max-normalised"),
    ],
)
def test_values_that_were_spelled_in_another_way_are_understood(
    tmp_path: Path, method: Method[Any, Any], setting: str, earlier: str
) -> None:
    data = load_graph("karate")
    fitted = method.fit(data)
    fitted.save(tmp_path / "new")
    description, tensors = read_folder(tmp_path / "new")
    assert description["method"]["settings"][setting] == earlier.replace("ised", "ized")
    description["method"]["settings"][setting] = earlier
    write_folder(tmp_path / "old", description, tensors)
    loaded = gaug.load(tmp_path / "old")
    assert loaded.fitted.method == fitted.fitted.method
    assert torch.equal(loaded.predict_proba(data), fitted.predict_proba(data))


def test_a_saved_model_keeps_its_keys(tmp_path: Path) -> None:
    GAugM(predictor="gae", predictor_epochs=7, **SHORT).fit(load_graph("karate")).save(tmp_path)
    description, _ = read_folder(tmp_path)
    assert description["predictors"]["gae"]["predictor_epochs"] == 7
    assert description["facts"]["num_nodes"] == 34
    assert description["model"]["of_a_user"] is False


def test_a_method_that_is_not_registered_is_named(tmp_path: Path) -> None:
    GAugM(predictor="ra", **SHORT).fit(load_graph("karate")).save(tmp_path / "new")
    description, tensors = read_folder(tmp_path / "new")
    description["method"]["name"] = "theirs"
    write_folder(tmp_path / "old", description, tensors)
    with pytest.raises(DataError, match="does not fit together: Unknown method 'theirs'"):
        gaug.load(tmp_path / "old")
