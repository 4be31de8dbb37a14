"""The engine of all studies, with cells of a few epochs on the karate club."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gaug.choosing.grid import Stage
from gaug.cli.main import main
from gaug.drawing.table import Scores, Table
from gaug.errors import TrainingError
from gaug.runs.execute import execute, execute_all
from gaug.runs.executor import Executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.predictions import unpack_probabilities
from gaug.runs.store import Store
from gaug.seeding import run_seed
from gaug.studies import engine
from gaug.studies.chooser import Grid
from gaug.studies.cost import SLOW_RUN_SECONDS, SLOW_RUNS
from gaug.studies.engine import run_cells
from gaug.studies.outcome import Outcome
from gaug.studies.registry import STUDIES, StudyEntry
from gaug.studies.scope import Scope, StudyOptions
from gaug.studies.study import Cell, CellResult, Study
from gaug.training import run as training_run
from gaug.training.loop import train_run
from tests.known import known


def plan_of(method: str = "none", model: str = "gcn", **settings: Any) -> Plan:
    return Plan.of(
        "karate",
        model=model,
        method=method,
        split="stratified",
        settings={"epochs": 2, "train_fraction": 0.3, **settings},
    )


def cell_of(name: str, runs: int = 2, **plan: Any) -> Cell:
    return Cell((name,), plan_of(**plan), range(runs))


def searched_cell(runs: int, *values: float) -> Cell:
    stages = (Stage({"drop_fraction": values}),)
    return Cell(("searched",), plan_of("dropedge"), range(runs), Grid(stages))


def run(cells: Sequence[Cell], store: Store, **options: Any) -> list[CellResult]:
    return run_cells(cells, store=store, graphs=Graphs(), **options)


def models_of(trainings: list[Any]) -> list[str]:
    return [type(config).__name__.removesuffix("Config").lower() for *_, config, _, _ in trainings]


def test_only_what_the_store_lacks_is_trained(store, trainings):
    first = run([cell_of("a", runs=2)], store)
    assert len(trainings) == 2
    second = run([cell_of("a", runs=3), cell_of("b", runs=1, model="mlp")], store)
    assert len(trainings) == 2 + 1 + 1
    assert [record.run for record in second[0].records] == [0, 1, 2]
    assert [record.id for record in second[0].records[:2]] == [r.id for r in first[0].records]
    again = run([cell_of("a", runs=3), cell_of("b", runs=1, model="mlp")], store)
    assert len(trainings) == 4
    assert [result.scores for result in again] == [result.scores for result in second]


def test_runs_are_those_of_execute(store):
    (result,) = run([cell_of("a", runs=3)], store)
    alone = execute(plan_of(), runs=3)
    assert result.scores == [record.test_score for record in alone]
    assert result.val_scores == [record.val_score for record in alone]
    assert result.failure is None


def test_results_come_in_the_order_of_the_cells_whatever_ran_first(store):
    cells = [cell_of("slow", model="gat"), cell_of("quick", model="mlp")]
    results = run(cells, store)
    assert [result.cell.key for result in results] == [("slow",), ("quick",)]


def test_the_cheap_cells_are_run_first_and_every_cell_once_before_any_twice(store, trainings):
    cells = [cell_of("dear", model="gat"), cell_of("cheap"), cell_of("middle", model="jknet")]
    run(cells, store)
    assert models_of(trainings)[:3] == ["gcn", "jknet", "gat"]
    assert sorted(models_of(trainings)[3:]) == ["gat", "gcn", "jknet"]


def test_what_a_run_took_before_says_what_is_cheap(store, trainings, monkeypatch):
    seconds = {("karate", "gcn", "none"): 9.0, ("karate", "gat", "none"): 1.0}
    monkeypatch.setattr(Store, "mean_seconds", lambda self: seconds)
    run([cell_of("dear", runs=1), cell_of("cheap", runs=1, model="gat")], store)
    assert models_of(trainings) == ["gat", "gcn"]


def test_a_cell_that_fails_says_so_in_its_place_and_the_others_go_on(store):
    cells = [
        Cell(("absent",), Plan.of("no/such/folder"), range(2)),
        cell_of("breaks", learning_rate=1e38, epochs=50),
        cell_of("fine"),
    ]
    absent, breaks, fine = run(cells, store)
    assert "no/such/folder" in known(absent.failure)
    assert "learning_rate" in known(breaks.failure)
    assert absent.scores == breaks.scores == []
    assert fine.failure is None
    assert len(fine.scores) == 2


def test_one_run_that_fails_leaves_the_others_of_its_cell(store, monkeypatch):
    def fails_once(*arguments: Any, **options: Any) -> Any:
        if arguments[5] == second_seed:
            raise TrainingError("This one broke.")
        return train_run(*arguments, **options)

    second_seed = run_seed(0, 1)
    monkeypatch.setattr(training_run, "train_run", fails_once)
    (result,) = run([cell_of("a", runs=3)], store)
    assert [record.run for record in result.records] == [0, 2]
    assert result.failure == "This one broke."


def test_a_search_that_fails_leaves_its_cell_without_runs(store):
    run([Cell(("plain",), plan_of("dropedge", learning_rate=1e-3), range(2))], store)
    stages = (Stage({"learning_rate": (1e38,), "epochs": (50,)}),)
    cell = Cell(("searched",), plan_of("dropedge", learning_rate=1e-3), range(2), Grid(stages))
    result, fine = run([cell, cell_of("fine")], store)
    assert "No settings of the grid could be run" in known(result.failure)
    assert result.records == []  # not those of the settings that it starts from
    assert len(fine.records) == 2


@pytest.mark.parametrize("runs", [1, 2])
def test_when_the_time_is_over_what_is_there_is_given_and_the_rest_told(store, runs):
    run([cell_of("here", runs=runs)], store)
    here, absent = run([cell_of("here"), cell_of("absent", model="mlp")], store, time_budget=1e-9)
    assert [record.run for record in here.records] == list(range(runs))
    assert here.failure == (None if runs == 2 else "1 of 2 runs in the time given")
    assert (absent.records, absent.failure) == ([], "0 of 2 runs in the time given")
    assert len(store.all()) == runs


def test_the_time_ends_a_search_and_its_cell_says_so(store):
    plain, searched = run([cell_of("plain"), searched_cell(2, 0.1, 0.5)], store, time_budget=1e-9)
    assert plain.failure == searched.failure == "0 of 2 runs in the time given"
    assert (searched.trials, searched.settings) == (0, {})


def with_seconds(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Runs take no time and say that they took so much."""

    class Instant(Executor):
        def run(self, jobs: Any, on_progress: Any = None, on_note: Any = None) -> Any:
            for job in jobs:
                yield job, dict(outcome)

    outcome = {
        "val_score": 50.0,
        "test_score": 50.0,
        "best_epoch": 1,
        "epochs": 1,
        "seconds": seconds,
        "peak_memory_mb": 1.0,
    }
    monkeypatch.setattr(
        engine,
        "execute_all",
        lambda *arguments, **options: execute_all(
            *arguments, **(options | {"executor": Instant()})
        ),
    )


