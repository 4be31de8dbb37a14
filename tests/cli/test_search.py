"""gaug search from the command line."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from gaug.runs.store import Store

KARATE = ("search", "karate", "--split", "stratified", "--set", "train_fraction=0.2")
SHORT = (*KARATE, "--set", "epochs=3", "--trials", 3, "--trial-runs", 1, "--runs", 2)


def test_json_has_every_trial_the_best_and_no_augmentation(gaug):
    result = gaug(*SHORT, "--method", "dropedge", "--json")
    assert result.code == 0
    found = json.loads(result.out)
    assert set(found) == {
        "best", "none", "settings", "verdict", "gain", "error", "confidence",
        "none_val_scores", "trials", "importances", "study",
    }  # fmt: skip
    assert set(found["importances"]) <= set(found["settings"])
    assert len(found["trials"]) == 3
    best = max(trial["val_mean"] for trial in found["trials"])
    # The second run of each is that with a new seed, which decides.
    assert found["gain"] == pytest.approx(best - found["none_val_scores"][1])
    chosen = next(trial for trial in found["trials"] if trial["settings"] == found["settings"])
    assert chosen["val_mean"] == best
    assert found["best"]["config"]["method"]["drop_fraction"] == found["settings"]["drop_fraction"]
    assert (found["best"]["method"], found["none"]["method"]) == ("dropedge", "none")
    assert found["best"]["runs"] == found["none"]["runs"] == 2


def test_the_same_command_again_trains_nothing(gaug, request):
    first = gaug(*SHORT, "--method", "dropedge", "--json").out
    request.getfixturevalue("no_training")
    assert gaug(*SHORT, "--method", "dropedge", "--json").out == first
    with closing(Store(None)) as store:
        assert {record.method for record in store.all()} == {"none", "dropedge"}


def test_a_person_reads_the_best_settings_and_how_to_use_them(gaug):
    result = gaug(*SHORT, "--method", "dropedge")
    assert result.code == 0
    assert "karate, gcn, method dropedge: 3 trials" in result.out
    assert "no augmentation" in result.out
    assert "2 runs" in result.out


def test_the_trials_are_drawn_and_the_best_is_marked(gaug, tmp_path):
    picture = tmp_path / "search.svg"
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        result = gaug(*SHORT, "--method", "dropedge", "--picture", picture)
    assert result.code == 0
    assert result.out.splitlines()[-1] == f"Picture: {picture}"
    text = picture.read_text(encoding="utf-8")
    assert "karate, gcn, split stratified-0" in text
    assert ">chosen<" in text
    names = set(re.findall(r"drop_fraction=[\d.]+", result.out))
    assert names
    assert names <= set(re.findall(r"drop_fraction=[\d.]+", text))


def test_a_picture_of_another_kind_is_refused_before_any_training(gaug, no_training):
    result = gaug(*SHORT, "--method", "dropedge", "--picture", "search.gif")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "must be .png, .svg or .pdf" in result.err


def test_what_is_printed_agrees_with_the_verdict(gaug):
    split = ("--split", "stratified", "--set", "train_fraction=0.3")
    found = gaug("search", "karate", *split, "--method", "dropedge", "--trials", 6,
                 "--trial-runs", 2, "--runs", 1)  # fmt: skip
    scores = re.findall(r"validation ([\d.]+) ± [\d.]+  (.+)", found.out)
    plain = next(float(score) for score, words in scores if words == "no augmentation")
    best = max(float(score) for score, words in scores if words != "no augmentation")
    assert ("scored above no augmentation" in found.out) == (best <= plain)


def test_ones_own_graph(gaug):
    clubs = Path(__file__).parents[2] / "examples" / "clubs"
    result = gaug(
        "search", clubs, "--split", "stratified", "--set", "train_fraction=0.4",
        "--set", "epochs=2", "--set", "predictor=jaccard", "--trials", 2, "--trial-runs", 1,
        "--runs", 1, "--json",
    )  # fmt: skip
    assert result.code == 0
    assert "predictor" not in json.loads(result.out)["settings"]
    assert "nodes for training" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "none"), "Method none has no settings to search"),
        (("--method", "auto"), "Method auto has no settings to search. Choose from: adaedge"),
        (("--trials", "0"), "trials must be at least 1, got 0"),
        (("--runs", "0"), "runs must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_searched_is_one_line(gaug, no_training, arguments, message):
    result = gaug("search", "karate", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1


def test_the_last_line_trains_the_best_settings_again(gaug):
    """Whatever was given stands in it beside what was found."""
    fixed = ("--set", "predictor=ra", "--set", "epochs=3", "--set", "train_fraction=0.2")
    searched = gaug(
        "search", "karate", "--split", "stratified", *fixed, "--seed", 1, "--trials", 4,
        "--trial-runs", 2, "--runs", 2, "--store", "sqlite://",
    )  # fmt: skip
    *_, test, _, last = searched.out.splitlines()
    words = "To train with them all the same: "
    assert last.startswith(words), "with this seed something is better, perhaps by chance"
    options = last.removeprefix(words).split()
    trained = gaug("train", "karate", *options, "--runs", 2, "--json")
    assert f"{json.loads(trained.out)['test_mean']:.1f}" in test


def test_a_stack_is_searched_over_the_settings_of_both_parts(gaug):
    fixed = ("--set", "predictor=ra", "--set", "gaug-m.add_fraction=0.1")
    result = gaug(*SHORT, *fixed, "--method", "gaug-m+dropedge", "--json")
    assert result.code == 0
    found = json.loads(result.out)
    assert set(found["settings"]) == {"remove_fraction", "allocation", "drop_fraction"}
    settings = found["best"]["config"]["method"]
    assert (settings["predictor"], settings["add_fraction"]) == ("ra", 0.1)
    assert len({trial["settings"]["drop_fraction"] for trial in found["trials"]}) > 1
