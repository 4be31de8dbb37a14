from __future__ import annotations

import multiprocessing
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import event

from gaug.errors import StoreError
from gaug.runs.fresh_runs import FreshRuns
from gaug.runs.record import RunRecord
from gaug.runs.schema import SCHEMA_VERSION
from gaug.runs.store import Store, default_store_url


def make_record(identity: str = "one", **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "identity": identity,
        "graph": "karate",
        "graph_hash": "aa",
        "split": "random-0",
        "split_hash": "bb",
        "model": "gcn",
        "method": "none",
        "protocol": "validation",
        "config": {"training": {"epochs": 5, "patience": None}},
        "seed": 3,
        "run": 7,
        "val_score": 75.5,
        "test_score": 1 / 3,
        "test_predictions": b"\x00packed",
        "best_epoch": 4,
        "epochs": 5,
        "seconds": 0.25,
        "peak_memory_mb": 512.0,
        "versions": {"gaug": "1"},
        "commit": None,
        "history": [{"epoch": 1, "train_loss": 0.1}],
        "warning": None,
    }
    return RunRecord(**values | changes)


@contextmanager
def opened(url: Path | str) -> Iterator[Store]:
    with closing(Store(str(url))) as store:
        yield store


def identities(url: Path | str) -> list[str]:
    with opened(url) as store:
        return [record.identity for record in store.all()]


def refusal(url: Path | str) -> str:
    """The message of a store that does not open, checked to be one line that names it."""
    with pytest.raises(StoreError) as caught:
        Store(str(url))
    return checked(caught.value, url)


def checked(error: StoreError, url: Path | str) -> str:
    message = str(error)
    assert "\n" not in message
    assert error.topic == "store"  # the command line adds how to choose another
    assert str(url) in message
    return message


@contextmanager
def on_checkout(statement: str) -> Iterator[None]:
    """Run a statement on every connection that SQLAlchemy takes up, after gaug prepared it."""

    def run(connection: Any, *_: Any) -> None:
        connection.execute(statement)

    event.listen(sqlalchemy.Pool, "checkout", run)
    try:
        yield
    finally:
        event.remove(sqlalchemy.Pool, "checkout", run)


def add_together(url: str, name: str, count: int, ready: Any) -> None:
    with opened(url) as store:
        ready.wait(timeout=60)
        for number in range(count):
            store.add(make_record(f"{name}{number}"))


def make_together(urls: list[str], name: str, ready: Any) -> None:
    try:
        for url in urls:
            ready.wait(timeout=60)
            with opened(url) as store:
                store.add(make_record(name))
    except StoreError:
        ready.abort()  # the other would wait
        raise


def add_and_die(url: str, count: int) -> None:
    store = Store(url)
    for number in range(count):
        store.add(make_record(str(number)))
    os._exit(9)


# What it holds.


def test_a_record_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "runs.sqlite"
    written = make_record(warning="The loss became nan.", commit="c" * 40)
    names = [column.key for column in sqlalchemy.inspect(RunRecord).column_attrs]
    with opened(path) as store:
        number = store.add(written)
    with opened(path) as store:
        (read,) = store.all()
    assert read.id == number
    for name in set(names) - {"created"}:
        assert getattr(read, name) == getattr(written, name), name


def test_a_record_is_dated_in_utc_when_it_is_added(tmp_path):
    before = datetime.now(timezone.utc)
    with opened(tmp_path / "runs.sqlite") as store:
        store.add(make_record())
        (record,) = store.all()
    assert before - timedelta(seconds=1) <= record.created_utc
    assert record.created_utc <= datetime.now(timezone.utc) + timedelta(seconds=1)


def test_a_record_in_the_zone_of_its_database_is_dated_in_utc():
    east = timezone(timedelta(hours=9))
    record = make_record(created=datetime(2026, 3, 1, 2, tzinfo=east))
    assert record.created_utc.isoformat() == "2026-02-28T17:00:00+00:00"


