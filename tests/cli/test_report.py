"""gaug report, gaug explain, and the pages of gaug inspect and gaug fit."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import shlex
from pathlib import Path

import pytest

from gaug.data.files.folder import write_rows

HOSTILE = "</script><script>alert(1)</script>"


def page_data(path: Path) -> dict:
    """What the script of a page draws."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


@pytest.fixture
def better(gaug, tmp_path: Path) -> Path:
    out = tmp_path / "better"
    settings = (
        "--set",
        "predictor=ra",
        "--set",
        "add_fraction=0.2",
        "--set",
        "remove_fraction=0.1",
    )
    assert gaug("augment", "karate", "--out", out, *settings).code == 0
    return out


def test_the_page_of_a_folder_is_made_anew(gaug, better: Path, tmp_path: Path) -> None:
    first = page_data(better / "report.html")
    (better / "report.html").unlink()
    code, text, _ = gaug("report", better)
    assert (code, "report.html" in text) == (0, True)
    assert page_data(better / "report.html") == first
    assert gaug("report", better, "--out", tmp_path / "elsewhere.html").code == 0
    assert page_data(tmp_path / "elsewhere.html") == first


def test_the_drawing_has_exactly_the_edges_of_the_files(better: Path) -> None:
    graph = page_data(better / "report.html")["graph"]
    drawn: dict[str, set[tuple[int, int]]] = {"0": set(), "1": set(), "2": set()}
    place = 0
    for u, count in enumerate(graph["counts"]):
        v = u
        for _ in range(count):
            v += graph["gaps"][place]
            drawn[graph["states"][place]].add((u, v))
            place += 1
    for name, pairs in (
        ("added.csv", drawn["1"]),
        ("removed.csv", drawn["2"]),
        ("edges.csv", drawn["0"] | drawn["1"]),
    ):
        with (better / name).open(encoding="utf-8") as file:
            rows = {(int(row["source"]), int(row["target"])) for row in csv.DictReader(file)}
        assert pairs == rows, name


def test_explain_prints_the_reasons(gaug, better: Path) -> None:
    code, text, _ = gaug("explain", better, "33", "2")
    assert code == 0
    assert text.startswith("2 – 33: added\n")
    assert "number 1 of 15 added" in text
    found = json.loads(gaug("explain", better, "2", "33", "--json").out)
    assert (found["action"], found["num_common"]) == ("added", 6)
    assert gaug("explain", better, "2", "99").err == "gaug: There is no node '99' in karate.\n"