@pytest.mark.parametrize(("factor", "wanted"), [(1.0, SLOW_RUNS + 2), (1.01, SLOW_RUNS)])
def test_a_cell_whose_run_takes_over_the_limit_gets_fewer_runs(store, monkeypatch, factor, wanted):
    with_seconds(monkeypatch, factor * SLOW_RUN_SECONDS)
    (result,) = run([cell_of("a", runs=SLOW_RUNS + 2)], store)
    assert [record.run for record in result.records] == list(range(wanted))
    assert result.failure is None, "fewer runs are as many as there should be"
    assert len(store.all()) == wanted


def test_a_search_takes_the_best_on_validation_nodes_and_goes_on_from_its_trials(store, trainings):
    values = (0.05, 0.5, 0.95)
    (result,) = run([searched_cell(4, *values)], store, trial_runs=2)
    by_value = {
        value: execute(plan_of("dropedge", drop_fraction=value), runs=4) for value in values
    }
    merits = {
        value: sum(
            known(record.val_score)
            + float(unpack_probabilities(known(record.val_probabilities)).mean())
            for record in records[:2]
        )
        for value, records in by_value.items()
    }
    best = max(merits, key=lambda value: merits[value])  # of equal ones the first
    assert result.settings == {"drop_fraction": best}
    assert result.trials == 3
    assert result.val_scores == [record.val_score for record in by_value[best]]
    assert result.scores == [record.test_score for record in by_value[best]]
    # Three settings twice, and two more runs of the best: its trials are not trained again.
    references = 3 * 4
    assert len(trainings) - references == 3 * 2 + 2