def test_an_outline_leaves_out_what_takes_long_to_read(tmp_path):
    with opened(tmp_path / "runs.sqlite") as store:
        store.add(make_record())
        (outline,) = store.outlines()
    left_out = {"history", "val_predictions", "val_probabilities", "test_predictions"}
    assert sqlalchemy.inspect(outline).unloaded == left_out
    assert outline.val_score == make_record().val_score


def test_missing_values_stay_missing(tmp_path):
    with opened(tmp_path / "runs.sqlite") as store:
        store.add(make_record(val_score=None, test_score=None, test_predictions=None, history=None))
        (record,) = store.all()
    assert record.val_score is None
    assert record.test_score is None
    assert record.test_predictions is None
    assert record.history is None


def test_records_are_kept_in_the_order_of_writing_and_none_is_replaced(tmp_path):
    names = ["b", "a", "b", "c", "a"]
    with opened(tmp_path / "runs.sqlite") as store:
        numbers = [store.add(make_record(name)) for name in names]
        records = store.all()
    assert [record.identity for record in records] == names
    assert [record.id for record in records] == numbers == sorted(set(numbers))


def test_find_gives_the_newest_record_of_each_identity_that_is_there(tmp_path):
    with opened(tmp_path / "runs.sqlite") as store:
        store.add(make_record("a", test_score=1.0))
        store.add(make_record("b", test_score=2.0))
        store.add(make_record("a", test_score=3.0))
        found = store.find(["a", "absent"])
    assert {name: record.test_score for name, record in found.items()} == {"a": 3.0}


def test_find_takes_more_identities_than_a_statement_holds(tmp_path):
    with opened(tmp_path / "runs.sqlite") as store:
        store.add(make_record("first"))
        store.add(make_record("last"))
        found = store.find(["first", *(f"absent{i}" for i in range(40_000)), "last"])
    assert set(found) == {"first", "last"}


def test_a_test_score_is_written_down_later_and_nothing_else_is_changed(tmp_path):
    path = tmp_path / "runs.sqlite"
    with opened(path) as store:
        store.add(make_record("other", test_score=None))
        record = make_record("mine", test_score=None)
        store.add(record)
        store.set_test_score(record, 81.25)
        assert record.test_score == 81.25
    with opened(path) as store:
        other, mine = store.all()
    assert (other.test_score, mine.test_score) == (None, 81.25)
    assert (mine.val_score, mine.test_predictions) == (75.5, b"\x00packed")


def test_the_mean_seconds_are_those_of_each_graph_model_and_method(tmp_path):
    with opened(tmp_path / "runs.sqlite") as store:
        for seconds in (1.0, 2.0):
            store.add(make_record(seconds=seconds))
        store.add(make_record(seconds=9.0, model="gat"))
        assert store.mean_seconds() == {
            ("karate", "gcn", "none"): 1.5,
            ("karate", "gat", "none"): 9.0,
        }


def test_the_newest_outcome_of_a_choice_is_found(tmp_path):
    with opened(tmp_path / "runs.sqlite") as store:
        assert store.find_choice("one") is None
        for trials in (3, 5):
            store.add_choice("one", {"method": "gaug-m", "settings": {"a": 0.5}, "trials": trials})
        store.add_choice("two", {})
    with opened(tmp_path / "runs.sqlite") as store:
        assert store.find_choice("one") == {"method": "gaug-m", "settings": {"a": 0.5}, "trials": 5}
        assert store.find_choice("two") == {}


def test_fresh_runs_are_those_since_the_store_was_opened_and_are_kept_for_all(tmp_path):
    path = str(tmp_path / "runs.sqlite")
    with opened(path) as store:
        store.add(make_record("before", run=1))
        with closing(FreshRuns(path)) as fresh:
            assert fresh.find(["before"]) == {}
            fresh.add(make_record("before", run=2))
            fresh.add(make_record("new", run=3))
            found = fresh.find(["before", "new", "absent"])
            assert {name: record.run for name, record in found.items()} == {"before": 2, "new": 3}
        assert [record.run for record in store.all()] == [1, 2, 3]


