"""gaug fit and gaug predict: from a graph to a table of classes."""

from __future__ import annotations

import csv
import errno
import json
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

import gaug as library
from gaug import load_graph
from gaug.classifier.base import NodeClassifier
from gaug.classifier.files import DESCRIPTION
from gaug.data.catalog.entries import CATALOG
from gaug.errors import TrainingError
from gaug.report.predictions import write_predictions
from gaug.training import run as training_run
from gaug.training.checkpoint import Checkpoint

SHORT = ("--set", "epochs=5", "--quiet")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("method", ["none", "gaug-m", "gaug-o", "bgcn", "gaug-m+dropedge"])
def test_a_saved_model_predicts_in_another_process_s_place(gaug, tmp_path, method):
    out, table = tmp_path / "model", tmp_path / "predictions.csv"
    fewer = ["--set", "predictor=ra"] if "gaug-m" in method else []
    result = gaug("fit", "karate", "--out", out, "--method", method, *fewer, *SHORT)
    assert result.code == 0, result.err
    assert "validation micro-F1" in result.out
    result = gaug("predict", out, "karate", "--out", table)
    assert result.code == 0, result.err
    expected = library.load(out).predict_proba(load_graph("karate"))
    found = rows(table)
    assert [row["node"] for row in found] == [str(node) for node in range(34)]
    probabilities = torch.tensor(
        [[float(row["probability_0"]), float(row["probability_1"])] for row in found]
    )
    assert torch.equal(probabilities, expected)
    assert [int(row["class"]) for row in found] == expected.argmax(dim=1).tolist()


def test_json_is_alone_on_standard_output(gaug, tmp_path):
    result = gaug("fit", "karate", "--out", tmp_path / "m", "--json", *SHORT)
    summary = json.loads(result.out)
    assert summary["graph"] == "karate"
    assert summary["epochs"] == 5
    assert summary["test_score"] is None
    result = gaug("predict", tmp_path / "m", "karate", "--out", tmp_path / "p.csv", "--json")
    summary = json.loads(result.out)
    assert summary["nodes"] == sum(summary["classes"].values()) == 34


def test_a_file_that_is_there_is_replaced_only_if_asked(gaug, tmp_path):
    table = tmp_path / "notes.csv"
    table.write_text("precious")
    gaug("fit", "karate", "--out", tmp_path / "m", *SHORT)
    code, _, err = gaug("predict", tmp_path / "m", "karate", "--out", table)
    assert (code, err) == (
        1,
        f"gaug: There is already a file {table}. Use another name, or --force.\n",
    )
    assert table.read_text() == "precious"
    assert gaug("predict", tmp_path / "m", "karate", "--out", table, "--force").code == 0
    assert len(table.read_text().splitlines()) == 35


def test_a_split_with_test_nodes_is_tested(gaug, tmp_path):
    arguments = ("--split", "stratified", "--json", *SHORT)
    result = gaug("fit", "karate", "--out", tmp_path / "m", *arguments)
    assert json.loads(result.out)["test_score"] is not None
    changed = gaug("fit", "karate", "--out", tmp_path / "n", "--json", "--set", "val_fraction=0.3")
    assert json.loads(changed.out)["test_score"] is not None


def test_a_fit_leaves_the_checkpoint_of_a_run_alone_and_goes_on_from_its_own(
    gaug, tmp_path, monkeypatch
):
    plain = ("karate", "--split", "stratified", "--checkpoint-minutes", "0")
    long = (*plain, "--set", "epochs=20", "--set", "selection=last", "--quiet")

    def interrupted(checkpoint: Checkpoint, state: dict[str, object]) -> None:
        save(checkpoint, state)
        if state["done"] == 10:
            raise KeyboardInterrupt

    save = Checkpoint.save
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "save", interrupted)
        assert gaug("train", *long, "--runs", "1", "--workers", "1").code == 130
        (of_the_run,) = tmp_path.glob("*.checkpoints/*")
        content = of_the_run.read_bytes()
        assert gaug("fit", *long, "--out", tmp_path / "m").code == 130
    (of_the_fit,) = set(tmp_path.glob("*.checkpoints/*")) - {of_the_run}
    assert gaug("fit", *long[:-1], "--out", tmp_path / "m").err.count("goes on from its") == 1
    assert not of_the_fit.exists()
    assert of_the_run.read_bytes() == content


