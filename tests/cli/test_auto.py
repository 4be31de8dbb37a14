"""--method auto of gaug train and gaug fit."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import pytest
import torch

import gaug as library
from gaug import SyntheticConfig, planted_graph
from gaug.choosing.candidates import CANDIDATES
from gaug.runs.store import Store

SHORT = ("--set", "epochs=12", "--quiet")
SPLIT = ("--split", "stratified", "--set", "train_fraction=0.3", "--set", "val_fraction=0.4")


@pytest.fixture
def noisy(tmp_path) -> str:
    """A saved graph whose features know the classes, and whose edges do not."""
    config = SyntheticConfig(
        num_nodes=150, num_classes=3, degree=6.0, homophily=0.33, feature_signal=0.9,
        feature_density=0.1,
    )  # fmt: skip
    data = planted_graph(config)
    del data.ideal_edge_index
    torch.save(data, tmp_path / "noisy.pt")
    return str(tmp_path / "noisy.pt")


def test_train_goes_on_with_the_chosen_method(gaug, noisy):
    arguments = ("train", noisy, "--method", "auto", *SPLIT, *SHORT, "--runs", "2")
    result = gaug(*arguments, "--json")
    assert (result.code, result.err) == (0, "")
    summary = json.loads(result.out)
    trials = {trial["name"]: trial for trial in summary["auto"]["trials"]}
    assert {"none", *map(str, CANDIDATES)} <= set(trials)
    chosen = summary["auto"]["chosen"]
    assert chosen.startswith("gaug-m predictor=features")
    assert summary["config"]["method"] == trials[chosen]["settings"]
    assert trials[chosen]["gain"]["confidence"] >= 0.95
    # The runs are those of the chosen method, as if it had been asked for.
    records = {record.id: record for record in Store().all()}
    runs = [records.pop(number) for number in summary["record_ids"]]
    assert [record.method for record in runs] == ["gaug-m", "gaug-m"]
    # The other recorded runs are trials without a test score.
    assert all(record.test_score is None for record in records.values())
    given = [part for text in chosen.split()[1:] for part in ("--set", text)]
    plain = ("train", noisy, "--method", "gaug-m", *given, *SPLIT, *SHORT, "--runs", "2")
    again = gaug(*plain, "--resume", "--json")
    assert json.loads(again.out)["record_ids"] == summary["record_ids"]
    assert len(Store().all()) == len(records) + 2


def test_words_are_a_table_a_verdict_and_the_ordinary_summary(gaug):
    result = gaug(
        "train",
        "karate",
        "--method",
        "auto",
        *SPLIT,
        *SHORT,
        "--runs",
        "1",
        "--time-budget",
        "1e-9",
    )
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].split() == ["tried", "runs", "validation", "gain", "time"]
    assert lines[1].startswith("none")
    assert sum(line.startswith("not tried: ") for line in lines) == len(CANDIDATES)
    assert "Only the trial without augmentation was finished." in lines
    assert "The graph is left unchanged." in lines
    assert "karate, gcn, method none, split stratified-0, 1 run" in lines


def test_fit_saves_the_chosen_method(gaug, noisy, tmp_path):
    result = gaug("fit", noisy, "--out", tmp_path / "model", "--method", "auto", *SHORT, "--json")
    assert (result.code, result.err) == (0, "")
    summary = json.loads(result.out)
    (chosen,) = (
        trial for trial in summary["auto"]["trials"] if trial["name"] == summary["auto"]["chosen"]
    )
    assert summary["method"] == chosen["method"] == "gaug-m"
    assert library.load(tmp_path / "model").fitted.method.name == "gaug-m"


def test_a_budget_of_one_second_on_a_graph_without_features(gaug, tmp_path):
    edges = [(node, (node + step) % 40) for node in range(40) for step in (1, 2)]
    (tmp_path / "edges.csv").write_text("".join(f"{a},{b}\n" for a, b in edges))
    labels = "".join(f"{node},{node // 20}\n" for node in range(40))
    (tmp_path / "labels.csv").write_text(f"node,class\n{labels}")
    arguments = ("train", tmp_path, "--method", "auto", "--time-budget", "1", *SHORT)
    result = gaug(*arguments, "--runs", "1", "--json")
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)["auto"]
    # Whatever there was time for: each candidate has scores or a reason.
    plain, *others = found["trials"]
    assert plain["val_scores"]
    assert {str(candidate) for candidate in CANDIDATES} <= {trial["name"] for trial in others}
    assert all(trial["val_scores"] or trial["failure"] for trial in others)


@pytest.mark.parametrize("command", ["train", "fit"])
def test_the_race_is_drawn(gaug, tmp_path, command):
    picture = tmp_path / "race.svg"
    out = ("--out", tmp_path / "model") if command == "fit" else ("--runs", "1", *SPLIT)
    arguments = (command, "karate", "--method", "auto", "--picture", picture, *out, *SHORT)
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        result = gaug(*arguments, "--time-budget", "1e-9")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[-1] == f"Picture: {picture}"
    text = picture.read_text(encoding="utf-8")
    assert "karate, gcn, split" in text
    verdict = "Only the trial without augmentation was finished."
    assert verdict in text
    assert verdict in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--picture", "race.png"], "--picture goes with --method auto."),
        (["--method", "auto", "--picture", "race.gif"], "must be .png, .svg or .pdf"),
        (["--time-budget", "5"], "--time-budget goes with --method auto."),
        (["--method", "auto", "--time-budget", "0"], "time_budget must be above 0"),
        (["--method", "auto", "--model", "mlp"], "an mlp does not use"),
        (["--method", "auto", "--set", "drop_fraction=0.1"], "goes with method dropedge"),
    ],
)
@pytest.mark.parametrize("command", ["train", "fit"])
def test_what_makes_no_sense_is_one_line(gaug, tmp_path, command, arguments, message):
    out = ["--out", tmp_path / "model"] if command == "fit" else []
    result = gaug(command, "karate", *out, *arguments)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err


def test_what_is_added_to_the_training_stands_beside_the_method(gaug, tmp_path):
    added = ("--set", "students=1", "--set", "consistency_passes=2")
    trained = gaug("train", "karate", *SPLIT, *SHORT, *added, "--runs", 1, "--store", "sqlite://")
    words = "karate, gcn, method none students=1 consistency_passes=2, split"
    assert trained.out.startswith(words)
    fitted = gaug("fit", "karate", *SPLIT, *SHORT, *added, "--out", tmp_path / "model")
    assert fitted.out.startswith(words)
