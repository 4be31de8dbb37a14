from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gaug.studies.conditions import Conditions, authors_split

from gaug.data.catalog import readers
from gaug.data.catalog.entries import CATALOG, Entry
from gaug.methods import registry as methods
from gaug.models import registry as models
from gaug.runs import execute as runs
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.studies.table2 import (
    GRAPHS,
    METHODS,
    MODELS,
    SLOW_RUN_SECONDS,
    SLOW_RUNS,
    Cell,
    CellResult,
    run_cell,
    table2_cells,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "runs.sqlite"))) as opened:
        yield opened


@pytest.fixture
def _club_for_cora(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = Entry("cora", "", "", (), readers.read_karate, "as-is", "stratified", "embedded")
    monkeypatch.setitem(CATALOG, "cora", stand_in)


def test_every_graph_model_and_method_of_the_table_is_known():
    assert set(GRAPHS) <= set(CATALOG)
    assert set(MODELS) == set(models.MODELS)
    assert set(METHODS) <= set(methods.METHODS)


def test_cells_go_graph_by_graph_and_an_mlp_has_one_a_graph():
    cells = table2_cells(["cora", "ppi"], ["gcn", "mlp"], ["none", "dropedge"])
    assert cells == [
        Cell("cora", "gcn", "none"),
        Cell("cora", "gcn", "dropedge"),
        Cell("cora", "mlp", "none"),
        Cell("ppi", "gcn", "none"),
        Cell("ppi", "gcn", "dropedge"),
        Cell("ppi", "mlp", "none"),
    ]


def test_a_cell_knows_the_paper_s_score_where_there_is_one():
    assert Cell("cora", "gcn", "none").paper == (81.6, 0.7)
    assert Cell("pubmed", "gcn", "none").paper is None
    assert Cell("cora", "mlp", "none").paper is None


def test_mean_and_deviation_of_a_cell_agree_with_numpy():
    scores = [81.0, 82.5, 80.0]
    records = [RunRecord(test_score=score, seconds=1.0, peak_memory_mb=1.0) for score in scores]
    result = CellResult(Cell("cora", "gcn", "none"), records)
    assert result.mean == pytest.approx(np.mean(scores))
    assert result.deviation == pytest.approx(np.std(scores, ddof=1))


@pytest.mark.usefixtures("_club_for_cora")
def test_a_cell_takes_over_runs_on_record_and_does_the_others(store, tmp_path, monkeypatch):
    cell = Cell("cora", "gcn", "none")
    first = run_cell(cell, Conditions(store, 2, root=tmp_path))
    second = run_cell(cell, Conditions(store, 3, root=tmp_path))
    assert [record.run for record in second.records] == [0, 1, 2]
    assert [record.id for record in second.records[:2]] == [record.id for record in first.records]
    assert len(store.all()) == 3
    monkeypatch.setattr(runs, "train_run", lambda *a, **k: pytest.fail("a run was trained"))
    third = run_cell(cell, Conditions(store, 3, root=tmp_path))
    assert third.mean == second.mean


@pytest.mark.usefixtures("_club_for_cora")
@pytest.mark.parametrize(("factor", "wanted"), [(1.0, SLOW_RUNS + 2), (1.01, SLOW_RUNS)])
def test_a_cell_whose_run_takes_over_the_limit_gets_fewer_runs(
    store, tmp_path, monkeypatch, factor, wanted
):
    def quick_run(job: Any, runs: Any, **options: Any) -> Any:
        for run in runs:
            yield run, dataclasses.replace(outcome, seconds=factor * SLOW_RUN_SECONDS)

    outcome = runs.Outcome(
        val_score=50.0,
        test_score=50.0,
        best_epoch=1,
        epochs=1,
        seconds=0.0,
        peak_memory_mb=1.0,
        history=None,
        warning=None,
    )
    monkeypatch.setattr(runs, "repeat", quick_run)
    cell = Cell("cora", "gcn", "none")
    result = run_cell(cell, Conditions(store, SLOW_RUNS + 2, root=tmp_path))
    assert len(result.records) == wanted


def test_the_authors_split_is_used_where_the_data_folder_has_it(tmp_path):
    assert authors_split("cora", tmp_path) == "public"
    assert authors_split("flickr", tmp_path) == "random"
    file = tmp_path / "splits" / "flickr.npz"
    file.parent.mkdir()
    np.savez(file, train=np.array([0]), val=np.array([1]), test=np.array([2]))
    assert authors_split("flickr", tmp_path) == str(file)
    assert authors_split("cora", tmp_path) == "public"


@pytest.mark.usefixtures("_club_for_cora")
def test_the_authors_split_reaches_the_records(store, tmp_path):
    nodes = np.arange(34)
    (tmp_path / "splits").mkdir()
    np.savez(tmp_path / "splits" / "cora.npz", train=nodes[::3], val=nodes[1::3], test=nodes[2::3])
    cell = Cell("cora", "mlp", "none")
    result = run_cell(cell, Conditions(store, 1, root=tmp_path))
    assert result.records[0].split == "cora"


@pytest.mark.real
def test_a_gcn_on_cora_comes_near_the_paper(store, data_root):
    cell = Cell("cora", "gcn", "none")
    result = run_cell(cell, Conditions(store, 3, root=data_root))
    mean, deviation = cell.paper
    # Three standard deviations of the paper's single runs, and no more.
    assert abs(result.mean - mean) <= 3 * deviation