def test_a_search_never_sees_the_labels_of_test_nodes(store, trainings):
    run([searched_cell(3, 0.1, 0.5)], store, trial_runs=2)
    hidden, seen = trainings.labels_of_test_nodes[:4], trainings.labels_of_test_nodes[4:]
    assert hidden == [{-1}] * 4
    assert seen == [{0, 1}]


def test_test_scores_are_read_for_the_chosen_settings_alone(store):
    (result,) = run([searched_cell(2, 0.1, 0.5)], store, trial_runs=2)
    for record in store.all():
        chosen = record.config["method"]["drop_fraction"] == result.settings["drop_fraction"]
        assert (record.test_score is not None) == chosen


def test_a_searched_cell_is_found_again_on_record(store, trainings):
    first = run([searched_cell(3, 0.1, 0.5)], store)
    trained = len(trainings)
    second = run([searched_cell(3, 0.1, 0.5)], store)
    assert len(trainings) == trained
    assert (second[0].settings, second[0].scores) == (first[0].settings, first[0].scores)


def test_a_history_is_kept_where_a_cell_wants_one(store, trainings):
    run([cell_of("a", runs=1)], store)
    wanted = Cell(("a",), plan_of(), range(1), keep_history=True)
    (result,) = run([wanted], store)
    assert [row["epoch"] for row in known(result.records[0].history)] == [1, 2]
    run([wanted], store)
    assert len(trainings) == 2  # once without, once with


def test_progress_ends_at_the_whole_also_where_a_cell_fails(store):
    told: list[tuple[float, float]] = []
    cells = [
        cell_of("a"),
        cell_of("breaks", model="mlp", learning_rate=1e38, epochs=50),
        searched_cell(2, 0.1, 0.5),
    ]
    run(cells, store, on_work=lambda done, total: told.append((done, total)))
    assert len(told) > 10
    assert all(0 <= done <= total for done, total in told)
    assert told[0][0] < told[0][1] / 2
    assert told[-1][0] == pytest.approx(told[-1][1])


class TinyStudy(Study):
    """A study as somebody would write one: which runs, and how they are shown."""

    name = "tiny"
    title = "Tiny"
    scope = Scope(models=("gcn", "mlp"), runs=2)

    def cells(self, options: StudyOptions) -> list[Cell]:
        return [
            Cell((model,), plan_of(model=model), self.scope.run_numbers(options))
            for model in self.scope.chosen(options, "models")
        ]

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        rows = [[*outcome.key, Scores(outcome.scores)] for outcome in outcomes]
        return Table(self.title, ["model", "karate"], rows)


def test_a_new_study_is_its_own_file_and_one_line_of_the_registry(
    monkeypatch, capsys, tmp_path, store
):
    entry = StudyEntry("tests.studies.test_engine:TinyStudy", TinyStudy.scope)
    monkeypatch.setitem(STUDIES, "tiny", entry)
    out = tmp_path / "tiny.csv"
    command = ["gaug", "reproduce", "tiny", "--models", "mlp", "--format", "json", "--out", out]
    monkeypatch.setattr("sys.argv", list(map(str, command)))
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    expected = [known(record.test_score) for record in execute(plan_of(model="mlp"), runs=2)]
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["model"], row["karate"]["runs"]) == ("mlp", 2)
    assert row["karate"]["mean"] == pytest.approx(sum(expected) / 2, abs=1e-3)
    assert out.read_text(encoding="utf-8").startswith("model,karate mean,karate std,karate runs,")


@pytest.mark.parametrize("name", STUDIES)
def test_the_registry_says_of_each_study_what_it_is(name: str) -> None:
    study = STUDIES[name].load()
    assert study.name == name
    assert study.scope == STUDIES[name].scope
    assert (type(study).draw is not Study.draw) == study.scope.has_picture
