"""Outcomes on record: what was written can be read, added to, and drawn again."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from gaug.drawing.table import render
from gaug.errors import DataError
from gaug.runs.graphs import Graphs
from gaug.runs.record import RunRecord
from gaug.studies.chooser import Chosen, Grid
from gaug.studies.engine import run_cells
from gaug.studies.figure1 import Figure1
from gaug.studies.outcome import Outcome, from_lines, merged, to_lines
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, paper_plan
from gaug.studies.table2 import Table2


def result(*scores: float) -> CellResult:
    records = [
        RunRecord(
            run=run,
            test_score=score,
            val_score=score - 1,
            seconds=1.5,
            created=datetime(2024, 5, 2, 12),
            versions={"gaug": "1.2.3"},
        )
        for run, score in enumerate(scores)
    ]
    plan = paper_plan("cora", "gcn", "dropedge", {}, StudyOptions())
    cell = Cell(("cora", "gcn", "dropedge"), plan, range(len(scores)), Grid(()))
    return CellResult(cell, records, Chosen({"drop_fraction": 0.2}, 5))


def test_an_outcome_has_what_its_runs_have() -> None:
    outcome = Outcome.of(result(80.0, 81.23456), edges=7)
    assert outcome.scores == [80.0, 81.235]
    assert outcome.val_scores == [79.0, 80.235]
    assert (outcome.runs, outcome.seconds, outcome.made) == (2, 1.5, "2024-05-02")
    assert (outcome.settings, outcome.chosen, outcome.trials) == (
        {"drop_fraction": 0.2},
        "search",
        5,
    )
    assert outcome.facts == {"edges": 7}


def test_a_line_says_mean_spread_runs_settings_and_how_they_were_chosen() -> None:
    (line,) = to_lines("table2", [Outcome.of(result(80.0, 84.0))]).splitlines()
    found = json.loads(line)
    assert found["study"] == "table2"
    assert (found["mean"], found["std"], found["runs"]) == (82.0, 2.828, 2)
    assert (found["settings"], found["chosen"]) == ({"drop_fraction": 0.2}, "search")


def test_what_is_written_is_read_again_and_makes_the_same_table() -> None:
    outcomes = [Outcome.of(result(80.0, 81.23456)), Outcome(("cora", "gcn", "none"), failure="No.")]
    name, again = from_lines(to_lines("table2", outcomes), "here")
    assert (name, again) == ("table2", outcomes)
    tables = [render(Table2().full_table(found), "markdown") for found in (outcomes, again)]
    assert tables[0] == tables[1]


def test_a_figure_on_record_is_drawn_as_before(store, tmp_path) -> None:
    study, options = Figure1(), StudyOptions(runs=1)
    results = run_cells(study.cells(options), store=store, graphs=Graphs())
    outcomes = study.outcomes(results, Graphs(), options)
    _, again = from_lines(to_lines("figure1", outcomes), "here")
    for name, found in (("first", outcomes), ("second", again)):
        study.draw(found, tmp_path / f"{name}.svg")
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_new_outcomes_take_the_place_of_old_ones_unless_they_are_empty() -> None:
    def one(name: str, *scores: float) -> Outcome:
        return Outcome((name,), scores=scores)

    found = merged([one("a", 1.0), one("b", 2.0)], [one("b"), one("a", 3.0), one("c")])
    assert found == [one("a", 3.0), one("b", 2.0), one("c")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"here, line 1, must be a JSON object"),
        ('{"study": "table2"}', "line 1, must be"),
        ("", r"must have the outcomes of one study, got 0"),
        (to_lines("table2", [Outcome(("a",))]) + to_lines("table3", [Outcome(("a",))]), "got 2"),
    ],
)
def test_what_is_no_record_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_lines(text, "here")
