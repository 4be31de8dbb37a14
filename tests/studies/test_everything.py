"""All studies together: cheap cells first, shared ones once, and what is missing is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gaug.choosing.grid import Stage
from gaug.drawing.table import Scores, Table, render
from gaug.errors import DataError
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.studies.chooser import Given, Grid
from gaug.studies.cost import SLOW_RUN_SECONDS, SLOW_RUNS, cell_seconds, duration, remaining
from gaug.studies.everything import Part, gather, overview, run_parts
from gaug.studies.outcome import Outcome
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study


class Some(Study):
    """A study of given cells."""

    def __init__(self, name: str, cells: Sequence[Cell] = ()) -> None:
        self.name = self.title = name
        self._cells = list(cells)

    def cells(self, options: StudyOptions) -> list[Cell]:
        if not self._cells:
            raise DataError("Its graph is away.")
        return self._cells

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        rows = [[*outcome.key, Scores(outcome.scores)] for outcome in outcomes]
        return Table(self.title, ["cell", "score"], rows)


def plan_of(model: str = "gcn", method: str = "none", **settings: Any) -> Plan:
    settings = {"epochs": 2, "train_fraction": 0.3, **settings}
    return Plan.of("karate", model=model, method=method, split="stratified", settings=settings)


def cell_of(name: str, runs: int = 2, stages: Sequence[Stage] = (), **plan: Any) -> Cell:
    chooser = Grid(stages) if stages else Given()
    return Cell((name,), plan_of(**plan), range(runs), chooser)


def run(parts: Sequence[Part], store: Store, **options: Any) -> list[list[CellResult]]:
    return run_parts(parts, store=store, graphs=Graphs(), **options)


def test_what_two_studies_need_is_trained_once_and_each_has_its_own_runs(store, trainings):
    one = Part(Some("one"), [cell_of("a", 3), cell_of("b", 1, model="mlp")])
    two = Part(Some("two"), [cell_of("c", 2)])
    first, second = run([one, two], store)
    assert len(trainings) == 3 + 1
    assert [result.cell.key for result in first] == [("a",), ("b",)]
    assert [result.cell.key for result in second] == [("c",)]
    assert first[0].scores[:2] == second[0].scores
    assert [len(result.records) for result in (*first, *second)] == [3, 1, 2]
    assert [result.failure for result in (*first, *second)] == [None] * 3


def test_a_search_that_two_studies_share_is_done_once(store, trainings):
    stages = (Stage({"drop_fraction": (0.1, 0.5)}),)
    cells = [cell_of(name, 2, stages, method="dropedge") for name in "ab"]
    (one,), (two,) = run([Part(Some("x"), cells[:1]), Part(Some("y"), cells[1:])], store)
    assert len(trainings) == 2 * 2
    assert (one.settings, one.trials) == (two.settings, two.trials)
    assert one.scores == two.scores


def test_cells_that_take_less_come_first_over_all_studies(store, trainings, monkeypatch):
    seconds = {
        ("karate", "gcn", "none"): 4000.0,
        ("karate", "gat", "none"): 1.0,
        ("karate", "jknet", "none"): 200.0,
    }
    monkeypatch.setattr(Store, "mean_seconds", lambda self: seconds)
    one = Part(Some("one"), [cell_of("dear", 2), cell_of("cheap", 2, model="gat")])
    two = Part(Some("two"), [cell_of("middle", 2, model="jknet")])
    run([one, two], store)
    models = [type(config).__name__ for *_, config, _, _ in trainings]
    # Each is finished before the next is begun.
    assert models == ["GATConfig"] * 2 + ["JKNetConfig"] * 2 + ["GCNConfig"] * 2


def test_a_study_that_comes_last_waits_for_all_others_but_shares_their_runs(
    store, trainings, monkeypatch
):
    seconds = {("karate", "gcn", "none"): 4000.0, ("karate", "gat", "none"): 1.0}
    monkeypatch.setattr(Store, "mean_seconds", lambda self: seconds)
    late = Some("late", [cell_of("cheap", 2, model="gat"), cell_of("shared", 2)])
    late.comes_last = True
    parts = [Part(late, late.cells(StudyOptions())), Part(Some("early"), [cell_of("dear")])]
    found, _ = run(parts, store)
    models = [type(config).__name__ for *_, config, _, _ in trainings]
    assert models == ["GCNConfig"] * 2 + ["GATConfig"] * 2
    assert [len(result.records) for result in found] == [2, 2]


def test_when_there_is_no_time_the_overview_says_what_is_missing_and_what_it_takes(
    store, trainings, monkeypatch
):
    run([Part(Some("before"), [cell_of("a", 1)])], store)
    trained = len(trainings)
    seconds = {("karate", "gcn", "none"): 10.0, ("karate", "gat", "dropedge"): 20.0}
    monkeypatch.setattr(Store, "mean_seconds", lambda self: seconds)
    stages = (Stage({"drop_fraction": (0.1, 0.5)}),)
    parts = [
        Part(Some("one"), [cell_of("a", 1)]),
        Part(Some("two"), [cell_of("b", 5, stages, model="gat", method="dropedge")]),
        *gather([Some("three")], StudyOptions()),
    ]
    results = run(parts, store, time_budget=0.0)
    assert len(trainings) == trained
    table = overview(parts, results, store.mean_seconds(), trial_runs=3)
    # Five runs, and three of each of the two settings.
    assert table.rows == [
        ["one", 1, 1, 0, None],
        ["two", 1, 0, 5 + 6, "4 min"],
        ["three", 0, 0, 0, None],
    ]
    (schedule,) = table.details
    assert schedule.rows == [
        ["up to 60 s", 0, None],
        ["up to 10 min", 1, "4 min"],
        ["up to 60 min", 0, None],
        ["longer", 0, None],
    ]
    assert "three: Its graph is away." in table.notes
    assert "about 4 min with one worker" in table.notes[-1]


def test_a_search_on_record_is_shown_also_when_there_is_no_time(store, trainings):
    stages = (Stage({"drop_fraction": (0.1, 0.5)}),)
    part = Part(Some("one"), [cell_of("a", 3, stages, method="dropedge")])
    ((before,),) = run([part], store)
    trained = len(trainings)
    ((after,),) = run([part], store, time_budget=0.0)
    assert len(trainings) == trained
    assert (after.settings, after.trials, after.scores) == (
        before.settings,
        before.trials,
        before.scores,
    )
    assert after.failure is None
    # One more run was not made: what is there is shown.
    more = Part(Some("one"), [cell_of("a", 4, stages, method="dropedge")])
    ((short,),) = run([more], store, time_budget=0.0)
    assert short.scores == before.scores
    assert short.failure == "3 of 4 runs in the time given"


def test_slow_cells_count_with_fewer_runs():
    cell = cell_of("a", SLOW_RUNS + 20)
    kind = ("karate", "gcn", "none")
    assert cell_seconds(cell, {kind: 2.0}, 3) == 2.0 * (SLOW_RUNS + 20)
    slow = 2 * SLOW_RUN_SECONDS
    assert cell_seconds(cell, {kind: slow}, 3) == slow * SLOW_RUNS
    missing = remaining(CellResult(cell, failure="0 of 30 runs"), {kind: slow}, 3)
    assert (missing.runs, missing.seconds) == (SLOW_RUNS, slow * SLOW_RUNS)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")],
)
def test_a_duration_reads_as_a_person_would_say_it(seconds, text):
    assert duration(seconds) == text


def test_progress_goes_to_the_whole_over_all_tiers(store, monkeypatch):
    seconds = {("karate", "gcn", "none"): 4000.0, ("karate", "gat", "none"): 1.0}
    monkeypatch.setattr(Store, "mean_seconds", lambda self: seconds)
    told: list[tuple[float, float]] = []
    cells = [cell_of("dear", 1), cell_of("cheap", 1, model="gat")]
    run([Part(Some("one"), cells)], store, on_work=lambda done, total: told.append((done, total)))
    assert all(0 <= done <= total for done, total in told)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == pytest.approx(told[-1][1])


def test_an_overview_can_be_printed_in_every_format(store):
    parts = [Part(Some("one"), [cell_of("a", 1)])]
    table = overview(parts, run(parts, store), store.mean_seconds(), 3)
    assert json.loads(render(table, "json"))["rows"][0]["finished"] == 1
