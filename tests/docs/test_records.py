"""What the pages show is what is on record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.generate import RECORDS, ROOT, draw_pictures, filled, pages, read_record

from gaug.errors import DataError
from gaug.runs.graphs import Graphs
from gaug.studies.figure9 import Figure9
from gaug.studies.outcome import Outcome, to_lines
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions

ON_RECORD = [
    Outcome(("cora", "gcn", "none"), scores=[80.0, 84.0], command="gaug reproduce table2"),
    Outcome(("cora", "gcn", "gaug-m"), scores=[83.0], settings={"predictor": "ra"}),
]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    (tmp_path / "table2.jsonl").write_text(to_lines("table2", ON_RECORD), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_page_shows_what_is_on_record(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == filled(text), "run 'make results'"


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_record_is_of_a_study_and_shown(path: Path) -> None:
    study, outcomes = read_record(path)
    assert study.name in STUDIES
    assert all(outcome.command for outcome in outcomes)
    assert study.full_table(outcomes).rows
    shown = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert f" {path.name} " in shown


def test_the_records_are_small() -> None:
    assert sum(path.stat().st_size for path in RECORDS.glob("*")) < 1_000_000


def test_a_block_is_made_from_the_record_and_what_was_there_is_gone(records: Path) -> None:
    text = "Before.\n\n<!-- table: table2.jsonl -->\nolder\n<!-- end -->\n\nAfter.\n"
    found = filled(text, records)
    assert "older" not in found
    assert "| GCN | original | 82.0 ± 2.8 (81.6) |" in found
    assert "| GCN | GAug-M | **83.0 (83.5)** |" in found
    assert "Made by `gaug reproduce table2`." in found
    assert "\n# " not in found
    assert found.startswith("Before.\n\n<!-- table")
    assert found.endswith("<!-- end -->\n\nAfter.\n")
    assert filled(found, records) == found


def test_one_cell_within_a_line(records: Path) -> None:
    kinds = [
        f"<!-- {kind}: table2.jsonl cora gcn none -->1<!-- end -->" for kind in ("score", "mean")
    ]
    text = f"a {kinds[0]} b {kinds[1]}"
    assert re.sub("<!--.*?-->", "", filled(text, records)) == "a 82.0 ± 2.8 b 82.0"


def test_only_the_comparison(records: Path) -> None:
    found = filled("<!-- beside: table2.jsonl --><!-- end -->", records)
    assert "| cora | GCN | original | 82.0 ± 2.8 | 81.6 ± 0.7 | +0.4 | within | 2 |" in found
    assert "| cora | GCN | GAug-M | 83.0 | 83.5 ± 0.4 | -0.5 | below | 1 |" in found
    assert "0 above, 1 within, 1 below" in found
    assert "predictor=ra" not in found


def test_another_figure_than_the_recorded_one_is_noticed(records: Path) -> None:
    page = filled("<!-- score: table2.jsonl cora gcn none --><!-- end -->", records)
    assert filled(page.replace("82.0", "82.1"), records) == page


def test_a_study_without_a_record_says_how_to_make_it(tmp_path: Path) -> None:
    found = filled("<!-- table: table6.jsonl --><!-- end -->", tmp_path)
    assert "Not measured yet: `gaug reproduce table6 --out docs/results/table6.jsonl`." in found


def test_a_second_record_that_is_missing_is_told_too(records: Path) -> None:
    found = filled("<!-- selection: table2.jsonl theirs.jsonl --><!-- end -->", records)
    assert "Not measured yet: `gaug reproduce table2 --out docs/results/theirs.jsonl`." in found


@pytest.mark.parametrize("key", ["cora gat none", "cora"])
def test_a_cell_that_is_not_on_record_is_told(records: Path, key: str) -> None:
    with pytest.raises(DataError, match=rf"table2.jsonl has no runs of {key}\."):
        filled(f"<!-- mean: table2.jsonl {key} --><!-- end -->", records)


def test_pictures_are_drawn_from_the_record(records: Path) -> None:
    outcomes = Figure9().outcomes([], Graphs(), StudyOptions(runs=1))
    (records / "figure9.jsonl").write_text(to_lines("figure9", outcomes), encoding="utf-8")
    assert draw_pictures(records, records) == [records / "figure9.png"]
    assert (records / "figure9.png").read_bytes().startswith(b"\x89PNG")


def test_verdicts_are_counted_by_method(records: Path) -> None:
    found = filled("<!-- verdicts: table2.jsonl --><!-- end -->", records)
    assert "| original | 1 | 0 | 1 | 0 | +0.4 | +0.4 to +0.4 |" in found
    assert "| GAug-M | 1 | 0 | 0 | 1 | -0.5 | -0.5 to -0.5 |" in found
    assert "| all | 2 | 0 | 1 | 1 | +0.0 | -0.5 to +0.4 |" in found


def test_without_a_cell_of_the_paper_no_verdicts_are_counted(records: Path) -> None:
    alone = [Outcome(("cora", "mlp", "none"), scores=[60.0])]
    (records / "table2.jsonl").write_text(to_lines("table2", alone), encoding="utf-8")
    found = filled("<!-- verdicts: table2.jsonl --><!-- end -->", records)
    assert "| all |" not in found


def test_cells_with_both_kinds_of_settings_stand_side_by_side(records: Path) -> None:
    key = ("cora", "gcn", "gaug-o")
    ours = Outcome(key, scores=[81.0, 81.0], val_scores=[82.0, 82.0], chosen="preset")
    theirs = Outcome(key, scores=[83.0, 83.0], val_scores=[80.0, 80.0], chosen="published")
    alone = Outcome(("citeseer", "gcn", "gaug-o"), scores=[70.0], val_scores=[70.0])
    path = records / "table2.jsonl"
    path.write_text(to_lines("table2", [*ON_RECORD, ours]), encoding="utf-8")
    other = records / "table2_published.jsonl"
    other.write_text(to_lines("table2", [theirs, alone]), encoding="utf-8")
    text = f"<!-- selection: {path.name} {other.name} --><!-- end -->"
    found = filled(text, records)
    row = "| cora | GCN | GAug-O | 82.0 ± 0.0 | 80.0 ± 0.0 | 81.0 ± 0.0 | 83.0 ± 0.0 | 83.6 |"
    assert row in found
    assert "citeseer" not in found


def test_the_time_of_all_records_is_added_up(records: Path) -> None:
    cells = [
        Outcome(("cora", "gcn", "none"), scores=[80.0] * 30, seconds=60.0),
        Outcome(("cora", "gcn", "gaug-o"), scores=[80.0] * 10, seconds=540.0),
    ]
    (records / "table2.jsonl").write_text(to_lines("table2", cells), encoding="utf-8")
    found = filled("<!-- cost: * --><!-- end -->", records)
    assert "| table2 | 2 | 40 | 2.0 |" in found
    assert "| all |  | 40 | 2.0 |" in found


def test_many_commands_are_not_all_printed() -> None:
    outcomes = [
        Outcome(("cora", "gcn", "none"), scores=[80.0], command=f"gaug reproduce table2 --seed {n}")
        for n in range(5)
    ]
    notes = " ".join(STUDIES["table2"].load().full_table(outcomes).notes)
    assert "`gaug reproduce table2 --seed 0` and 4 others like it" in notes
    assert "--seed 1" not in notes
