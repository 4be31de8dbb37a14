"""A graph of one's own goes wherever the name of a graph goes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

import gaug as gaug_library
from gaug.data.opening import open_graph, split_graph
from gaug.graph.fingerprint import graph_hash
from gaug.runs.store import Store

QUICK = ("--runs", 1, "--set", "epochs=3", "--split", "stratified", "--set", "train_fraction=0.3")


@pytest.fixture
def clubs(tmp_path: Path) -> Path:
    """Two rings of ten people, a club each, with ids that need quotes."""
    folder = tmp_path / "clubs"
    folder.mkdir()
    people = [f"p, {i}" for i in range(20)]
    edges = [(people[i], people[i // 10 * 10 + (i + 1) % 10]) for i in range(20)]
    edges.append((people[0], people[10]))
    tables: dict[str, list[tuple[object, ...]]] = {
        "edges": [("one", "other"), *edges],
        "features": [("who", "a", "b"), *((p, i // 10, i % 3) for i, p in enumerate(people))],
        "labels": [("who", "club"), *((p, "xy"[i // 10]) for i, p in enumerate(people))],
        "split": [
            ("who", "split"),
            *((p, ("train", "val", "test")[i % 3]) for i, p in enumerate(people)),
        ],
    }
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return folder


def test_train_takes_a_folder_and_its_split(gaug, clubs: Path) -> None:
    code, out, err = gaug("train", clubs, "--runs", 1, "--set", "epochs=3", "--json")
    assert code == 0
    summary = json.loads(out)
    assert (summary["graph"], summary["split"]["name"]) == ("clubs", "public")
    assert "clubs: Made the graph undirected" in err
    assert "clubs: 7 nodes for training, 7 for validation and 6 for testing (split public)." in err
    (record,) = Store().all()
    assert (record.graph, record.graph_hash) == ("clubs", graph_hash(open_graph(clubs).data))


def test_single_files_give_the_same_runs_as_their_folder(gaug, clubs: Path) -> None:
    files = [
        x for kind in ("edges", "features", "labels") for x in (f"--{kind}", clubs / f"{kind}.csv")
    ]
    one = json.loads(gaug("train", clubs, *QUICK, "--json").out)
    other = json.loads(gaug("train", *files, *QUICK, "--json").out)
    assert one["graph"] == other["graph"] == "clubs"
    assert one["test_mean"] == other["test_mean"]
    assert one["split"] == other["split"]


def test_a_split_file_in_the_users_ids(gaug, clubs: Path) -> None:
    code, out, _ = gaug(
        "train", clubs, "--runs", 1, "--set", "epochs=3", "--json", "--split", clubs / "split.csv"
    )
    assert code == 0
    graph = open_graph(clubs)
    assert json.loads(out)["split"]["hash"] == split_graph(graph).hash


def test_ids_features_labels_and_masks_survive_augment(gaug, clubs: Path, tmp_path: Path) -> None:
    out = tmp_path / "better"
    settings = ("--set", "predictor=ra", "--set", "add_fraction=0.2", "--quiet")
    code, _, err = gaug("augment", clubs, "--out", out, *settings)
    assert (code, err) == (0, "")
    before, after, saved = open_graph(clubs), open_graph(out), open_graph(out / "graph.pt")
    for read in (after, saved):
        assert read.ids == before.ids
        assert (read.class_names, read.feature_names) == (
            before.class_names,
            before.feature_names,
        )
        assert torch.equal(read.data.x, before.data.x)
        assert torch.equal(read.data.y, before.data.y)
        assert split_graph(read).hash == split_graph(before).hash
    assert torch.equal(after.data.edge_index, saved.data.edge_index)
    with (out / "added.csv").open(newline="") as file:
        added = {frozenset((row["source"], row["target"])) for row in csv.DictReader(file)}
    assert len(added) == 4
    pairs = {
        name: {frozenset((g.ids[u], g.ids[v])) for u, v in g.data.edge_index.t().tolist()}
        for name, g in (("before", before), ("after", after))
    }
    assert added == pairs["after"] - pairs["before"]


def test_augment_of_what_augment_wrote(gaug, clubs: Path, tmp_path: Path) -> None:
    settings = ("--set", "predictor=ra", "--set", "remove_fraction=0", "--set", "add_fraction=0")
    for source, target in ((clubs, "once"), (tmp_path / "once", "twice")):
        assert gaug("augment", source, "--out", tmp_path / target, *settings).code == 0
    for name in ("edges.csv", "nodes.csv", "labels.csv", "split.csv"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes()


def test_a_graph_is_not_replaced_by_its_better_self(gaug, clubs: Path) -> None:
    for name in ("features.csv", "split.csv", "labels.csv"):
        (clubs / name).unlink()
    code, _, err = gaug("augment", clubs, "--out", clubs, "--force", "--set", "predictor=ra")
    assert (code, "holds the graph itself" in err) == (2, True)
    assert [path.name for path in clubs.iterdir()] == ["edges.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["clubs/edges.csv"], "not a table of edges alone. Use --edges FILE."),
        (["empty"], "or name a file of edges. Use --edges FILE."),
        (["two"], "name the one that counts. Use --edges FILE."),
        (["--edges", "clubs/edges.csv"], "Give it labels. Use --labels FILE."),
        (["saved.pt", "--labels", "names.csv"], "beside it. Leave out --edges, --features,"),
        (["saved.pt", "--column", "label=y"], "no columns to choose from. Leave out --column."),
        (["clubs", "--labels", "clubs/features.csv"], "choose one. Use --column label=NAME."),
        (["clubs", "--features", "names.csv"], "into numbers. Use --column drop=NAME."),
        (["clubs", "--column", "source=1", "--column", "target=1"],
         "Name both. Use --column source=NAME and --column target=NAME."),
        (["clubs", "--split", "random", "--set", "train_fraction=0.01"],
         "give a split of your own. Use --set NAME=VALUE or --split FILE."),
        (["cora", "--data-root", "nowhere"], "to make it. Or use --data-root FOLDER."),
    ],
)  # fmt: skip
def test_the_option_that_helps_is_named(
    gaug, clubs: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    folder = clubs.parent
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    (folder / "two").mkdir()
    for name in ("two/edges.csv", "two/edges.tsv", "saved.pt"):
        (folder / name).write_text("a\tb\n")
    rows = [("who", "name"), *((f"p, {i}", f"name {i}") for i in range(1001))]
    with (folder / "names.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    result = gaug("train", *arguments, "--quiet")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["coar"], 2, "Did you mean 'cora'? Nor is there a file or a folder of that name."),
        ([], 2, "or a file of edges. Use --edges FILE."),
        (["karate", "--labels", "y.csv"], 2, "takes no files or columns"),
        (["--edges", "nowhere.csv"], 1, "There is no file nowhere.csv."),
        (["clubs", "--column", "lable=club"], 2, "Did you mean 'label'?"),
        (["clubs", "--column", "label=nowhere"], 1, "labels.csv has no column 'nowhere'"),
        (["clubs", "--make-features", "identity"], 1, "are both given"),
        (["--edges", "clubs/edges.csv", "--make-features", "degrees"], 2, "Choose from: identity"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(
    gaug,
    clubs: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(clubs.parent)
    result = gaug("train", *arguments, "--quiet")
    assert (result.code, result.err.count("\n")) == (code, 1)
    assert message in result.err


def test_a_saved_model_predicts_on_a_grown_graph_in_the_users_ids(
    gaug, clubs: Path, tmp_path: Path
) -> None:
    (clubs / "split.csv").unlink()
    quick = ("--set", "epochs=3", "--quiet")
    assert gaug("fit", clubs, "--out", tmp_path / "model", *quick).code == 0
    grown = tmp_path / "grown"
    grown.mkdir()
    with (clubs / "features.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    rows = [[rows[0][0], "b", "a"], ["newcomer", "1", "0"]] + [[w, b, a] for w, a, b in rows[1:]]
    with (grown / "features.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    edges = (clubs / "edges.csv").read_text()
    (grown / "edges.csv").write_text(edges + 'newcomer,"p, 3"\n')
    result = gaug("predict", tmp_path / "model", grown, "--out", tmp_path / "p.csv", "--quiet")
    assert (result.code, result.err) == (0, "")
    with (tmp_path / "p.csv").open(newline="") as file:
        predicted = list(csv.DictReader(file))
    named = [next(iter(row.values())) for row in predicted]
    assert named == [row[0] for row in rows[1:]]
    assert {row["class"] for row in predicted} <= {"x", "y"}


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    """A table whose columns are of very different scales; the salary tells the class."""
    folder = tmp_path / "staff"
    folder.mkdir()
    people = range(40)
    lines = ["id,age,salary", *(f"p{i},{20 + i % 7},{30000 + 40000 * (i % 2)}" for i in people)]
    (folder / "features.csv").write_text("\n".join(lines))
    labels = ["id,team", *(f"p{i},{'ab'[i % 2]}" for i in people if i % 4 < 3)]
    (folder / "labels.csv").write_text("\n".join(labels))
    edges = ["source,target", *(f"p{i},p{(i + 2) % 40}" for i in people)]
    (folder / "edges.csv").write_text("\n".join(edges))
    return folder


def test_a_model_scales_features_by_what_it_was_fitted_to(gaug, staff: Path, tmp_path) -> None:
    result = gaug("fit", staff, "--out", tmp_path / "model", "--set", "epochs=30")
    assert result.code == 0, result.err
    assert "Scaled each column of features" in result.err
    result = gaug("predict", tmp_path / "model", staff, "--out", tmp_path / "first.csv")
    assert result.code == 0, result.err
    lines = (tmp_path / "first.csv").read_text().splitlines()[1:]
    found = {line.split(",")[0]: line.split(",")[1:] for line in lines}
    assert all(found[f"p{i}"][0] == "ab"[i % 2] for i in range(40))
    # In Python, with features as they are, and as the fit scaled them.
    classifier = gaug_library.load(tmp_path / "model")
    for scaling in ("as-is", "default"):
        loaded = gaug_library.open_graph(staff, scaling=scaling)
        info = gaug_library.GraphInfo(list(loaded.ids), feature_names=loaded.feature_names)
        classes = classifier.predict(loaded.data, info=info)
        named = [classifier.class_names[number] for number in classes.tolist()]
        assert named == [found[name][0] for name in loaded.ids]
    # One new salary beyond all others moves the means of the new graph, and nobody's class.
    with (staff / "features.csv").open("a") as file:
        file.write("\np40,25,900000000")
    with (staff / "edges.csv").open("a") as file:
        file.write("\np40,p0")
    result = gaug("predict", tmp_path / "model", staff, "--out", tmp_path / "second.csv")
    assert result.code == 0, result.err
    again = dict(line.split(",")[:2] for line in (tmp_path / "second.csv").read_text().splitlines())
    changed = [name for name, values in found.items() if again[name] != values[0]]
    assert set(changed) <= {"p0", "p2", "p38"}  # those that it is joined to, and their neighbors


def test_augment_writes_features_as_their_owner_has_them(gaug, staff: Path, tmp_path) -> None:
    result = gaug("augment", staff, "--out", tmp_path / "better", "--set", "predictor=features")
    assert result.code == 0, result.err
    before, after = (
        gaug_library.open_graph(folder, scaling="as-is") for folder in (staff, tmp_path / "better")
    )
    order = after.ids.positions(list(before.ids), lambda row: "")
    assert torch.equal(after.data.x[torch.as_tensor(order)], before.data.x)


def test_predictions_do_not_replace_the_graph(gaug, staff: Path, tmp_path) -> None:
    gaug("fit", staff, "--out", tmp_path / "model", "--set", "epochs=2")
    before = (staff / "labels.csv").read_bytes()
    result = gaug("predict", tmp_path / "model", staff, "--out", staff / "labels.csv")
    assert result.code == 2
    assert "is in the folder of the graph itself" in result.err
    assert (staff / "labels.csv").read_bytes() == before