# Where it is.


def test_a_sqlalchemy_url_and_a_path_mean_the_same_file(tmp_path):
    path = tmp_path / "runs.sqlite"
    with opened(f"sqlite:///{path}") as store:
        store.add(make_record("by url"))
    assert identities(path) == ["by url"]


def test_others_get_the_url_of_the_database_and_people_one_without_the_password(tmp_path):
    path = tmp_path / "runs.sqlite"
    with opened(path) as store:
        assert (store.url, store.database_url) == (str(path), f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT version FROM gaug_schema").fetchall() == [
                (SCHEMA_VERSION,)
            ]


def test_a_path_is_made_with_its_folders(tmp_path):
    path = tmp_path / "deep" / "er" / "runs.sqlite"
    with opened(path) as store:
        store.add(make_record())
    assert path.is_file()


def test_the_environment_says_where_the_default_store_is(tmp_path, monkeypatch):
    monkeypatch.setenv("GAUG_STORE", str(tmp_path / "mine.sqlite"))
    assert default_store_url() == str(tmp_path / "mine.sqlite")
    with closing(Store()) as store:
        store.add(make_record("default"))
    assert identities(tmp_path / "mine.sqlite") == ["default"]


def test_without_the_environment_the_default_store_is_a_file_of_the_user(monkeypatch):
    monkeypatch.delenv("GAUG_STORE", raising=False)
    assert Path(default_store_url()).is_absolute()


# Several processes.