def test_the_page_of_the_store_is_not_overwritten(gaug, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    split = ("--split", "stratified", "--set", "train_fraction=0.3", "--set", "epochs=3")
    assert gaug("train", "karate", *split, "--runs", "2").code == 0
    assert gaug("report", "--out", out).code == 0
    (row,) = page_data(out)["experiments"]["rows"]
    assert len(row[8]) == 2
    before = out.read_bytes()
    code, _, error = gaug("report", "--out", out)
    assert (code, error) == (
        1,
        f"gaug: There is already a file {out}. Use another name, or --force.\n",
    )
    assert out.read_bytes() == before
    assert gaug("report", "--out", out, "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "Give a folder that 'gaug augment' wrote, or --out FILE.html."),
        (("--out", "report.pdf"), 2, "The page must be .html, got 'report.pdf'."),
        (("--out", "report.html"), 1, "There is no store"),
        (("nowhere",), 1, "There is no folder nowhere."),
        (("nowhere", "--store", "a.sqlite"), 2, "--store has no effect"),
    ],
)
def test_bad_requests_are_told_in_a_line(
    gaug, arguments, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = gaug("report", *arguments)
    assert result.code == code
    assert words in result.err
    assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_an_earlier_version_is_told(gaug, better: Path) -> None:
    (better / "scores.npz").unlink()
    assert "it has no scores.npz" in gaug("report", better).err


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_without_permission_nothing_is_left_behind(gaug, better: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    code, _, error = gaug("report", better, "--out", locked / "report.html")
    assert (code, "cannot be written: Permission denied" in error) == (1, True)


def test_a_page_in_a_place_that_is_no_folder_is_told(gaug, better: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, error = gaug("report", better, "--out", tmp_path / "file" / "report.html")
    assert code == 1
    assert "cannot be written" in error


def test_a_graph_without_features_labels_or_names_has_a_page(gaug, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    graph.mkdir()
    write_rows(graph / "edges.csv", ["source", "target"], [(i, (i + 1) % 9) for i in range(9)])
    out = tmp_path / "better"
    assert gaug("augment", graph, "--out", out, "--set", "predictor=ra", "-q").code == 0
    found = page_data(out / "report.html")["graph"]
    assert (found["names"], found["classes"]) == (None, None)
    assert gaug("report", out).code == 0
    assert gaug("inspect", graph, "--out", tmp_path / "page.html").code == 0
    assert "The graph has no labels" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_long_and_hostile_names_are_cut_and_escaped(gaug, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    graph.mkdir()
    names = [HOSTILE, "x" * 10_000, *"abcdefgh"]
    pairs = [(names[i], names[(i + step) % 10]) for i in range(10) for step in (1, 2)]
    write_rows(graph / "edges.csv", ["source", "target"], pairs)
    classes = [HOSTILE, "y" * 10_000]
    write_rows(
        graph / "labels.csv",
        ["node", "label"],
        [(name, classes[i % 2]) for i, name in enumerate(names)],
    )
    out = tmp_path / "better"
    settings = (
        "--set",
        "predictor=ra",
        "--set",
        "add_fraction=0.3",
        "--set",
        "remove_fraction=0.2",
    )
    assert gaug("augment", graph, "--out", out, *settings, "-q").code == 0
    text = (out / "report.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "x" * 201 not in text
    assert "y" * 201 not in text
    code, told, _ = gaug("explain", out, HOSTILE, "x" * 10_000)
    assert code == 0
    assert "x" * 59 + "…" in told
    assert "y" * 59 + "…" in told
    assert max(map(len, told.splitlines())) < 500


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_footer_has_the_command_that_makes_the_page_again(gaug, tmp_path: Path, force) -> None:
    out = tmp_path / "a page.html"
    assert gaug("inspect", "karate", "--quick", *force, "--out", out, "--quiet").code == 0
    command = html.unescape(
        re.findall(r"<footer>.*<pre><code>(.*?)</code>", out.read_text("utf-8"))[0]
    )
    assert command == f"gaug inspect karate --quick --out '{out}'"
    out.unlink()
    assert gaug(*shlex.split(command)[1:]).code == 0
    assert out.exists()


def test_inspect_writes_a_page_with_the_same_numbers(gaug, tmp_path: Path) -> None:
    out = tmp_path / "karate.html"
    code, text, _ = gaug("inspect", "karate", "--quick", "--out", out, "--json")
    assert code == 0
    charts = page_data(out)["charts"]
    bars = {row["name"]: row["value"] for row in charts["classes"]["rows"]}
    assert bars == json.loads(text)["labels"]["counts"] == {"0": 17, "1": 17}
    assert sum(charts["degrees"]["series"][0]["y"]) == 34
    assert "already a file" in gaug("inspect", "karate", "--quick", "--out", out).err


def test_fit_writes_a_card_that_goes_with_the_model(gaug, tmp_path: Path) -> None:
    out = tmp_path / "model"
    arguments = ("fit", "karate", "--out", out, "--set", "epochs=5", "-q")
    assert gaug(*arguments).code == 0
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "There were no test nodes" in text
    assert "exactly one of 2 classes: 0, 1." in text
    assert gaug("predict", out, "karate", "--out", tmp_path / "predictions.csv").code == 0
    assert gaug(*arguments, "--force").code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "model.json",
        "report.html",
        "weights.safetensors",
    ]
