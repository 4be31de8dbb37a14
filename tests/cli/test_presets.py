"""Presets on the command line: found by a search, used by train."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gaug.choosing import search as searching
from gaug.choosing.search import SearchResult, search_settings
from gaug.presets import preset as presets
from gaug.presets.preset import read_presets
from gaug.runs.store import Store

SPLIT = ("--split", "stratified", "--set", "train_fraction=0.3")
SEARCH = ("search", "karate", "--method", "dropedge", "--trials", "2", "--trial-runs", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of the package's."""
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    return tmp_path


def found(gaug, folder: Path) -> presets.Preset:
    path = folder / "dropedge.toml"
    options = ("--runs", "1", "--set", "epochs=3", "--json", "--write-preset", path)
    result = gaug(*SEARCH, *SPLIT, *options)
    assert result.code == 0, result.err
    (preset,) = read_presets(path)
    settings = json.loads(result.out)["settings"]
    assert preset.settings == {"train_fraction": "0.3", "epochs": "3", **settings}
    return preset


def test_a_search_writes_a_preset_and_train_uses_it(gaug, folder):
    preset = found(gaug, folder)
    assert (preset.graph, preset.model, preset.split) == ("karate", "gcn", "stratified-0")
    assert preset.trials == 2
    assert preset.command == f"gaug {' '.join((*SEARCH, *SPLIT))} --runs 1 --set epochs=3 --json"
    command = ("train", "karate", "--method", "dropedge", "--split", "stratified", "--runs", "1")
    with_it = gaug(*command, "--preset", "--json")
    by_hand = gaug(*command, *(part for text in preset.texts for part in ("--set", text)), "--json")
    configs = [json.loads(result.out)["config"] for result in (with_it, by_hand)]
    assert configs[0] == configs[1]
    assert f"gaug: Preset {' '.join(preset.texts)}: the best of 2" in with_it.err
    changed = gaug(*command, "--preset", "--set", "epochs=2", "--json", "--quiet")
    assert json.loads(changed.out)["config"]["training"]["epochs"] == 2
    assert changed.err == ""


def test_a_search_begins_at_the_preset_of_another_model(gaug, folder):
    preset = found(gaug, folder)
    options = ("--model", "gsage", "--begin-with", "gcn", "--trials", "1", "--runs", "1", "--json")
    result = gaug(*SEARCH, *SPLIT, *options)
    assert result.code == 0, result.err
    (trial,) = json.loads(result.out)["trials"]
    assert trial["settings"]["drop_fraction"] == preset.settings["drop_fraction"]


def test_what_is_found_from_a_preset_has_its_settings_that_are_not_searched(gaug, folder):
    found(gaug, folder)
    path = folder / "other.toml"
    options = ("--model", "gsage", "--begin-with", "gcn", "--runs", "1", "--write-preset", path)
    result = gaug(*SEARCH, "--split", "stratified", "--set", "train_fraction = 0.4", *options)
    assert result.code == 0, result.err
    (preset,) = read_presets(path)
    assert preset.settings["epochs"] == "3"
    assert preset.settings["train_fraction"] == "0.4"
    assert preset.settings.keys() == {"epochs", "train_fraction", "drop_fraction"}


def test_settings_that_did_not_run_again_are_no_preset_and_are_not_tested(
    gaug, folder, monkeypatch
):
    def without_finalists(*arguments: Any, **options: Any) -> SearchResult:
        return search_settings(*arguments, **{**options, "finalists": 0})

    monkeypatch.setattr(searching, "search_settings", without_finalists)
    path = folder / "dropedge.toml"
    options = ("--runs", "1", "--set", "epochs=3", "--write-preset", path)
    result = gaug(*SEARCH, *SPLIT, *options)
    assert result.code == 1
    assert "No preset can be written: the best settings did not run again" in result.err
    assert not path.exists()
    with closing(Store(None)) as store:
        assert {record.test_score for record in store.all()} == {None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train", "karate", "--preset", "--method", "gaug-m"],
            "There is no preset for gaug-m with gcn on karate. There is none for gaug-m yet.",
        ),
        ([*SEARCH, "--begin-with", "gat"], "There is no preset for dropedge with gat on karate."),
        ([*SEARCH, "--write-preset", "a.json"], "A file of presets must end in .toml, got a.json."),
        (
            [*SEARCH, "--write-preset", "a.toml", "--finalists", "0"],
            "A preset has settings that ran again with new seeds, got --finalists 0. Leave it out.",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_any_training(gaug, no_training, arguments, message):
    result = gaug(*arguments)
    assert result.code == 2
    assert result.err.startswith(f"gaug: {message}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("no toml", 1, "must be a file of presets"),
        ("method = 'gaug-m'\n[[preset]]\ngraph = 'cora'\nmodel = 'gcn'\nsplit = 'public'\n"
        "validation = 1\ntrials = 4\ncommand = ''\nsettings = {}",
        2, "has presets of gaug-m, not of dropedge. Give another file."),
    ],
)  # fmt: skip
def test_a_file_that_takes_no_preset_is_refused_before_any_training(
    gaug, folder, no_training, text, code, message
):
    path = folder / "there.toml"
    path.write_text(text, encoding="utf-8")
    result = gaug(*SEARCH, "--write-preset", path)
    assert (result.code, message in result.err) == (code, True)
    assert result.err.count("\n") == 1
    assert path.read_text(encoding="utf-8") == text
