from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest

from gaug.data.catalog.entries import CATALOG
from gaug.data.source import GraphSource
from gaug.drawing.table import Scores, Table, render
from gaug.errors import ConfigError
from gaug.methods import registry as methods
from gaug.models import registry as models
from gaug.runs.graphs import Graphs
from gaug.runs.record import RunRecord
from gaug.studies.chooser import Given, Grid
from gaug.studies.engine import run_cells
from gaug.studies.paper import table2_score
from gaug.studies.scope import StudyOptions
from gaug.studies.searches import SEARCHES
from gaug.studies.study import Cell, CellResult, paper_plan
from gaug.studies.table2 import Table2
from tests.known import known


def cells(**options: Any) -> list[Cell]:
    return Table2().cells(StudyOptions(**options))


def one_cell(model: str = "gcn", method: str = "none", **options: Any) -> list[Cell]:
    return cells(graphs=["cora"], models=[model], methods=[method], **options)


def result(graph: str, model: str, method: str, *scores: float, day: int = 1) -> CellResult:
    records = [
        RunRecord(
            run=run,
            test_score=score,
            seconds=1.0,
            peak_memory_mb=1.0,
            created=datetime(2024, 5, day, 12),
            versions={"gaug": "1.2.3", "torch": "4.5.6"},
        )
        for run, score in enumerate(scores)
    ]
    plan = paper_plan(graph, model, method, {}, StudyOptions())
    return CellResult(Cell((graph, model, method), plan, range(len(scores))), records)


def table(*results: CellResult) -> Table:
    study = Table2()
    return study.table(study.outcomes(results, Graphs(), StudyOptions()))


def rows(found: Table) -> list[list[str]]:
    return [[str(value or "–") for value in row] for row in found.rows]


def test_every_graph_model_and_method_of_the_table_is_known():
    scope = Table2.scope
    assert set(scope.graphs) <= set(CATALOG)
    assert set(scope.models) == set(models.MODELS)
    assert set(scope.methods) == set(SEARCHES) <= set(methods.METHODS)


def test_cells_go_graph_by_graph_and_an_mlp_has_one_a_graph():
    found = cells(graphs=["cora", "ppi"], models=["gcn", "mlp"], methods=["none", "dropedge"])
    assert [cell.key for cell in found] == [
        ("cora", "gcn", "none"),
        ("cora", "gcn", "dropedge"),
        ("cora", "mlp", "none"),
        ("ppi", "gcn", "none"),
        ("ppi", "gcn", "dropedge"),
        ("ppi", "mlp", "none"),
    ]
    for cell in found:
        plan = cell.plan
        assert isinstance(plan.graph, GraphSource)
        assert (plan.graph.graph, plan.model.name, plan.method.name) == cell.key
        assert list(cell.runs) == list(range(30))


def test_an_mlp_with_a_method_is_no_cell():
    with pytest.raises(ConfigError, match="No cell is selected"):
        one_cell("mlp", "dropedge")


def test_settings_are_searched_by_default_or_as_they_are_asked_for():
    (searched,) = one_cell("gcn", "gaug-o")
    (default,) = one_cell("gcn", "gaug-o", settings="default")
    (published,) = one_cell("gcn", "gaug-o", settings="published")
    assert (searched.chooser, searched.settings) == (Grid(SEARCHES["gaug-o"]), {})
    assert (default.chooser, default.settings) == (Given(), {})
    assert published.chooser == Given("published")
    assert published.settings["beta"] == 0.8
    assert published.plan.config["method"]["beta"] == 0.8


@pytest.mark.parametrize("method", SEARCHES)
def test_everything_that_is_searched_is_a_setting(method):
    (cell,) = one_cell("gcn", method)
    for stage in SEARCHES[method]:
        for values in stage.combinations():
            for others in stage.over:
                settings = values | others
                cell.plan.with_settings([f"{name}={value}" for name, value in settings.items()])


def test_a_cell_knows_the_paper_s_score_where_there_is_one():
    assert table2_score("cora", "gcn", "none") == (81.6, 0.7)
    assert table2_score("pubmed", "gcn", "none") is None
    assert table2_score("cora", "mlp", "none") is None


def test_mean_and_deviation_of_a_cell_agree_with_numpy():
    scores = [81.0, 82.5, 80.0]
    (row,) = table(result("cora", "gcn", "none", *scores)).rows
    shown = row[-1]
    assert isinstance(shown, Scores)
    assert shown.mean == pytest.approx(np.mean(scores))
    assert shown.deviation == pytest.approx(np.std(scores, ddof=1))


