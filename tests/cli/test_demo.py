from __future__ import annotations

import json

import pytest

from gaug.runs.summary import mean_and_spread
from tests.studies.test_figure1 import reference_scores

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PAPER = ("92.4", "90.4", "91.0", "98.6", "95.6")


def test_it_draws_the_picture_and_prints_the_paper_s_figures_beside_ours(gaug, tmp_path):
    path = tmp_path / "made" / "figure.png"
    result = gaug("demo", "--runs", "2", "--out", str(path))
    assert result.code == 0
    assert path.read_bytes().startswith(PNG_SIGNATURE)
    assert [file.name for file in path.parent.iterdir()] == ["figure.png"]
    for number in PAPER:
        assert number in result.out
    assert str(path) in result.out
    for name, (_, original) in reference_scores(2, seed=0).items():
        (row,) = [line for line in result.out.splitlines() if line.startswith(f"| {name} |")]
        assert mean_and_spread(original) in row


def test_json_gives_every_score_and_the_paper_s(gaug, tmp_path):
    path = tmp_path / "figure.svg"
    result = gaug("demo", "--runs", "2", "--seed", "5", "--out", str(path), "--json")
    assert result.code == 0
    report = json.loads(result.out)
    assert (report["runs"], report["picture"]) == (2, str(path))
    rows = {row["graph"]: row for row in report["variants"]}
    assert {name: row["paper_original"] for name, row in rows.items()} == {
        "original": 92.4,
        "random": 91.0,
        "gaug-m": 94.3,
        "omniscient": 95.6,
    }
    for name, (modified, original) in reference_scores(2, seed=5).items():
        assert rows[name.lower()]["original"] == original
        assert rows[name.lower()]["modified"] == modified


def test_it_leaves_nothing_but_its_picture(gaug, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert gaug("demo", "--runs", "1").code == 0
    assert [file.name for file in tmp_path.iterdir()] == ["gaug-demo.png"]


@pytest.mark.parametrize("name", ["figure.gif", "figure", "figure.png.zip"])
def test_an_unknown_ending_is_refused_before_any_training(gaug, tmp_path, no_training, name):
    result = gaug("demo", "--out", str(tmp_path / name))
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert ".png, .svg or .pdf" in result.err
    assert name in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written_is_one_line_and_nothing_is_left(gaug, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    path = blocker / "figure.png"
    result = gaug("demo", "--runs", "1", "--out", str(path))
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert str(path) in result.err
    assert list(tmp_path.iterdir()) == [blocker]
    assert blocker.read_text() == "mine"


def test_a_folder_in_place_of_the_picture_is_one_line_and_nothing_is_left(gaug, tmp_path):
    path = tmp_path / "figure.png"
    path.mkdir()
    result = gaug("demo", "--runs", "1", "--out", str(path))
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert str(path) in result.err
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--runs", "0", "runs must be at least 1, got 0."),
        ("--seed", "-1", "seed must be at least 0, got -1."),
    ],
)
def test_numbers_out_of_range_are_refused(gaug, tmp_path, no_training, option, value, message):
    result = gaug("demo", option, value, "--out", str(tmp_path / "figure.png"))
    assert (result.code, result.err) == (2, f"gaug: {message}\n")
