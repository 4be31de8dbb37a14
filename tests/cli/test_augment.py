"""gaug augment writes the better graph whole, or nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.data.files.folder import write_graph_folder
from gaug.data.opening import open_graph
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_homophily

FILES = [
    "added.csv",
    "edges.csv",
    "features.npz",
    "graph.pt",
    "labels.csv",
    "nodes.csv",
    "removed.csv",
    "report.html",
    "scores.npz",
    "scores.png",
    "summary.json",
]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pairs_of(rows: list[dict[str, str]]) -> set[tuple[int, int]]:
    return {(int(row["source"]), int(row["target"])) for row in rows}


def pair_list(rows: list[dict[str, str]]) -> list[tuple[int, int]]:
    return [(int(row["source"]), int(row["target"])) for row in rows]


def test_a_name_with_dollar_signs_is_no_formula(gaug, tmp_path: Path) -> None:
    graph, out = tmp_path / "cash$_$flow", tmp_path / "better"
    graph.mkdir()
    write_graph_folder(graph, open_graph("karate"))
    result = gaug("augment", graph, "--out", out, "--set", "predictor=ra", "--json")
    assert result.code == 0
    assert sorted(path.name for path in out.iterdir()) == FILES


def test_the_files_tell_one_story(gaug, tmp_path: Path) -> None:
    out = tmp_path / "better"
    settings = (
        "--set",
        "predictor=ra",
        "--set",
        "add_fraction=0.2",
        "--set",
        "remove_fraction=0.1",
    )
    code, text, _ = gaug("augment", "karate", "--out", out, *settings, "--json")
    assert code == 0
    assert sorted(path.name for path in out.iterdir()) == FILES
    data = load_graph("karate")
    before = pairs_of(
        [{"source": u, "target": v} for u, v in undirected_pairs(data.edge_index).t().tolist()]
    )
    added, removed = read(out / "added.csv"), read(out / "removed.csv")
    after = pairs_of(read(out / "edges.csv"))
    assert pairs_of(added) == after - before
    assert pairs_of(removed) == before - after
    assert (len(added), len(removed)) == (15, 7)
    scores = [float(row["score"]) for row in added]
    assert scores == sorted(scores, reverse=True)
    graph = Data.from_dict(torch.load(out / "graph.pt", weights_only=True))
    assert {tuple(pair) for pair in undirected_pairs(graph.edge_index).t().tolist()} == after
    summary = json.loads(text)
    assert summary["after"]["edges"] == len(after) == 86
    assert summary["after"]["edge_homophily"] == edge_homophily(graph.edge_index, data.y)
    assert json.loads((out / "summary.json").read_text()) == {
        key: value for key, value in summary.items() if key != "out"
    }
    assert torch.equal(graph.added_edges.t(), torch.tensor([*map(list, pair_list(added))]))
    assert summary["made_by"]["graph"] == "karate"
    assert summary["made_by"]["settings"]["predictor"] == "ra"


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(gaug, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = gaug("augment", "karate", "--out", tmp_path, "--set", "predictor=ra")
    assert code == 1
    assert "is not empty. Use another one. --force" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_force_replaces_an_earlier_result(gaug, tmp_path: Path) -> None:
    out = tmp_path / "better"
    out.mkdir()
    (out / "edges.csv").write_text("old")
    code, _, _ = gaug("augment", "karate", "--out", out, "--set", "predictor=ra", "--force")
    assert code == 0
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert (out / "edges.csv").read_text() != "old"


def test_force_deletes_nothing_else(gaug, tmp_path: Path) -> None:
    out = tmp_path / "better"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    code, _, err = gaug("augment", "karate", "--out", out, "--set", "predictor=ra", "--force")
    assert code == 1
    assert "thesis.txt" in err
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_scores_that_all_tie_are_told(gaug, tmp_path: Path) -> None:
    """The club's features are one-hot: no two nodes are alike in any."""
    code, text, _ = gaug(
        "augment", "karate", "--out", tmp_path / "b", "--set", "predictor=features"
    )
    assert code == 0
    assert "23 of them have the same score" in text


def test_nodes_that_lose_all_edges_are_told(gaug, tmp_path: Path) -> None:
    harsh = ("--set", "predictor=ra", "--set", "add_fraction=0", "--set", "remove_fraction=0.6")
    result = gaug("augment", "karate", "--out", tmp_path / "harsh", *harsh)
    with (tmp_path / "harsh" / "edges.csv").open() as file:
        kept = [row[:2] for row in csv.reader(file)][1:]
    lost = 34 - len({node for pair in kept for node in pair})
    assert lost > 1
    assert f"{lost} nodes lost all edges; a smaller remove_fraction leaves more." in result.out
    mild = gaug("augment", "karate", "--out", tmp_path / "mild", *harsh[:4])
    assert "lost all edges" not in mild.out


def test_huge_scores_have_a_picture(gaug, tmp_path: Path) -> None:
    settings = ("--set", "predictor=gae", "--set", "predictor_learning_rate=1e6")
    code, _, err = gaug("augment", "karate", "--out", tmp_path / "b", *settings)
    assert (code, err.count("Traceback")) == (0, 0)


def test_nothing_is_left_behind_when_it_fails(
    gaug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    out = tmp_path / "better"
    code, _, err = gaug("augment", "karate", "--out", out, "--set", "predictor=ra")
    assert code == 1
    assert "cannot be written: No space left on device" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["--set", "predictor=gea"], "Unknown predictor 'gea'"),
        (["--set", "add_fraction=2"], "add_fraction must be in [0, 1], got 2"),
        (["--set", "predictor=omniscient"], "not a method"),
        (["--set", "predictor=-1*gae"], "'gae' must be above 0 and finite, got -1"),
        (["--set", "predictor=gae+inf*features"], "'features' must be above 0 and finite, got inf"),
        (["--set", "epochs=3"], "has no effect on 'gaug augment'"),
        (["--set", "inference=original"], "inference=original has no effect"),
        (["--set", "rounds=2"], "rounds=2 needs a classifier, and 'gaug augment' trains none"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_written(
    gaug, tmp_path: Path, settings: list[str], message: str
) -> None:
    out = tmp_path / "better"
    code, _, err = gaug("augment", "karate", "--out", out, *settings)
    assert code == 2
    assert message in err
    assert not out.exists()
