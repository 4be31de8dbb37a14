"""The page of a store: runs grouped rightly, the paper beside ours, and odd stores."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import optuna
import pytest

from gaug.choosing.optuna_study import setting_importances
from gaug.choosing.search import search
from gaug.data.catalog.loading import load_graph
from gaug.data.splits import Split
from gaug.errors import DataError, StoreError
from gaug.presets.preset import find_preset
from gaug.report.page.document import Page
from gaug.report.store_page.experiments import CHOSEN, DEFAULT, GIVEN, TRIED, group
from gaug.report.store_page.page import store_page
from gaug.report.store_page.paper import missing_runs, paper_parts
from gaug.report.store_page.search_section import search_section
from gaug.report.store_page.searches import Search, read_searches, score_of
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.studies.figure1 import Figure1
from gaug.studies.paper import FIGURE1, published_settings
from gaug.studies.scope import StudyOptions
from tests.report.page.test_html import read
from tests.runs.test_schema import make_old_store, row


def record(plan: Plan, run: int = 0, graph: str = "cora", **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "created": datetime(2026, 1, 1, tzinfo=timezone.utc),
        "identity": f"{graph} {plan} {json.dumps(plan.config)} {run}",
        "graph": graph,
        "graph_hash": "a" * 12,
        "split": "public",
        "split_hash": "b" * 12,
        "model": plan.model.name,
        "method": plan.method.name,
        "protocol": "validation",
        "config": plan.config,
        "seed": 0,
        "run": run,
        "val_score": 80.0,
        "test_score": 81.0 + run,
        "best_epoch": 5,
        "epochs": 10,
        "seconds": 2.0,
        "peak_memory_mb": 100.0,
        "versions": {"gaug": "0.1.0"},
        "commit": None,
        "history": None,
        "warning": None,
    }
    return RunRecord(**(values | changes))


def plan(method: str = "none", **settings: Any) -> Plan:
    return Plan.of("cora", model="gcn", method=method, settings=settings)


def store_of(tmp_path: Path, *records: RunRecord) -> Store:
    store = Store(str(tmp_path / "runs.sqlite"))
    for one in records:
        store.add(one)
    return store


def grouped(store: Store) -> dict[str, Any]:
    return {
        f"{one.first.method} {one.settings_text}".strip(): one
        for one in group(store.outlines(), store.ids_with_hidden_test())
    }


def test_runs_that_differ_by_their_number_alone_are_one_experiment(tmp_path: Path) -> None:
    store = store_of(
        tmp_path,
        *(record(plan(), run) for run in range(3)),
        *(record(plan("dropedge", drop_fraction=0.3), run) for run in range(2)),
    )
    found = grouped(store)
    assert {name: len(one.records) for name, one in found.items()} == {
        "none": 3,
        "dropedge drop_fraction=0.3": 2,
    }
    assert found["none"].tests == [81.0, 82.0, 83.0]
    assert found["none"].chosen == DEFAULT
    assert found["dropedge drop_fraction=0.3"].chosen == GIVEN


def test_of_one_identity_the_newest_record_counts(tmp_path: Path) -> None:
    store = store_of(tmp_path, record(plan(), test_score=1.0), record(plan(), test_score=2.0))
    assert grouped(store)["none"].tests == [2.0]


def test_single_runs_on_splits_drawn_for_each_are_one_experiment(tmp_path: Path) -> None:
    runs = [record(plan(), run, split_hash=f"{run:012}") for run in range(4)]
    assert [len(one.records) for one in grouped(store_of(tmp_path, *runs)).values()] == [4]


def test_two_runs_that_drew_the_same_split_belong_to_the_others(tmp_path: Path) -> None:
    drawn = ["a", "b", "b", "c"]
    runs = [record(plan(), run, split_hash=split) for run, split in enumerate(drawn)]
    assert [len(one.records) for one in grouped(store_of(tmp_path, *runs)).values()] == [4]


@pytest.mark.parametrize("seed", [0, 1])
def test_runs_on_two_fixed_splits_are_two_experiments(seed: int) -> None:
    runs = [record(plan(), run, id=run, split_hash="a") for run in range(3)]
    runs += [
        record(plan(), run, id=3 + run, split_hash="b", identity=f"b {run}", seed=seed)
        for run in range(3)
    ]
    found = group(runs, set())
    assert [{one.split_hash for one in each.records} for each in found] == [{"b"}, {"a"}]


def test_each_variant_of_figure_1_is_an_experiment_with_all_its_runs() -> None:
    cells = Figure1().cells(StudyOptions())
    records = [
        record(
            cell.plan,
            cell.key[2],
            id=place,
            identity=str(place),
            split_hash=split.hash,
            test_score=float(list(FIGURE1).index(cell.key[0])),
        )
        for place, cell in enumerate(cells)
        if isinstance(split := cell.plan.split, Split)
    ]
    assert len({one.split_hash for one in records}) < 30  # some runs draw the same split
    found = group(records, set())
    assert [len(one.records) for one in found] == [30] * 7
    assert all(len(set(one.tests)) == 1 for one in found)  # no two variants in one


def test_hidden_test_labels_tell_what_was_tried_and_what_was_chosen(tmp_path: Path) -> None:
    tried = record(plan("dropedge", drop_fraction=0.1), test_predictions=b"x", test_score=None)
    chosen = record(plan("dropedge", drop_fraction=0.2), test_predictions=b"x")
    found = grouped(store_of(tmp_path, tried, chosen))
    assert found["dropedge drop_fraction=0.1"].chosen == TRIED
    assert found["dropedge drop_fraction=0.2"].chosen == CHOSEN


def test_a_cell_of_table_2_shows_what_a_search_chose_then_the_best_on_validation(
    tmp_path: Path,
) -> None:
    weak = record(plan("dropedge", drop_fraction=0.1), id=1, val_score=70.0, test_score=99.0)
    good = record(plan("dropedge", drop_fraction=0.2), id=2, val_score=75.0, test_score=60.0)
    experiments = group([weak, good], set())
    (table2,) = [part for part in paper_parts(experiments) if part.name == "table2"]

    def shown(part: Any) -> list[float]:
        (result,) = [one for one in part.results if one.cell.key == ("cora", "gcn", "dropedge")]
        return list(result.scores)

    assert shown(table2) == [60.0]  # by validation, though its test score is lower
    (table2,) = [part for part in paper_parts(group([weak, good], {1})) if part.name == "table2"]
    assert shown(table2) == [99.0]  # a search chose it


@pytest.mark.real
def test_runs_with_the_settings_of_a_preset_fill_its_cell_before_others(tmp_path: Path) -> None:
    preset = find_preset("cora", "gcn", "dropedge")
    other = record(plan("dropedge", drop_fraction=0.15), id=1, val_score=99.0, test_score=70.0)
    same = record(plan("dropedge", **preset.settings), id=2, val_score=70.0, test_score=81.0)
    (table2,) = [part for part in paper_parts(group([other, same], {1})) if part.name == "table2"]
    (cell,) = [one for one in table2.results if one.cell.key == ("cora", "gcn", "dropedge")]
    assert list(cell.scores) == [81.0]
    assert cell.trials == preset.trials


def test_cells_with_fixed_settings_need_exactly_these(tmp_path: Path) -> None:
    published = published_settings("cora", "gcn", "gaug-o")
    right = record(plan("gaug-o", **published, variant="rounding"), id=1, test_score=82.0)
    other = record(plan("gaug-o", variant="rounding", alpha=0.1), id=2, test_score=50.0)
    (table3,) = [
        part for part in paper_parts(group([right, other], set())) if part.name == "table3"
    ]
    filled = {one.cell.key: list(one.scores) for one in table3.results if one.records}
    assert filled == {("rounding", "gcn"): [82.0]}
    assert "23 of 24 cells have no runs" in missing_runs(table3)
    assert "1 cell has 1 of 30 runs" in missing_runs(table3)
    assert table3.is_begun
    assert table3.table is not None
    assert [row[0] for row in table3.table.rows] == ["rounding"]
    assert table3.table.header == ["variant", "GCN"]


def test_a_table_with_no_more_than_plain_training_is_not_begun(tmp_path: Path) -> None:
    parts = {part.name: part for part in paper_parts(group([record(plan(), id=1)], set()))}
    # Tables 2 and 3 both have a cell of it.
    assert (parts["table2"].filled, parts["table3"].filled) == (1, 1)
    assert (parts["table2"].is_begun, parts["table3"].is_begun) == (True, False)
    seen = read(store_page(store_of(tmp_path, record(plan()))).render())
    missing = seen.text[seen.text.rindex("Gaps and warnings") :]
    assert "Table 3, Table 5" in missing
    assert "gaug reproduce table3" not in missing


def test_figure_2_takes_its_steps_from_the_fractions(tmp_path: Path) -> None:
    settings = {"predictor": "gae", "remove_fraction": 0.0}
    runs = [
        record(
            plan("gaug-m", add_fraction=share, **settings), run, test_score=70 + 10 * share + run
        )
        for share in (0.1, 0.5)
        for run in (0, 2)
    ]
    page = store_page(store_of(tmp_path, *runs))
    (series,) = page.data["charts"]["figure2-0"]["series"]
    assert (series["x"], series["y"]) == ([0.1, 0.5], [72.0, 76.0])
    assert series["name"] == "added, learned"


def test_the_page_has_our_score_and_the_papers(tmp_path: Path) -> None:
    text = store_page(store_of(tmp_path, *(record(plan(), run) for run in range(2)))).render()
    seen = read(text)
    assert "81.5 ± 0.7" in seen.text
    assert "(paper 81.6)" in seen.text
    assert "in parentheses the paper's mean" in seen.text
    assert "gaug reproduce table2" in seen.text


def test_learning_curves_are_means_over_runs(tmp_path: Path) -> None:
    history = [[{"val_score": 10.0}, {"val_score": 30.0}], [{"val_score": 20.0}]]
    runs = [record(plan(), run, history=history[run]) for run in range(2)]
    page = store_page(store_of(tmp_path, *runs))
    ((chart,),) = page.data["curves"].values()
    assert chart["series"][0]["y"] == [15.0, 30.0]


def test_a_search_is_shown_with_its_history_importances_and_settings(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "runs.sqlite"))
    found = search(load_graph("karate"), "dropedge", trials=6, trial_runs=1, epochs=3, store=store)
    (shown,) = read_searches(store)
    assert shown.name == found.study
    assert shown.importances == found.importances
    assert shown.best is not None
    assert score_of(shown.best) == found.best.mean
    assert shown.best.values == [found.best.merit]
    assert len(shown.finalists) == len(found.ranked())
    # The history is of the search itself: the first runs, before the best ran with new seeds.
    karate = load_graph("karate")
    first = search(karate, "dropedge", trials=6, trial_runs=1, epochs=3, finalists=0)
    means = [round(trial.mean, 2) for trial in first.trials if trial.counts]
    history = {one["name"]: one for one in shown.history_chart()["series"]}
    assert history["trial"]["y"] == means
    assert history["best so far"]["y"] == [max(means[: i + 1]) for i in range(len(means))]
    lines = shown.parallel_chart()["lines"]
    assert [line["at"][-1] for line in lines] == [
        round(t.mean, 2) for t in first.trials if t.scores
    ]
    charts = store_page(store).data["charts"]
    assert {f"search-0-{kind}" for kind in ("history", "parallel")} <= set(charts)


def searched(*scores: float) -> Search:
    """A search with these scores, one trial each."""
    trials = [
        optuna.trial.create_trial(
            params={"drop_fraction": place / 100},
            distributions={"drop_fraction": optuna.distributions.FloatDistribution(0, 1)},
            value=score,
            user_attrs={"index": place},
        )
        for place, score in enumerate(scores)
    ]
    return Search("a search", trials, setting_importances(trials))


def bold(search: Search) -> list[float]:
    return [line["score"] for line in search.parallel_chart()["lines"] if line["best"]]


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([float(i) for i in range(20)], [18.0, 19.0]),
        ([*[50.0] * 18, 60.0, 70.0], [60.0, 70.0]),
        ([*[50.0] * 17, 60.0, 60.0, 70.0], [70.0]),
        ([*[50.0] * 5, *[70.0] * 15], []),
        ([3.0, 4.0], [4.0]),
    ],
)
def test_at_most_a_tenth_of_the_trials_is_bold(scores: list[float], best: list[float]) -> None:
    shown = searched(*scores)
    assert bold(shown) == best
    charts: dict[str, Any] = {}
    words = read(search_section([shown], charts)).text
    assert ("the best tenth is bold" in words) == bool(best)
    assert ("none stands out" in words) == (not best)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([70.0] * 4, "all completed trials have the same score"),
        ([70.0], "fewer than two trials were completed"),
    ],
)
def test_a_search_without_importances_says_why(scores: list[float], words: str) -> None:
    charts: dict[str, Any] = {}
    assert words in read(search_section([searched(*scores)], charts)).text
    assert "search-0-importances" not in charts


def test_a_store_without_searches_gets_no_tables_of_optuna(tmp_path: Path) -> None:
    store = store_of(tmp_path, record(plan()))
    assert read_searches(store) == []
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        names = {name for (name,) in database.execute("select name from sqlite_master")}
    assert "studies" not in names


def test_an_empty_store_is_told_and_a_missing_one_not_made(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no runs yet"):
        store_page(store_of(tmp_path))
    with pytest.raises(StoreError, match="There is no store"):
        Store(str(tmp_path / "none.sqlite"), create=False)
    assert not (tmp_path / "none.sqlite").exists()


def test_records_with_settings_of_an_older_version_are_shown(tmp_path: Path) -> None:
    old = {"method": {"gone": 1}, "model": None, "training": "?", "predictors": {"lost": {"a": 2}}}
    odd = record(
        plan(),
        config=old,
        model="lost",
        method="gone",
        val_score=None,
        test_score=None,
        versions={},
    )
    page = store_page(store_of(tmp_path, odd))
    assert "gone=1 lost.a=2" in read(page.render()).text


def test_a_store_of_the_first_schema_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    of_old = Plan.of("karate", model="gcn", settings={"epochs": 3}, split="stratified")
    make_old_store(path, [row(of_old, run) for run in range(2)])
    page = store_page(Store(str(path), create=False))
    (found,) = page.data["experiments"]["rows"]
    assert (found[8], found[9]) == ([60.0, 61.0], [50.0, 51.0])
    ((chart,),) = page.data["curves"].values()
    assert chart["series"][0]["y"] == [0.5]


def test_a_page_is_made_while_another_process_writes(tmp_path: Path) -> None:
    store = store_of(tmp_path, record(plan()))
    program = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('begin immediate')\n"
        'database.execute("update runs set seconds = 3")\n'
        "print('writing', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "runs.sqlite")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        page = store_page(store)
        writer.communicate("\n")
    assert isinstance(page, Page)
    assert page.lead.startswith("1 run of 1 experiment on 1 graph.")
