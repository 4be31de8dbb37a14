from __future__ import annotations

import json

import pytest
import torch

from gaug import SyntheticConfig, planted_graph

SHORT = ("--set", "epochs=3", "--runs", "1")
SPLIT = ("--split", "stratified", "--set", "train_fraction=0.3")


def test_json_is_alone_on_standard_output_and_a_picture_is_drawn(gaug, tmp_path):
    picture = tmp_path / "karate.svg"
    result = gaug("inspect", "karate", *SPLIT, *SHORT, "--json", "--quiet", "--picture", picture)
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    assert (found["graph"], found["nodes"], found["edges"]) == ("karate", 34, 78)
    assert found["labels"]["counts"] == {"0": 17, "1": 17}
    assert set(found["validation"]) == {"features", "edges", "places", "guess", "nodes"}
    assert found["advice"]["kind"] in ("nothing", "roles", "features", "edges", "unclear")
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


def test_a_graph_of_ones_own_without_labels(gaug, tmp_path):
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nd,e\n")
    result = gaug("inspect", "--edges", tmp_path / "edges.csv", "--quiet")
    assert (result.code, result.err) == (0, "")
    assert "2, the largest with 3 nodes (60%)" in result.out
    assert "The graph has no labels" in result.out


def test_too_few_labels_are_told(gaug, tmp_path):
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nd,e\n")
    (tmp_path / "labels.csv").write_text("node,class\na,x\nd,y\n")
    result = gaug("inspect", tmp_path, "--quiet")
    assert result.code == 0
    assert "x: 1, y: 1" in result.out
    assert "cannot be evaluated" in result.out


@pytest.mark.usefixtures("no_training")
def test_a_quick_look_trains_nothing(gaug):
    result = gaug("inspect", "karate", "--quick")
    assert (result.code, result.err) == (0, "")
    assert "mean 4.6, median 3, largest 17" in result.out
    assert "No model was trained" in result.out


def test_the_command_line_of_what_is_worth_a_try_is_told(gaug, tmp_path):
    config = SyntheticConfig(
        num_nodes=150, num_classes=3, degree=6.0, homophily=0.33, feature_signal=0.9,
        feature_density=0.1,
    )  # fmt: skip
    torch.save(planted_graph(config), tmp_path / "noisy.pt")
    split = ("--split", "stratified", "--set", "train_fraction=0.3", "--set", "val_fraction=0.4")
    noisy = (tmp_path / "noisy.pt", *split, "--set", "epochs=30", "--quiet")
    result = gaug("inspect", *noisy)
    (line,) = (line for line in result.out.splitlines() if line.startswith("  try "))
    assert line.startswith("  try --method gaug-m --set predictor=features")
    options = line.removeprefix("  try ").split()
    assert gaug("train", *noisy, *options, "--runs", "1").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["karate", "--picture", "p.gif"], "must be .png, .svg or .pdf"),
        (["karate", "--runs", "0"], "runs must be at least 1"),
        (["karate", "--set", "hidden=8"], "A setting of a model has no effect"),
        (["karate", "--set", "drop_fraction=0.1"], "goes with method dropedge"),
        (["karat"], "Did you mean 'karate'?"),
    ],
)
def test_what_is_wrong_is_one_line(gaug, arguments, message):
    result = gaug("inspect", *arguments)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err
