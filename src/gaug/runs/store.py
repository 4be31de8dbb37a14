"""Run records in SQL: safe with several processes, an SQLite file by default."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import platformdirs
import sqlalchemy
from sqlalchemy import Connection, event, select, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session, defer

from gaug.errors import StoreError, reason_of
from gaug.runs.record import Base, ChoiceRecord, RunRecord
from gaug.runs.schema import SCHEMA_VERSION, SchemaVersion, upgrade

# How long to retry while other processes create the same tables, and the errors they cause.
_SECONDS_TO_OPEN = 10.0
_CONTENTION = ("already exist", "unique", "locked", "concurrently")


def default_store_url() -> str:
    """``GAUG_STORE``, else an SQLite file in the user's data folder."""
    if os.environ.get("GAUG_STORE"):
        return os.environ["GAUG_STORE"]
    return str(Path(platformdirs.user_data_dir("gaug")) / "runs.sqlite")


def checkpoint_folder(store_url: str) -> Path:
    """Where the checkpoints of a store's runs are: beside its file, or in the user's data folder.

    Args:
        store_url: The file or URL of the store.

    Raises:
        StoreError: If it is not a URL.
    """
    if "://" not in store_url:
        return Path(f"{Path(store_url).expanduser()}.checkpoints")
    url = _parsed(store_url)
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        return Path(f"{url.database}.checkpoints")
    return Path(platformdirs.user_data_dir("gaug")) / "checkpoints"


