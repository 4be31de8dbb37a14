from __future__ import annotations

import json
import math
import re
import statistics
from functools import partial
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import pytest
import torch
from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.drawing.table import Scores, render
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange, omniscient_change, random_change
from gaug.graph.edges import undirected_pairs
from gaug.methods.gaug_m.method import GAugM
from gaug.methods.none.method import NoAugmentation
from gaug.models.config import GCNConfig
from gaug.models.gcn import GCN
from gaug.runs.graphs import Graphs
from gaug.runs.store import Store
from gaug.runs.summary import mean_and_spread
from gaug.seeding import run_seed
from gaug.studies.engine import run_cells
from gaug.studies.figure1 import Figure1
from gaug.studies.fixed_change import FixedChange
from gaug.studies.outcome import Outcome
from gaug.studies.scope import StudyOptions
from gaug.studies.study import CellResult
from gaug.training.config import TrainingConfig
from gaug.training.loop import train_run
from gaug.training.metrics import micro_f1
from gaug.training.task import Task
from tests.known import known

SIGNATURES = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}


def figure_1(runs: int, seed: int = 0, time_budget: float = math.inf) -> list[CellResult]:
    cells = Figure1().cells(StudyOptions(runs=runs, seed=seed))
    store = Store("sqlite://")
    return run_cells(cells, store=store, graphs=Graphs(), time_budget=time_budget)


class Variant(NamedTuple):
    """A graph of the figure."""

    modified: list[float]
    original: list[float]
    change: GraphChange | None


def outcomes_of(results: list[CellResult]) -> list[Outcome]:
    return Figure1().outcomes(results, Graphs(), StudyOptions())


def variant_of(results: list[CellResult], name: str) -> Variant:
    """Its scores of all runs, and what is changed in the first."""
    (scores,) = (
        row for row in Figure1().variants(outcomes_of(results)) if row["graph"] == name.lower()
    )
    first = next(result for result in results if result.cell.key[0] == name)
    method = first.cell.plan.method.instance
    change = method.change if isinstance(method, FixedChange) else None
    return Variant(scores["modified"], scores["original"], change)


def reference_scores(runs: int, seed: int) -> dict[str, tuple[list[float], list[float]]]:
    """The figure by hand: one training on the changed graph, tested there and on the original."""
    data = load_graph("karate")
    counts = math.floor(0.2 * 78), math.floor(0.1 * 78)
    mender = GAugM(predictor="gae", add_fraction=0.2, remove_fraction=0.1, seed=seed)
    found: dict[str, tuple[list[float], list[float]]] = {}
    for run in range(runs):
        with_labels = one_label_per_class(data, run_seed(seed, run))

        def draw(run: int = run) -> torch.Generator:
            return torch.Generator().manual_seed(run_seed(seed, run))

        changes = {
            "Original": None,
            "Random": random_change(data, *counts, draw()),
            "GAug-M": mender.find_change(data).change,
            "Omniscient": omniscient_change(data, *counts, draw()),
        }
        for name, change in changes.items():
            changed = with_labels if change is None else change.apply(with_labels)
            task = Task.of(changed)
            result = train_run(
                task,
                partial(GCN, task.in_features, task.num_classes),
                NoAugmentation(),
                GCNConfig(),
                TrainingConfig(epochs=100, selection="last"),
                run_seed(seed, run),
            )
            logits = result.rounds[-1].predict(Adjacency.of(data))
            modified, original = found.setdefault(name, ([], []))
            modified.append(known(result.test_score))
            original.append(micro_f1(logits[task.test], task.labels[task.test]))
    return found