def exit_codes(target: Any, arguments: list[tuple[Any, ...]]) -> list[int | None]:
    """Run a function in several processes at once, each with a barrier to meet the others at."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(len(arguments))
    children = [context.Process(target=target, args=(*given, ready)) for given in arguments]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout=60)
    return [child.exitcode for child in children]


def test_processes_that_write_to_one_store_at_once_lose_nothing(tmp_path):
    path = str(tmp_path / "runs.sqlite")
    with opened(path):
        pass
    assert exit_codes(add_together, [(path, "a", 25), (path, "b", 25)]) == [0, 0]
    found = identities(path)
    assert len(found) == 50
    for name in "ab":
        own = [identity for identity in found if identity.startswith(name)]
        assert own == [f"{name}{number}" for number in range(25)]


def test_processes_that_make_one_store_at_once_all_get_it(tmp_path):
    paths = [str(tmp_path / f"{number}.sqlite") for number in range(10)]
    assert exit_codes(make_together, [(paths, "a"), (paths, "b")]) == [0, 0]
    for path in paths:
        assert sorted(identities(path)) == ["a", "b"]


def test_a_store_whose_making_was_cut_off_after_any_table_is_made_to_the_end(tmp_path):
    made: list[str] = []

    def cut_off(table: Any, *_: Any, **__: Any) -> None:
        made.append(table.name)
        raise KeyboardInterrupt

    for number, table in enumerate(RunRecord.metadata.tables.values()):
        path = tmp_path / f"{number}.sqlite"
        event.listen(table, "after_create", cut_off)
        try:
            with pytest.raises(KeyboardInterrupt):
                Store(str(path))
        finally:
            event.remove(table, "after_create", cut_off)
        with opened(path) as store:
            store.add(make_record("after"))
        assert identities(path) == ["after"]
    assert set(made) == set(RunRecord.metadata.tables)


def test_a_process_that_is_killed_loses_nothing_that_it_added(tmp_path):
    path = str(tmp_path / "runs.sqlite")
    child = multiprocessing.get_context("spawn").Process(target=add_and_die, args=(path, 5))
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 9
    assert identities(path) == [str(number) for number in range(5)]
    with opened(path) as store:
        store.add(make_record("after"))
    assert identities(path)[-1] == "after"


# What goes wrong.


def test_a_store_of_a_newer_gaug_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "runs.sqlite"
    with opened(path) as store:
        store.add(make_record("kept"))
    change_version(path, SCHEMA_VERSION + 1)
    message = refusal(path)
    assert str(SCHEMA_VERSION + 1) in message
    assert "Upgrade gaug" in message
    change_version(path, SCHEMA_VERSION)
    assert identities(path) == ["kept"]


def change_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE gaug_schema SET version = ?", (version,))


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes of the experiment.\n" * 100)
    before = path.read_bytes()
    message = refusal(path)
    assert "Move it away" in message
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "photos.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    assert "tables of something else" in refusal(path)
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert tables == [("photos",)]


def test_a_path_below_a_file_is_refused_with_a_remedy(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    assert "its folder cannot be made" in refusal(blocker / "runs.sqlite")
    assert blocker.read_text() == "mine"


def test_a_folder_in_place_of_the_file_is_refused_with_a_remedy(tmp_path):
    assert "Check that its folder exists" in refusal(tmp_path)


def test_a_url_of_an_unknown_database_is_refused_with_a_remedy():
    assert "a URL of a database that SQLAlchemy knows" in refusal("nosuchdatabase://host/runs")


def test_a_store_that_may_only_be_read_gives_its_records_and_refuses_new_ones(tmp_path):
    path = tmp_path / "runs.sqlite"
    with opened(path) as store:
        store.add(make_record("kept"))
    url = f"sqlite:///file:{path}?mode=ro&uri=true"
    with opened(url) as store:
        assert [record.identity for record in store.all()] == ["kept"]
        with pytest.raises(StoreError) as caught:
            store.add(make_record("refused"))
    message = checked(caught.value, url)
    assert "read-only" in message
    assert identities(path) == ["kept"]


@pytest.mark.parametrize("keep", [0, 100, 2 * 4096], ids=str)
def test_a_damaged_file_is_refused_with_a_remedy_and_not_overwritten(tmp_path, keep):
    path = tmp_path / "runs.sqlite"
    with opened(path) as store:
        for number in range(200):
            store.add(make_record(str(number)))
    whole = path.read_bytes()
    damaged = whole[:keep] + b"\xa5" * (len(whole) - keep)
    path.write_bytes(damaged)
    with pytest.raises(StoreError) as caught, opened(path) as store:
        store.all()
    message = checked(caught.value, path)
    assert "The file is damaged" in message
    assert "Move it away" in message
    assert path.read_bytes() == damaged


def test_a_store_that_another_process_holds_says_so_and_loses_nothing(tmp_path):
    path = tmp_path / "runs.sqlite"
    with opened(path) as store:
        store.add(make_record("before"))
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            with on_checkout("PRAGMA busy_timeout = 20"), pytest.raises(StoreError) as caught:
                store.add(make_record("refused"))
            holder.execute("ROLLBACK")
        message = checked(caught.value, path)
        assert "locked" in message
        assert "Try again" in message
        store.add(make_record("after"))
    assert identities(path) == ["before", "after"]


def test_a_full_disk_says_so_and_keeps_what_was_written(tmp_path):
    path = tmp_path / "runs.sqlite"
    long = [{"epoch": float(epoch)} for epoch in range(5000)]
    with opened(path) as store:
        store.add(make_record("before"))
        with on_checkout("PRAGMA max_page_count = 1"), pytest.raises(StoreError) as caught:
            store.add(make_record("refused", history=long))  # SQLite's limit is what it has now
    message = checked(caught.value, path)
    assert "disk is full" in message
    assert "Free some space" in message
    with opened(path) as store:
        assert [record.identity for record in store.all()] == ["before"]
        store.add(make_record("after", history=long))
    assert identities(path) == ["before", "after"]