class Store:
    """Run records behind any SQLAlchemy URL; a plain path means an SQLite file.

    Args:
        url: Where the records are; by default see `default_store_url`.
        create: Whether to make the file of a new store.

    Raises:
        StoreError: If the store cannot be opened, is not a store, or is of a newer version.
    """

    def __init__(self, url: str | None = None, *, create: bool = True) -> None:
        given = url or default_store_url()
        if not create and "://" not in given and not Path(given).expanduser().is_file():
            raise StoreError(
                f"There is no store {given} yet: 'gaug train' and others record runs there.",
                topic="store",
            )
        self._engine = _make_engine(given)
        secret = self._engine.url.password is not None
        #: Where the records are, without a password.
        self.url = self._engine.url.render_as_string() if secret else given
        with self._guarded("opened"):
            self._make_or_check_tables()

    def check_writable(self) -> None:
        """Raise now, not after hours of training, if nothing can be written."""
        nothing = update(SchemaVersion).where(sqlalchemy.false()).values(version=SCHEMA_VERSION)
        with self._guarded("written"), Session(self._engine) as session:
            session.execute(nothing)
            session.rollback()

    def add(self, record: RunRecord) -> int:
        """Append a record and return its id; it is on disk when this returns."""
        if record.created is None:
            record.created = datetime.now(timezone.utc)
        session = Session(self._engine, expire_on_commit=False)
        with self._guarded("written"), session, session.begin():
            session.add(record)
        return record.id

    def set_test_score(self, record: RunRecord, score: float) -> None:
        """Record the test score of a run with hidden test labels."""
        change = update(RunRecord).where(RunRecord.id == record.id).values(test_score=score)
        with self._guarded("written"), Session(self._engine) as session, session.begin():
            session.execute(change)
        record.test_score = score

    @property
    def database_url(self) -> str:
        """The URL of the database with its password, for other tables in the same database."""
        return self._engine.url.render_as_string(hide_password=False)

    @property
    def checkpoint_folder(self) -> Path:
        """Where the checkpoints of its runs are."""
        return checkpoint_folder(self.database_url)

    def find(self, identities: list[str]) -> dict[str, RunRecord]:
        """The newest record of each known identity."""
        found: dict[str, RunRecord] = {}
        with self._guarded("read"), Session(self._engine) as session:
            for start in range(0, len(identities), 500):  # databases limit a statement's length
                part = identities[start : start + 500]
                query = select(RunRecord).where(RunRecord.identity.in_(part))
                for record in session.scalars(query.order_by(RunRecord.id)):
                    session.expunge(record)
                    found[record.identity] = record
        return found

    def newest_id(self) -> int:
        """The id of the newest record; 0 if there is none."""
        with self._guarded("read"), Session(self._engine) as session:
            return session.scalar(select(sqlalchemy.func.max(RunRecord.id))) or 0

    def find_choice(self, identity: str) -> dict[str, Any] | None:
        """The newest outcome of a choice; None if it was not made yet."""
        query = select(ChoiceRecord.outcome).where(ChoiceRecord.identity == identity)
        with self._guarded("read"), Session(self._engine) as session:
            return session.scalar(query.order_by(ChoiceRecord.id.desc()).limit(1))

    def add_choice(self, identity: str, outcome: dict[str, Any]) -> None:
        """Record the outcome of a choice."""
        made = datetime.now(timezone.utc)
        record = ChoiceRecord(identity=identity, outcome=outcome, created=made)
        with self._guarded("written"), Session(self._engine) as session, session.begin():
            session.add(record)

    def mean_seconds(self) -> dict[tuple[str, str, str], float]:
        """The mean time of a run, by graph, model and method."""
        kind = (RunRecord.graph, RunRecord.model, RunRecord.method)
        query = select(*kind, sqlalchemy.func.avg(RunRecord.seconds)).group_by(*kind)
        with self._guarded("read"), Session(self._engine) as session:
            return {tuple(names): float(mean) for *names, mean in session.execute(query)}

    def all(self) -> list[RunRecord]:
        """Every record in the order of writing."""
        with self._guarded("read"), Session(self._engine) as session:
            records = list(session.scalars(select(RunRecord).order_by(RunRecord.id)))
            session.expunge_all()
            return records

    def outlines(self) -> list[RunRecord]:
        """Every record in the order of writing, without history and packed predictions.

        Reading thousands of runs with these would take long.
        """
        left_out = (
            RunRecord.history,
            RunRecord.val_predictions,
            RunRecord.val_probabilities,
            RunRecord.test_predictions,
        )
        query = select(RunRecord).options(*map(defer, left_out)).order_by(RunRecord.id)
        with self._guarded("read"), Session(self._engine) as session:
            records = list(session.scalars(query))
            session.expunge_all()
            return records

    def ids_with_hidden_test(self) -> set[int]:
        """Ids of the runs that were trained with hidden test labels."""
        query = select(RunRecord.id).where(RunRecord.test_predictions.is_not(None))
        with self._guarded("read"), Session(self._engine) as session:
            return set(session.scalars(query))

    def histories(self, most: int) -> dict[int, list[dict[str, float]]]:
        """Histories of runs by id, the newest ones first, at most so many."""
        # No history is a null of SQL or of JSON, depending on how it was written.
        length = sqlalchemy.func.length(sqlalchemy.cast(RunRecord.history, sqlalchemy.Text))
        query = select(RunRecord.id, RunRecord.history).where(length > len("null"))
        query = query.order_by(RunRecord.id.desc()).limit(most)
        with self._guarded("read"), Session(self._engine) as session:
            return {number: history for number, history in session.execute(query) if history}

    def has_table(self, name: str) -> bool:
        """Whether its database has a table of this name."""
        with self._guarded("read"):
            return bool(sqlalchemy.inspect(self._engine).has_table(name))

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def _make_or_check_tables(self) -> None:
        patience = time.monotonic() + _SECONDS_TO_OPEN
        while True:
            try:
                return self._make_or_check_tables_once()
            except DBAPIError as error:
                # Another process creates them at the same moment: try again. SQLite does not wait
                # for a lock if that could deadlock, as when two processes switch to WAL.
                contended = any(words in str(error).lower() for words in _CONTENTION)
                if not contended or time.monotonic() > patience:
                    raise
                time.sleep(0.02)

    def _make_or_check_tables_once(self) -> None:
        tables = set(sqlalchemy.inspect(self._engine).get_table_names())
        if tables and SchemaVersion.__tablename__ not in tables:
            raise StoreError(
                f"The database {self.url} holds tables of something else.", topic="store"
            )
        if not tables:
            # First the table that identifies a store, in case another process looks meanwhile.
            Base.metadata.create_all(
                self._engine, [Base.metadata.tables[SchemaVersion.__tablename__]]
            )
        with Session(self._engine) as session:
            version = session.scalar(select(SchemaVersion.version))
        if version is None:  # new; older ones get new tables by the steps below
            Base.metadata.create_all(self._engine)
            with Session(self._engine) as session, session.begin():
                session.add(SchemaVersion(version=SCHEMA_VERSION))
        if version is not None and version > SCHEMA_VERSION:
            raise StoreError(
                f"The store {self.url} was written by a newer gaug (schema {version}, this one"
                f" knows {SCHEMA_VERSION}). Upgrade gaug, or use another store.",
                topic="store",
            )
        if version is not None and version < SCHEMA_VERSION:
            with _exclusive(self._engine) as connection:
                # Another process may have done the same steps meanwhile.
                upgrade(connection, connection.scalars(select(SchemaVersion.version)).one())

    @contextlib.contextmanager
    def _guarded(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            reason = _reason(error)
            raise StoreError(
                f"The store {self.url} cannot be {verb}: {reason}", topic="store"
            ) from error


@contextlib.contextmanager
def _exclusive(engine: sqlalchemy.Engine) -> Iterator[Connection]:
    """A transaction with exclusive access to the schema, from its first statement on."""
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            connection.execute(select(SchemaVersion.version).with_for_update())
            yield connection
        return
    # Python's driver starts no transaction before statements that change tables.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")


def _make_engine(url: str) -> sqlalchemy.Engine:
    if "://" not in url:
        path = Path(url).expanduser()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The store {path} cannot be opened: its folder cannot be made ({error.strerror}).",
                topic="store",
            ) from error
        url = f"sqlite:///{path}"
    parsed = _parsed(url)
    try:
        waits = parsed.drivername.startswith("sqlite") and "timeout" not in parsed.query
        engine = sqlalchemy.create_engine(parsed, connect_args={"timeout": 30} if waits else {})
    except (SQLAlchemyError, ImportError) as error:
        raise StoreError(
            f"The store {_shown(url)} cannot be opened: {_reason(error)}", topic="store"
        ) from error
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _prepare(connection: Any, _: Any) -> None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")

    return engine


