"""A store of the first version opens as it is, and has the new tables or the old, never half."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from gaug.errors import StoreError
from gaug.provenance import software_versions
from gaug.runs import schema
from gaug.runs.execute import execute
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.schema import SCHEMA_VERSION
from gaug.runs.store import Store
from tests.runs.test_store import exit_codes

FIRST_VERSION = """
CREATE TABLE gaug_schema (version INTEGER NOT NULL, PRIMARY KEY (version));
INSERT INTO gaug_schema VALUES (1);
CREATE TABLE runs (
    id INTEGER NOT NULL,
    created DATETIME NOT NULL,
    identity VARCHAR(64) NOT NULL,
    graph VARCHAR(200) NOT NULL,
    graph_hash VARCHAR(12) NOT NULL,
    split VARCHAR(200) NOT NULL,
    split_hash VARCHAR(12) NOT NULL,
    model VARCHAR(100) NOT NULL,
    method VARCHAR(100) NOT NULL,
    protocol VARCHAR(20) NOT NULL,
    config JSON NOT NULL,
    seed INTEGER NOT NULL,
    run INTEGER NOT NULL,
    val_score FLOAT,
    test_score FLOAT NOT NULL,
    best_epoch INTEGER NOT NULL,
    epochs INTEGER NOT NULL,
    seconds FLOAT NOT NULL,
    peak_memory_mb FLOAT NOT NULL,
    versions JSON NOT NULL,
    "commit" VARCHAR(40),
    history JSON,
    warning VARCHAR(500),
    PRIMARY KEY (id)
);
CREATE INDEX ix_runs_graph ON runs (graph);
CREATE INDEX ix_runs_method ON runs (method);
CREATE INDEX ix_runs_identity ON runs (identity);
CREATE INDEX ix_runs_model ON runs (model);
"""
SPELLED_BEFORE = {"max-normalized": "max-normalised", "standardized": "standardised"}
PLANS = [
    Plan.of("karate", split="stratified", settings=["epochs=3"]),
    Plan.of("karate", split="stratified", settings=["epochs=3", "selection=last"], seed=2),
    Plan.of("karate", method="gaug-m", settings=["epochs=3", "predictor=ra+gae"], threads=2),
    Plan.of("karate", method="gaug-o", settings=["epochs=3", "pretrain_predictor_epochs=2"]),
]


def spelled_before(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: spelled_before(part) for name, part in value.items()}
    return SPELLED_BEFORE.get(value, value) if isinstance(value, str) else value


def row(plan: Plan, run: int, **changes: Any) -> dict[str, Any]:
    """A run of a plan as the first version wrote it down."""
    placed = Graphs().place(plan)
    values = {
        "created": "2025-03-01 10:00:00.000000",
        "identity": f"of the first version {plan} {run}",
        "graph": "karate",
        "graph_hash": placed.graph_hash,
        "split": placed.split.name,
        "split_hash": placed.split.hash,
        "model": plan.model.name,
        "method": plan.method.name,
        "protocol": "validation",
        "config": json.dumps(spelled_before(placed.plan.identifying)),
        "seed": plan.seed,
        "run": run,
        "val_score": 50.0 + run,
        "test_score": 60.0 + run,
        "best_epoch": 2,
        "epochs": 3,
        "seconds": 0.5,
        "peak_memory_mb": 300.0,
        "versions": json.dumps(software_versions()),
        "commit": "c" * 40,
        "history": json.dumps([{"epoch": 1, "train_loss": 0.5}]),
        "warning": "It went on.",
    }
    return values | changes


def make_old_store(path: Path, rows: list[dict[str, Any]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(FIRST_VERSION)
        for values in rows:
            names = ", ".join(f'"{name}"' for name in values)
            places = ", ".join("?" * len(values))
            text = f"INSERT INTO runs ({names}) VALUES ({places})"
            connection.execute(text, list(values.values()))


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT version FROM gaug_schema").fetchone()
    return int(found)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of the first version with two runs of each plan."""
    path = tmp_path / "old.sqlite"
    make_old_store(path, [row(plan, run) for plan in PLANS for run in (0, 1)])
    return path


def open_together(path: str, ready: Any) -> None:
    ready.wait(timeout=60)
    Store(path).close()


def test_records_of_the_first_version_are_read_as_they_were_written(old: Path):
    with closing(Store(str(old))) as store:
        records = store.all()
    assert version_of(old) == SCHEMA_VERSION == 5
    assert [record.id for record in records] == list(range(1, 9))
    for record, plan in zip(records[::2], PLANS, strict=True):
        assert (record.graph, record.model, record.method) == ("karate", "gcn", plan.method.name)
        assert (record.val_score, record.test_score, record.test_predictions) == (50.0, 60.0, None)
        assert record.val_predictions is None
        assert record.val_probabilities is None
        assert (record.best_epoch, record.epochs, record.seed) == (2, 3, plan.seed)
        assert (record.seconds, record.peak_memory_mb) == (0.5, 300.0)
        assert record.history == [{"epoch": 1, "train_loss": 0.5}]
        assert (record.warning, record.commit) == ("It went on.", "c" * 40)
        assert record.created.isoformat() == "2025-03-01T10:00:00"
        assert record.versions == software_versions()