def test_a_model_that_cannot_be_saved_keeps_its_checkpoint(gaug, tmp_path, monkeypatch):
    def full(classifier: NodeClassifier, folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    fit = ("fit", "karate", "--out", tmp_path / "m", "--checkpoint-minutes", "0")
    with monkeypatch.context() as patched:
        patched.setattr(NodeClassifier, "save", full)
        result = gaug(*fit, *SHORT)
    assert result.code == 1
    assert result.err.endswith("m cannot be written: No space left on device.\n")
    assert len(list(tmp_path.glob("*.checkpoints/*"))) == 1
    assert gaug(*fit, *SHORT).code == 0
    assert list(tmp_path.glob("*.checkpoints/*")) == []


def test_a_folder_that_cannot_be_written_is_refused_before_training(gaug, no_training, tmp_path):
    (tmp_path / "file").write_text("mine")
    result = gaug("fit", "karate", "--out", tmp_path / "file" / "new" / "m")
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert "cannot be written" in result.err
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("url", ["postgresql://host:port/runs", "://runs"])
@pytest.mark.parametrize("command", [("train",), ("fit", "--out", "model")])
def test_a_url_of_a_store_that_is_none_is_refused_in_one_line(
    gaug, no_training, monkeypatch, tmp_path, command, url
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GAUG_STORE", url)
    result = gaug(*command, "karate", "--quiet")
    assert result.code == 1
    assert result.err.startswith(f"gaug: The store {url.partition('://')[0]}://")
    assert result.err.count("\n") == 1
    assert "Use --store to select another" in result.err


def test_warnings_are_lines_also_of_a_fit_that_fails(gaug, tmp_path, monkeypatch):
    def failing(*arguments: object, **options: object) -> None:
        warnings.warn("features are odd", stacklevel=1)
        warnings.warn("weights\n  overflow", RuntimeWarning, stacklevel=1)
        warnings.warn("a name will change", FutureWarning, stacklevel=1)
        warnings.warn("of a library", DeprecationWarning, stacklevel=1)
        raise TrainingError("It broke.")

    monkeypatch.setattr(training_run, "train_run", failing)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as on the command line
        result = gaug("fit", "karate", "--out", tmp_path / "m", *SHORT)
    assert result.code == 1
    assert result.err.splitlines() == [
        "gaug: features are odd",
        "gaug: weights overflow",
        "gaug: a name will change",
        "gaug: It broke.",
    ]


def test_an_earlier_model_is_replaced_only_by_force(gaug, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / DESCRIPTION).write_text("{}")
    result = gaug("fit", "karate", "--out", tmp_path / "m")
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert "--force" in result.err
    assert gaug("fit", "karate", "--out", tmp_path / "m", "--force", *SHORT).code == 0
    (tmp_path / "m" / "thesis.txt").write_text("mine")
    result = gaug("fit", "karate", "--out", tmp_path / "m", "--force")
    assert "is not a saved model: it contains" in result.err


def test_what_a_method_warns_of_is_one_line(gaug, tmp_path):
    result = gaug(
        "fit", "karate", "--out", tmp_path / "m", "--method", "dropedge",
        "--set", "drop_fraction=0", *SHORT,
    )  # fmt: skip
    assert result.code == 0
    assert result.err.startswith("gaug: DropEdge changed no edge")
    assert result.err.count("\n") == 1


def test_errors_are_one_line(gaug, tmp_path):
    result = gaug("predict", tmp_path / "nowhere", "karate", "--out", tmp_path / "p.csv")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "There is no folder" in result.err
    result = gaug(
        "fit", "karate", "--out", tmp_path / "m", "--method", "gaug-m",
        "--set", "predictor=omniscient",
    )  # fmt: skip
    assert result.code == 2
    assert "control" in result.err
    assert not (tmp_path / "m").exists()


def test_features_that_do_not_match_are_told(gaug, tmp_path, make_airports):
    root = make_airports()
    assert gaug("fit", "karate", "--out", tmp_path / "m", *SHORT).code == 0
    result = gaug(
        "predict", tmp_path / "m", "air-usa", "--data-root", root, "--out", tmp_path / "p.csv"
    )
    assert result.code == 1
    assert "fitted to 34 features" in result.err
    assert not (tmp_path / "p.csv").exists()


def test_features_are_scaled_as_in_the_fit(gaug, tmp_path):
    assert CATALOG["karate"].scaling == "as-is"
    arguments = ("--set", "feature_scaling=columns", *SHORT)
    gaug("fit", "karate", "--out", tmp_path / "m", *arguments)
    gaug("predict", tmp_path / "m", "karate", "--out", tmp_path / "p.csv")
    scaled = load_graph("karate", scaling="columns")
    expected = library.load(tmp_path / "m").predict_proba(scaled)[:, 0]
    found = torch.tensor([float(row["probability_0"]) for row in rows(tmp_path / "p.csv")])
    assert torch.equal(found, expected)


def test_names_are_the_owner_s(tmp_path):
    data = load_graph("karate")
    info = library.GraphInfo(
        node_ids=[f"member, {node}" for node in range(34)], class_names=['"Hi"', "Officer"]
    )
    fitted = library.NoAugmentation(epochs=3).fit(data, info=info)
    probabilities = fitted.predict_proba(data)
    counts = write_predictions(tmp_path / "p.csv", probabilities, fitted.summary, info.node_ids)
    found = rows(tmp_path / "p.csv")
    assert found[3]["node"] == "member, 3"
    assert list(found[0]) == ["node", "class", 'probability_"Hi"', "probability_Officer"]
    assert {row["class"] for row in found} <= {'"Hi"', "Officer"}
    assert sum(counts.values()) == 34


def test_several_labels_stand_beside_each_other(tmp_path):
    data = load_graph("karate")
    data.y = torch.ones(34, 3)
    data.y[::2, 2] = 0
    info = library.GraphInfo(class_names=["a", "b", "c"])
    fitted = library.NoAugmentation(epochs=40).fit(data, info=info)
    write_predictions(tmp_path / "p.csv", fitted.predict_proba(data), fitted.summary)
    found = [row["class"] for row in rows(tmp_path / "p.csv")]
    assert set(found) <= {"a;b", "a;b;c"}


def test_a_missing_number_is_the_mean_of_the_fit_not_of_the_graph_that_is_read(gaug, tmp_path):
    """Two graphs that differ in a cell: empty in one, the mean of the fit's column in the other."""
    ages = {"a": 10, "b": 20, "c": 40, "d": 30, "e": 60, "f": 20}
    edges = "source,target\na,b\nb,c\nc,a\nd,e\ne,f\nf,d\nc,d\n"
    labels = "node,club\na,x\nb,x\nc,x\nd,y\ne,y\nf,y\n"

    def write(name: str, cells: Mapping[str, object]) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "edges.csv").write_text(edges)
        (folder / "labels.csv").write_text(labels)
        rows = "".join(f"{node},{age},{len(node)}\n" for node, age in cells.items())
        (folder / "features.csv").write_text("node,age,letters\n" + rows)
        return folder

    model = tmp_path / "model"
    fitted = gaug("fit", write("old", ages), "--out", model, *SHORT)
    assert fitted.code == 0, fitted.err
    found = {}
    for name, cell in (("gap", ""), ("same", 30), ("other", 90)):  # 30 is the mean of the six
        table = tmp_path / f"{name}.csv"
        graph = write(name, {**dict.fromkeys(ages, 500), "b": cell})
        result = gaug("predict", model, graph, "--out", table)
        assert result.code == 0, result.err
        if name == "gap":
            assert "Filled 1 missing cell of column 'age' with the mean of the fit." in result.err
        found[name] = rows(table)
    assert found["gap"] == found["same"]
    assert found["gap"] != found["other"]


def test_the_graph_of_the_fit_with_gaps_is_predicted_as_in_the_fit(gaug, tmp_path):
    clubs = Path(__file__).parents[2] / "examples" / "clubs"
    out, table = tmp_path / "model", tmp_path / "p.csv"
    # BGCN refuses any other graph than that of the fit, to the last digit.
    assert gaug("fit", clubs, "--out", out, "--method", "bgcn", *SHORT).code == 0
    result = gaug("predict", out, clubs, "--out", table)
    assert result.code == 0, result.err
