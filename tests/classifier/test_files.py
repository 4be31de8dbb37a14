"""A saved classifier on disk: whole or refused, in words, and never unpickled."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gaug
from gaug import NoAugmentation, load_graph
from gaug.classifier.files import DESCRIPTION, FORMAT_VERSION, TENSORS, read_folder, write_folder
from gaug.errors import DataError

NUMBERS = {"a": torch.arange(3.0), "b": torch.tensor([[True]])}


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "karate"
    NoAugmentation(epochs=2, hidden=4).fit(load_graph("karate")).save(folder)
    return folder


def copy_of(saved: Path, target: Path) -> Path:
    target.mkdir(exist_ok=True)
    for name in (DESCRIPTION, TENSORS):
        (target / name).write_bytes((saved / name).read_bytes())
    return target


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_folder(tmp_path / "new", {"model": "ä", "n": [1, None]}, NUMBERS)
    facts, tensors = read_folder(tmp_path / "new")
    assert facts["model"] == "ä"
    assert facts["n"] == [1, None]
    assert facts["format_version"] == FORMAT_VERSION
    assert {name: value.tolist() for name, value in tensors.items()} == {
        name: value.tolist() for name, value in NUMBERS.items()
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new"]


def test_the_description_says_what_the_model_is(saved: Path) -> None:
    facts = json.loads((saved / DESCRIPTION).read_text())
    assert facts["model"]["name"] == "gcn"
    assert facts["model"]["settings"]["hidden"] == 4
    assert facts["method"] == {"name": "none", "settings": {}}
    assert facts["facts"]["in_features"] == 34
    assert facts["facts"]["class_names"] == ["0", "1"]
    assert len(facts["facts"]["graph_hash"]) == 12
    assert facts["gaug_version"]


def test_an_earlier_model_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", {"n": 1}, NUMBERS)
    write_folder(tmp_path / "m", {"n": 2}, NUMBERS)
    assert read_folder(tmp_path / "m")[0]["n"] == 2
    (tmp_path / "m" / "thesis.txt").write_text("mine")
    with pytest.raises(DataError, match=r"is not a saved model: it contains thesis\.txt"):
        write_folder(tmp_path / "m", {}, NUMBERS)
    with pytest.raises(DataError, match="is a file"):
        write_folder(tmp_path / "m" / "thesis.txt", {}, NUMBERS)
    assert (tmp_path / "m" / "thesis.txt").read_text() == "mine"


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, numbers: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_folder(tmp_path / "m", {}, NUMBERS)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_is_found_out(saved: Path, tmp_path: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([DESCRIPTION, TENSORS]))
    whole = (saved / name).read_bytes()
    place = data.draw(st.integers(0, len(whole) - 2))  # the end of the last line may go
    kind = data.draw(st.sampled_from(["cut", "flip", "more"]))
    damaged = {
        "cut": whole[:place],
        "flip": whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :],
        "more": whole + b"x",
    }[kind]
    folder = copy_of(saved, tmp_path / "damaged")
    (folder / name).write_bytes(damaged)
    with pytest.raises(DataError) as error:
        gaug.load(folder)
    assert "\n" not in str(error.value)


def test_what_is_no_saved_model_is_refused(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        gaug.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"it has no model.json"):
        gaug.load(tmp_path)
    foreign = copy_of(saved, tmp_path / "foreign")
    (foreign / DESCRIPTION).write_text('{"architectures": ["Bert"]}')
    with pytest.raises(DataError, match="was not written by gaug"):
        gaug.load(foreign)
    (foreign / DESCRIPTION).write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"model.json cannot be read"):
        gaug.load(foreign)


def rewritten(saved: Path, target: Path, **changes: Any) -> Path:
    """A model whose description was changed by somebody who knows the checksums."""
    facts, tensors = read_folder(saved)
    write_folder(target, facts | changes, tensors)
    return target


def test_a_newer_format_names_the_program_to_use(saved: Path, tmp_path: Path) -> None:
    newer = rewritten(saved, tmp_path / "n", format_version=2, gaug_version="9.1")
    with pytest.raises(DataError, match=r"format version 2; this gaug reads up to 1.*\(9.1\)"):
        gaug.load(newer)


def test_a_description_that_does_not_fit_its_weights_is_refused(
    saved: Path, tmp_path: Path
) -> None:
    """Also one that asks for a petabyte: nothing is allocated by its word."""
    facts, _ = read_folder(saved)
    for number, (key, value) in enumerate(
        [
            ("facts", facts["facts"] | {"in_features": 10**12}),
            ("facts", {"in_features": 3}),
            ("facts", facts["facts"] | {"class_names": ["a"]}),
            ("method", {"name": "none", "settings": {"strength": 3}}),
            ("method", {"name": "gaug-x", "settings": {}}),
            ("method", {"name": "bgcn", "settings": {}}),
            ("training", {"epochs": -1}),
        ]
    ):
        wrong = rewritten(saved, tmp_path / str(number), **{key: value})
        with pytest.raises(DataError, match="does not fit together"):
            gaug.load(wrong)


def test_nothing_is_unpickled(saved: Path, tmp_path: Path, trap: Any) -> None:
    folder = copy_of(saved, tmp_path / "trap")
    for name in (DESCRIPTION, TENSORS):
        (folder / name).write_bytes(pickle.dumps(trap))
        with pytest.raises(DataError):
            gaug.load(folder)
        copy_of(saved, folder)
    assert not trap.folder.exists()