def test_its_tables_are_those_of_a_new_store(old: Path, tmp_path: Path):
    new = tmp_path / "new.sqlite"
    for path in (old, new):
        Store(str(path)).close()
    found = []
    for path in (old, new):
        engine = sqlalchemy.create_engine(f"sqlite:///{path}")
        inspector = sqlalchemy.inspect(engine)
        columns = {
            column["name"]: (str(column["type"]), column["nullable"])
            for column in inspector.get_columns("runs")
        }
        indexes = {
            (one["name"], tuple(one["column_names"])) for one in inspector.get_indexes("runs")
        }
        key = inspector.get_pk_constraint("runs")["constrained_columns"]
        found.append((columns, key, indexes, sorted(inspector.get_table_names())))
        engine.dispose()
    assert found[0] == found[1]


def test_the_settings_of_these_plans_were_spelled_otherwise():
    before = [json.dumps(spelled_before(plan.identifying)) for plan in PLANS]
    assert "max-normalised" in before[3]
    assert "standardised" in before[2]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_its_runs_are_recognized_and_not_trained_again(old: Path, plan: Plan, trained: list[int]):
    with closing(Store(str(old))) as store:
        records = execute(plan, runs=3, store=store, resume=True)
        assert len(trained) == 1
        assert [record.test_score for record in records[:2]] == [60.0, 61.0]
        assert len(store.all()) == 9


def test_settings_are_respelled(tmp_path: Path):
    path = tmp_path / "old.sqlite"
    config = PLANS[0].identifying | {
        "method": {"combination": "max-normalised", "note": {"deep": "standardised"}},
        "data": {"feature_scaling": "standardised"},
    }
    make_old_store(path, [row(PLANS[0], 0, config=json.dumps(config))])
    with closing(Store(str(path))) as store:
        (record,) = store.all()
    assert record.config["method"] == {
        "combination": "max-normalized",
        "note": {"deep": "standardized"},
    }
    assert record.config["data"] == {"feature_scaling": "standardized"}
    assert record.config["training"] == PLANS[0].identifying["training"]


def test_the_protocol_says_how_the_epoch_was_really_chosen(old: Path):
    with closing(Store(str(old))) as store:
        protocols = [record.protocol for record in store.all()]
    assert protocols == [plan.training.selection for plan in PLANS for _ in (0, 1)]
    assert set(protocols) == {"validation", "last"}


def test_an_old_store_takes_new_records_without_a_test_score(old: Path):
    with closing(Store(str(old))) as store:
        execute(PLANS[0], runs=3, store=store, hide_test=True)
        assert [record.test_score for record in store.all()[-3:]] == [None] * 3


def test_an_empty_old_store_opens(tmp_path: Path):
    make_old_store(tmp_path / "old.sqlite", [])
    with closing(Store(str(tmp_path / "old.sqlite"))) as store:
        assert store.all() == []
        assert len(execute(PLANS[0], runs=1, store=store)) == 1


def test_two_processes_that_open_an_old_store_at_once_both_succeed(tmp_path: Path):
    paths = [tmp_path / f"{number}.sqlite" for number in range(3)]
    for path in paths:
        make_old_store(path, [row(PLANS[0], run) for run in range(20)])
        assert exit_codes(open_together, [(str(path),), (str(path),)]) == [0, 0]
        assert version_of(path) == SCHEMA_VERSION
        with closing(Store(str(path))) as store:
            assert [record.run for record in store.all()] == list(range(20))
            assert len({record.identity for record in store.all()}) == 20


@pytest.mark.parametrize("moment", ["before", "amid", "after"])
def test_a_step_that_breaks_off_leaves_the_store_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch, moment: str
):
    before = dump(old)
    step = schema.STEPS[1]

    class PowerCutError(BaseException):
        pass

    def breaking(connection: sqlalchemy.Connection) -> None:
        if moment == "after":
            step(connection)
        elif moment == "amid":
            connection.execute(sqlalchemy.text("ALTER TABLE runs RENAME COLUMN seed TO other"))
            connection.execute(sqlalchemy.update(RunRecord).values(identity="broken"))
        raise PowerCutError

    monkeypatch.setitem(schema.STEPS, 1, breaking)
    with pytest.raises(PowerCutError):
        Store(str(old))
    assert version_of(old) == 1
    assert dump(old) == before
    monkeypatch.setitem(schema.STEPS, 1, step)
    with closing(Store(str(old))) as store:
        assert len(store.all()) == 8


def test_an_old_store_that_may_only_be_read_is_refused_and_left_alone(old: Path):
    before = dump(old)
    with pytest.raises(StoreError, match="read-only"):
        Store(f"sqlite:///file:{old}?mode=ro&uri=true")
    assert dump(old) == before


def test_a_store_without_choices_gets_a_place_for_them_and_keeps_its_runs(tmp_path: Path):
    path = tmp_path / "runs.sqlite"
    with closing(Store(str(path))) as store:
        execute(PLANS[0], runs=1, store=store)
        (before,) = store.all()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "DROP TABLE choices; ALTER TABLE runs DROP COLUMN val_probabilities;"
            " UPDATE gaug_schema SET version = 3"
        )
    with closing(Store(str(path))) as store:
        store.add_choice("one", {"trials": 3})
        assert store.find_choice("one") == {"trials": 3}
        assert [record.identity for record in store.all()] == [before.identity]
    assert version_of(path) == SCHEMA_VERSION
