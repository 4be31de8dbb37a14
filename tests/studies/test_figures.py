"""Figures 4, 6, 7, 8 and 9: which runs they need, and what they draw."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import networkx
import numpy as np
import pytest
import torch

from gaug.data.catalog.loading import load_graph
from gaug.data.splits import Split
from gaug.drawing.table import render
from gaug.edge_predictors.registry import PREDICTORS as KNOWN_PREDICTORS
from gaug.runs.graphs import Graphs
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.studies import figure7
from gaug.studies.engine import run_cells
from gaug.studies.figure4 import SHARES, Figure4
from gaug.studies.figure5 import mean_curves
from gaug.studies.figure7 import PREDICTORS, Figure7
from gaug.studies.figure8 import Figure6, Figure8, fewer_training_nodes
from gaug.studies.figure9 import PANELS, Figure9, embeddings, explained, ideal_change
from gaug.studies.heat_maps import mean_scores
from gaug.studies.outcome import Outcome
from gaug.studies.scope import StudyOptions


def as_svg(study: Figure4 | Figure7 | Figure8 | Figure9, outcomes: list[Outcome], to: Path) -> str:
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        study.draw(outcomes, to / "figure.svg")
    return (to / "figure.svg").read_text(encoding="utf-8")


def test_a_heat_map_has_every_pair_of_shares_and_begins_with_the_plain_graph() -> None:
    cells = Figure4().cells(StudyOptions(graphs=["cora", "flickr"]))
    counts = Counter(cell.key[0] for cell in cells)
    assert counts == {"cora": 81, "flickr": 25}
    for cell in cells:
        graph, added, removed = cell.key
        method = cell.plan.method
        assert cell.plan.graph.name == graph
        if added == removed == 0:
            assert method.name == "none"
        else:
            config = method.config.to_dict()
            assert (config["predictor"], config["add_fraction"]) == ("gae", added)
            assert config["remove_fraction"] == removed
    assert max(SHARES) == 0.8  # as far as the paper searches


def test_figure_7_has_the_paper_s_seven_predictors_and_ours() -> None:
    assert list(PREDICTORS)[:7] == ["gae", "vgae", "llhn", "ra", "car", "lnb", "jaccard"]
    assert set(PREDICTORS) <= set(KNOWN_PREDICTORS)
    cells = Figure7().cells(StudyOptions())
    used = {cell.plan.method.config.to_dict().get("predictor") for cell in cells}
    assert used - {None} == set(PREDICTORS)


def test_colors_are_centered_at_the_plain_score(tmp_path: Path) -> None:
    scores = {(0.0, 0.0): 80.0, (0.4, 0.0): 82.0, (0.0, 0.4): 70.0, (0.4, 0.4): math.nan}
    outcomes = [
        Outcome(("cora", *shares), scores=[] if math.isnan(score) else [score - 1, score + 1])
        for shares, score in scores.items()
    ]
    means = mean_scores(outcomes)
    assert {key: mean for key, mean in means.items() if not math.isnan(mean)} == {
        key: score for key, score in scores.items() if not math.isnan(score)
    }
    before = plt.get_fignums()
    text = as_svg(Figure4(), outcomes, tmp_path)
    assert plt.get_fignums() == before
    assert {"82.0<", "70.0<", "80.0<"} <= {f"{value}<" for value in re.findall(r">([\d.]+)<", text)}
    assert "added, % of the edges" in text
    assert "test micro-F1, %" in text
    rows = render(Figure4().table(outcomes), "markdown").splitlines()
    assert "| cora | 40% | 82.0 ± 1.4 | – |" in rows


def test_curves_leave_out_what_was_no_number_in_a_run() -> None:
    def epoch(loss: float | None, edges: int, inside: int) -> dict[str, float | None]:
        counts = {"edges": edges, "intra_edges": inside}
        return {**counts, "train_loss": loss, "edge_loss": None, "val_score": 50.0}

    records = [
        RunRecord(history=[epoch(1.0, 10, 5), epoch(None, 0, 0)]),
        RunRecord(history=[epoch(3.0, 20, 20), epoch(4.0, 20, 15)]),
    ]
    curves = mean_curves(records, epochs=2)
    assert curves["train_loss"] == [2.0, 4.0]
    assert curves["intra_share"] == [0.75, 0.75]
    assert curves["edges"] == [15.0, 10.0]
    assert all(math.isnan(value) for value in curves["edge_loss"])


def test_a_panel_without_runs_is_empty_and_the_others_are_drawn(tmp_path: Path) -> None:
    late = "0 of 2 runs in the time given"
    outcomes = [
        Outcome(("cora", 0.0, 0.0), scores=[80.0]),
        Outcome(("flickr", 0.0, 0.0), failure=late),
        Outcome(("flickr", 0.0, 0.4), failure=late),
    ]
    text = as_svg(Figure4(), outcomes, tmp_path)
    assert (text.count(">80.0<"), text.count("no runs<")) == (1, 1)
    assert text.count("test micro-F1, %<") == 1  # the scale of one panel


@pytest.mark.usefixtures("_club_for_cora")
def test_a_heat_map_of_the_karate_club(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure7, "SHARES", (0.0, 0.5))
    monkeypatch.setattr(figure7, "PREDICTORS", {"ra": "RA", "jaccard": "Jaccard"})
    study, options = Figure7(), StudyOptions(runs=1, root=tmp_path)
    results = run_cells(study.cells(options), store=store, graphs=Graphs())
    outcomes = study.outcomes(results, Graphs(), options)
    # The plain graph is the same for both, and was trained once.
    assert outcomes[0].scores == outcomes[4].scores
    assert len(store.all()) == 2 * 3 + 1
    text = as_svg(study, outcomes, tmp_path)
    assert "RA<" in text
    assert "Jaccard<" in text


def test_fewer_training_nodes_are_some_of_each_class_and_nested() -> None:
    labels = torch.arange(60) % 3
    split = Split("s", torch.arange(0, 30), torch.arange(30, 40), torch.arange(40, 60))
    smaller = {count: fewer_training_nodes(split, labels, count, seed=1) for count in (2, 5, 10)}
    for count, found in smaller.items():
        assert Counter(labels[found.train].tolist()) == {0: count, 1: count, 2: count}
        assert set(found.train.tolist()) <= set(split.train.tolist())
        assert found.val.equal(split.val)
        assert found.test.equal(split.test)
    assert set(smaller[2].train.tolist()) < set(smaller[5].train.tolist())
    assert smaller[10] is split
    assert not fewer_training_nodes(split, labels, 5, seed=2).train.equal(smaller[5].train)


@pytest.mark.usefixtures("_club_for_cora")
def test_scores_by_training_nodes_are_those_of_smaller_splits(store: Store, tmp_path: Path) -> None:
    options = StudyOptions(runs=1, settings="default", root=tmp_path)
    study = Figure6()
    cells = study.cells(options)
    assert {cell.key[1] for cell in cells} == {"gcn"}
    assert {cell.key[2] for cell in cells} == {"none", "gaug-m", "gaug-o"}
    plain = [cell for cell in cells if cell.key[2] == "none"]
    for cell in plain:
        assert Graphs().split(cell.plan).train.numel() == cell.key[0]
    few = [Outcome(cell.key, scores=[50.0 + cell.key[0], 52.0 + cell.key[0]]) for cell in cells]
    text = as_svg(study, few, tmp_path)
    assert "GCN, GAug-M" in text
    assert "GCN, GAug-O" in text
    assert "training nodes" in text
    table = render(study.table(few), "markdown")
    assert f"{plain[0].key[0]} training nodes" in table


def test_figure_8_has_every_gnn() -> None:
    assert Figure8.scope.models == ("gcn", "gsage", "gat", "jknet")


def dense_layer(graph: networkx.Graph, h: np.ndarray) -> np.ndarray:
    """The rule of a GCN, with dense matrices."""
    a = networkx.to_numpy_array(graph, nodelist=range(34)).clip(max=1) + np.eye(34)
    scale = np.diag(a.sum(axis=1) ** -0.5)
    return np.asarray(scale @ a @ scale @ h)


def test_the_ideal_graph_puts_each_faction_in_one_point() -> None:
    data = load_graph("karate")
    better = ideal_change(data).apply(data)
    same = {(u, v) for u in range(34) for v in range(34) if u != v and data.y[u] == data.y[v]}
    assert set(map(tuple, better.edge_index.t().tolist())) == same
    points = embeddings(data, seed=3)["ideal"]
    for faction in (0, 1):
        own = points[data.y == faction]
        assert torch.allclose(own, own[:1].expand_as(own), atol=1e-6)
    assert explained(points, data.y) == pytest.approx(1, abs=1e-6)


def test_the_original_graph_is_one_layer_of_a_gcn() -> None:
    data = load_graph("karate")
    found = embeddings(data, seed=5)
    assert {name: len(points) for name, points in found.items()} == {
        "raw": 34,
        "original": 34,
        "modified": 34,
        "many": 3400,
        "ideal": 34,
    }
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(34, 2, generator=generator).numpy()
    weight = torch.randn(2, 2, generator=generator).numpy()
    expected = dense_layer(networkx.karate_club_graph(), x @ weight)
    assert np.allclose(found["raw"], x)
    assert np.allclose(found["original"], expected, atol=1e-5)
    assert torch.equal(found["modified"], found["many"][:34])


def test_the_variance_between_classes_is_that_of_its_definition() -> None:
    points = torch.tensor([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [7.0, 1.0]])
    labels = torch.tensor([0, 0, 1, 1])
    # Within: 4 squares of 1. Between: means 5 and 1 apart, so 2.5² + 0.5² from the center, 4 times.
    assert explained(points, labels) == pytest.approx(26 / 30)
    assert explained(points.repeat(3, 1), labels) == pytest.approx(26 / 30)


def test_figure_9_trains_nothing_and_draws_five_panels(tmp_path: Path) -> None:
    study, options = Figure9(), StudyOptions(runs=2, seed=1)
    assert study.cells(options) == []
    outcomes = study.outcomes([], Graphs(), options)
    assert [outcome.key[0] for outcome in outcomes] == list(PANELS)
    text = as_svg(study, outcomes, tmp_path)
    assert all(f"{title}<" in text for title in PANELS.values())
    table = render(study.table(outcomes), "markdown")
    assert "| Ideal graph | 100.0 ± 0.0 % |" in table
    assert "over 2 draws" in table