def test_ours_stands_with_its_deviation_beside_the_paper_s_mean():
    found = table(
        result("cora", "gcn", "none", 80.0, 84.0),
        result("ppi", "gcn", "none", 43.0, 43.0),
        result("cora", "jknet", "dropedge", 80.04, 80.04, 80.04),
        result("ppi", "jknet", "dropedge", 46.0),
    )
    assert found.header == ["model", "method", "cora", "ppi"]
    assert rows(found) == [
        ["GCN", "original", "82.0 ± 2.8 (81.6)", "43.0 ± 0.0 (43.4)"],
        ["JK-Net", "DropEdge", "80.0 ± 0.0 (80.4)", "46.0 (46.3)"],
    ]


def test_a_cell_that_the_paper_does_not_have_shows_ours_alone():
    found = table(result("pubmed", "gcn", "none", 78.0, 80.0))
    assert rows(found) == [["GCN", "original", "79.0 ± 1.4"]]


def test_a_cell_that_was_not_run_is_a_dash():
    found = table(result("cora", "gcn", "none", 80.0), result("ppi", "mlp", "none", 40.0))
    assert rows(found) == [
        ["GCN", "original", "80.0 (81.6)", "–"],
        ["MLP", "original", "–", "40.0"],
    ]


def test_a_cell_that_failed_says_so_in_its_place_and_why_below():
    broken = result("cora", "gcn", "none")
    broken = CellResult(broken.cell, failure="There was not enough memory.")
    found = table(broken, result("ppi", "gcn", "none", 43.0))
    assert rows(found) == [["GCN", "original", "missing", "43.0 (43.4)"]]
    assert "cora, gcn, none: There was not enough memory." in found.notes


def test_the_table_says_how_it_was_made():
    text = render(
        table(
            result("cora", "gcn", "none", 80.0, 81.0, day=3),
            result("ppi", "gcn", "none", 40.0, day=9),
        ),
        "markdown",
    )
    assert "over 1 or 2 runs" in text
    assert "2024-05-09" in text
    assert "gaug 1.2.3, torch 4.5.6" in text
    assert "validation nodes" in text
    assert text.endswith("\n")


def test_records_of_this_session_and_of_the_store_go_together():
    fresh = result("cora", "gcn", "none", 80.0)
    fresh.records[0].created = datetime(2024, 5, 20, tzinfo=timezone.utc)
    assert "2024-05-20" in " ".join(table(fresh, result("ppi", "gcn", "none", 40.0)).notes)


@pytest.mark.usefixtures("_club_for_cora")
def test_a_cell_takes_over_runs_on_record_and_does_the_others(store, trainings, tmp_path):
    (first,) = run_cells(one_cell(runs=2, root=tmp_path), store=store, graphs=Graphs())
    (second,) = run_cells(one_cell(runs=3, root=tmp_path), store=store, graphs=Graphs())
    assert [record.run for record in second.records] == [0, 1, 2]
    assert [record.id for record in second.records[:2]] == [record.id for record in first.records]
    assert len(store.all()) == len(trainings) == 3
    (third,) = run_cells(one_cell(runs=3, root=tmp_path), store=store, graphs=Graphs())
    assert len(trainings) == 3
    assert third.scores == second.scores


def test_the_authors_split_is_used_where_the_data_folder_has_it(tmp_path):
    def split_of(graph: str) -> object:
        return paper_plan(graph, "gcn", "none", {}, StudyOptions(root=tmp_path)).split

    assert split_of("cora") == "public"
    assert split_of("flickr") == "random"
    file = tmp_path / "splits" / "flickr.npz"
    file.parent.mkdir()
    np.savez(file, train=np.array([0]), val=np.array([1]), test=np.array([2]))
    assert split_of("flickr") == str(file)
    assert split_of("cora") == "public"


@pytest.mark.usefixtures("_club_for_cora")
def test_the_authors_split_reaches_the_records(store, tmp_path):
    nodes = np.arange(34)
    (tmp_path / "splits").mkdir()
    np.savez(tmp_path / "splits" / "cora.npz", train=nodes[::3], val=nodes[1::3], test=nodes[2::3])
    cell = one_cell("mlp", runs=1, root=tmp_path)
    (found,) = run_cells(cell, store=store, graphs=Graphs())
    assert found.records[0].split == "cora"


@pytest.mark.real
def test_a_gcn_on_cora_comes_near_the_paper(store, data_root):
    cell = one_cell(runs=3, root=data_root)
    (found,) = run_cells(cell, store=store, graphs=Graphs(data_root))
    mean, deviation = known(table2_score("cora", "gcn", "none"))
    # Three standard deviations of the paper's single runs, and no more.
    assert abs(np.mean(found.scores) - mean) <= 3 * deviation
