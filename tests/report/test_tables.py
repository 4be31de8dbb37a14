from __future__ import annotations

from datetime import datetime, timezone

from gaug.report.tables import table2_markdown

from gaug.runs.record import RunRecord
from gaug.studies.table2 import Cell, CellResult


def result(graph: str, model: str, method: str, *scores: float, day: int = 1) -> CellResult:
    records = [
        RunRecord(
            test_score=score,
            seconds=1.0,
            peak_memory_mb=1.0,
            created=datetime(2024, 5, day, 12),
            versions={"gaug": "1.2.3", "torch": "4.5.6"},
        )
        for score in scores
    ]
    return CellResult(Cell(graph, model, method), records)


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_ours_stands_with_its_deviation_beside_the_paper_s_mean():
    text = table2_markdown(
        [
            result("cora", "gcn", "none", 80.0, 84.0),
            result("ppi", "gcn", "none", 43.0, 43.0),
            result("cora", "jknet", "dropedge", 80.04, 80.04, 80.04),
            result("ppi", "jknet", "dropedge", 46.0),
        ],
        "gaug reproduce table2",
    )
    assert rows(text) == [
        ["model", "method", "cora", "ppi"],
        ["---", "---", "---", "---"],
        ["GCN", "original", "82.0 ± 2.8 (81.6)", "43.0 ± 0.0 (43.4)"],
        ["JK-Net", "DropEdge", "80.0 ± 0.0 (80.4)", "46.0 (46.3)"],
    ]


def test_a_cell_that_the_paper_does_not_have_shows_ours_alone():
    text = table2_markdown([result("pubmed", "gcn", "none", 78.0, 80.0)], "gaug")
    assert rows(text)[2] == ["GCN", "original", "79.0 ± 1.4"]


def test_a_cell_that_was_not_run_is_a_dash():
    text = table2_markdown(
        [result("cora", "gcn", "none", 80.0), result("ppi", "mlp", "none", 40.0)], "gaug"
    )
    assert rows(text)[2:] == [
        ["GCN", "original", "80.0 (81.6)", "–"],
        ["MLP", "original", "–", "40.0"],
    ]


def test_the_table_says_how_it_was_made():
    text = table2_markdown(
        [
            result("cora", "gcn", "none", 80.0, 81.0, day=3),
            result("ppi", "gcn", "none", 40.0, day=9),
        ],
        "gaug reproduce table2 --runs 2",
    )
    assert "`gaug reproduce table2 --runs 2`" in text
    assert "over 1 or 2 runs" in text
    assert "2024-05-09" in text
    assert "gaug 1.2.3, torch 4.5.6" in text
    assert "validation nodes" in text
    assert text.endswith("\n")


def test_records_of_this_session_and_of_the_store_go_together():
    fresh = result("cora", "gcn", "none", 80.0)
    fresh.records[0].created = datetime(2024, 5, 20, tzinfo=timezone.utc)
    text = table2_markdown([fresh, result("ppi", "gcn", "none", 40.0)], "gaug")
    assert "2024-05-20" in text