def one_label_per_class(data: Data, seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    chosen = []
    for label in (0, 1):
        members = [node for node in range(34) if data.y[node] == label]
        chosen.append(members[int(torch.randint(len(members), (1,), generator=generator))])
    split = data.clone()
    split.train_mask = torch.tensor([node in chosen for node in range(34)])
    split.test_mask = ~split.train_mask
    split.val_mask = torch.zeros(34, dtype=torch.bool)
    return split


@pytest.fixture(scope="module")
def figure() -> list[CellResult]:
    return figure_1(2)


def pairs(edges: torch.Tensor) -> set[tuple[int, int]]:
    return {(u, v) for u, v in edges.t().tolist()}


def test_the_variants_and_the_paper_s_figures_are_those_of_figure_1(figure):
    found = {
        row["graph"]: (row["paper_modified"], row["paper_original"])
        for row in Figure1().variants(outcomes_of(figure))
    }
    assert found == {
        "original": (None, 92.4),
        "random": (90.4, 91.0),
        "gaug-m": (95.7, 94.3),
        "omniscient": (98.6, 95.6),
    }


@pytest.mark.parametrize("seed", [0, 3])
def test_every_score_is_that_of_one_training_tested_on_both_graphs(seed):
    results = figure_1(2, seed)
    for name, (modified, original) in reference_scores(2, seed).items():
        assert variant_of(results, name).modified == pytest.approx(modified, abs=1e-3)
        assert variant_of(results, name).original == pytest.approx(original, abs=1e-3)


def test_every_score_is_a_share_of_the_32_nodes_without_a_label(figure):
    for row in Figure1().variants(outcomes_of(figure)):
        assert len(row["original"]) == len(row["modified"]) == 2
        for score in row["original"] + row["modified"]:
            right = score * 32 / 100
            assert right == pytest.approx(round(right), abs=1e-3)
            assert 0 <= right <= 32


def test_the_original_graph_is_the_modified_one_where_nothing_is_changed(figure):
    original = variant_of(figure, "Original")
    assert original.change is None
    assert original.modified == original.original


@pytest.mark.parametrize("name", ["Random", "GAug-M", "Omniscient"])
def test_a_change_adds_a_fifth_and_removes_a_tenth_of_the_78_edges(figure, name):
    change = known(variant_of(figure, name).change)
    edges = pairs(undirected_pairs(load_graph("karate").edge_index))
    assert len(edges) == 78
    assert len(pairs(change.added)) == change.added.size(1) == 15  # floor(0.2 * 78)
    assert len(pairs(change.removed)) == change.removed.size(1) == 7  # floor(0.1 * 78)
    assert not pairs(change.added) & edges
    assert pairs(change.removed) <= edges


def test_the_omniscient_change_adds_within_a_class_and_removes_between(figure):
    change = known(variant_of(figure, "Omniscient").change)
    labels = load_graph("karate").y
    assert bool((labels[change.added[0]] == labels[change.added[1]]).all())
    assert bool((labels[change.removed[0]] != labels[change.removed[1]]).all())


def test_the_same_seed_gives_the_same_figure_and_a_run_does_not_depend_on_their_number(figure):
    shorter = figure_1(1)
    for name in ("Original", "Random", "GAug-M", "Omniscient"):
        variant, again = variant_of(figure, name), variant_of(shorter, name)
        assert again.original == variant.original[:1]
        assert again.modified == variant.modified[:1]
        if variant.change is not None:
            assert pairs(known(again.change).added) == pairs(variant.change.added)


def test_another_seed_draws_other_changes(figure):
    cells = Figure1().cells(StudyOptions(runs=1, seed=1))
    other = known(variant_of([CellResult(cell) for cell in cells], "Random").change)
    assert pairs(other.added) != pairs(known(variant_of(figure, "Random").change).added)


def test_mending_the_graph_beats_changing_it_at_random():
    figure = figure_1(12)
    random, omniscient = (variant_of(figure, name) for name in ("Random", "Omniscient"))
    # Over 12 runs the gap is some 20 points, with a standard error of some 4.
    assert statistics.fmean(omniscient.modified) > statistics.fmean(random.modified)


def test_scores_read_as_mean_and_sample_deviation():
    assert mean_and_spread([90.0, 94.0]) == "92.0 ± 2.8"
    assert mean_and_spread([90.0]) == "90.0"


def test_the_table_has_ours_beside_the_paper_s(figure):
    table = Figure1().table(outcomes_of(figure))
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["Original", "Random", "GAug-M", "Omniscient"]
    assert rows["Original"][0] is None
    random = variant_of(figure, "Random")
    assert rows["Random"] == [
        Scores(random.modified, (90.4, None)),
        Scores(random.original, (91.0, None)),
    ]
    assert "over 2 runs" in table.notes[0]


def test_what_there_was_no_time_for_is_told_and_can_be_drawn(tmp_path):
    results = figure_1(2, time_budget=1e-9)
    table = json.loads(render(Figure1().table(outcomes_of(results)), "json"))
    assert [row["tested on original"]["mean"] for row in table["rows"]] == [None] * 4
    missing = [note for note in table["notes"] if "0 of 1 runs in the time given" in note]
    assert len(missing) == 7
    assert "Random, tested on the modified graph: 2 runs are missing" in missing[1]
    Figure1().draw(outcomes_of(results), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").exists()


def drawn_as_svg(results: list[CellResult], folder: Path) -> str:
    path = folder / "figure.svg"
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        Figure1().draw(outcomes_of(results), path)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", SIGNATURES)
def test_the_format_follows_the_ending(figure, tmp_path, ending):
    path = tmp_path / f"figure{ending}"
    Figure1().draw(outcomes_of(figure), path)
    assert path.read_bytes().startswith(SIGNATURES[ending])
    assert list(tmp_path.iterdir()) == [path]


def test_each_graph_has_its_name_and_scores(figure, tmp_path):
    text = drawn_as_svg(figure, tmp_path)
    assert text.count("on the original graph: ") == 4
    assert text.count("on the modified graph: ") == 3
    for name in ("Original", "Random", "GAug-M", "Omniscient"):
        variant = variant_of(figure, name)
        assert f"{name}<" in text
        assert f"on the original graph: {mean_and_spread(variant.original)}" in text
        if variant.change is not None:
            assert f"on the modified graph: {mean_and_spread(variant.modified)}" in text


def test_edges_are_drawn_as_kept_added_and_removed(figure, tmp_path):
    text = drawn_as_svg(figure, tmp_path)
    strokes = re.findall(r"stroke: (#[0-9a-f]{6})", text)
    dashed = text.count("stroke-dasharray")
    legend = 1
    # The 78 edges of the original, the 71 that each of three changes keeps, one in the legend.
    assert strokes.count("#555555") == 78 + 3 * 71 + legend
    # 15 edges added and 7 removed, and both in the legend; only what is removed is dashed.
    assert strokes.count("#0060c0") == 3 * (15 + 7) + 2 * legend
    assert dashed == 3 * 7 + legend


def test_an_older_picture_is_replaced_and_no_figure_stays_open(figure, tmp_path):
    path = tmp_path / "figure.png"
    path.write_text("old")
    before = plt.get_fignums()
    Figure1().draw(outcomes_of(figure), path)
    assert path.read_bytes().startswith(SIGNATURES[".png"])
    assert plt.get_fignums() == before


def test_a_picture_that_cannot_be_written_leaves_nothing_behind(figure, tmp_path):
    path = tmp_path / "figure.png"
    path.mkdir()
    before = plt.get_fignums()
    with pytest.raises(OSError):
        Figure1().draw(outcomes_of(figure), path)
    assert list(tmp_path.iterdir()) == [path]
    assert list(path.iterdir()) == []
    assert plt.get_fignums() == before