def _parsed(url: str) -> sqlalchemy.URL:
    try:
        return sqlalchemy.make_url(url)
    except ValueError as error:  # it quotes what may be a part of a password
        raise StoreError(
            f"The store {url.partition('://')[0]}://… cannot be opened: the port in its URL must be"
            " a number.",
            topic="store",
        ) from error
    except SQLAlchemyError as error:
        raise StoreError(
            f"The store {_shown(url)} cannot be opened: {_reason(error)}", topic="store"
        ) from error


def _shown(url: str) -> str:
    """A URL without what may be a password."""
    return url if "@" not in url else url.partition("://")[0] + "://…"


_HINTS = {
    "load plugin": "Give a file, or a URL of a database that SQLAlchemy knows.",
    "unable to open": "Check that its folder exists and is writable.",
    "readonly": "The file is read-only.",
    "locked": "Another process holds it. Try again when that has finished.",
    "not a database": "The file is damaged or of another kind. Move it away and start a new one.",
    "malformed": "The file is damaged. Move it away and start a new one.",
    "full": "The disk is full. Free some space; what was written before is kept.",
}


def _reason(error: BaseException) -> str:
    text = reason_of(getattr(error, "orig", None) or error).rstrip(".")
    if isinstance(error, ModuleNotFoundError):
        return f"its driver is missing. Run 'pip install {error.name}'."
    hints = [hint for words, hint in _HINTS.items() if words in text]
    return " ".join([f"{text}.", *hints[:1]])
