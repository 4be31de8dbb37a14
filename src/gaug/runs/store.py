"""Run records in SQL: append-only, safe with several processes, an SQLite file by default."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import platformdirs
import sqlalchemy
from sqlalchemy import JSON, DateTime, Float, Integer, String, event, select, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from gaug.errors import StoreError

#: Version of the tables below; a store says which one it was made with.
SCHEMA_VERSION = 1

# How long to look again while other processes make the same tables, and what they cause.
_SECONDS_TO_OPEN = 10.0
_CONTENTION = ("exist", "unique", "locked")


class _Base(DeclarativeBase):
    pass


class _Schema(_Base):
    __tablename__ = "gaug_schema"

    version: Mapped[int] = mapped_column(Integer, primary_key=True)


class RunRecord(_Base):
    """One run: what was asked, what came out, and by which software.

    Attributes:
        identity: Fingerprint of everything that decides the outcome; see `run_identity`.
        scores: Micro-F1 in percent, in ``val_score`` and ``test_score``.
        seconds: Wall time of the run.
        peak_memory_mb: Peak resident memory of its process.
        versions: Versions of gaug and of what it stands on.
        commit: Commit of the gaug checkout, where it is one.
        history: One row an epoch, where it was asked for.
        warning: Why training stopped early, if something was wrong.
    """

    __tablename__ = "runs"

    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    identity: Mapped[str] = mapped_column(String(64), index=True)
    graph: Mapped[str] = mapped_column(String(200), index=True)
    graph_hash: Mapped[str] = mapped_column(String(12))
    split: Mapped[str] = mapped_column(String(200))
    split_hash: Mapped[str] = mapped_column(String(12))
    model: Mapped[str] = mapped_column(String(100), index=True)
    method: Mapped[str] = mapped_column(String(100), index=True)
    protocol: Mapped[str] = mapped_column(String(20))
    config: Mapped[dict[str, Any]] = mapped_column(JSON)
    seed: Mapped[int] = mapped_column(Integer)
    run: Mapped[int] = mapped_column(Integer)
    val_score: Mapped[float | None] = mapped_column(Float)
    test_score: Mapped[float] = mapped_column(Float)
    best_epoch: Mapped[int] = mapped_column(Integer)
    epochs: Mapped[int] = mapped_column(Integer)
    seconds: Mapped[float] = mapped_column(Float)
    peak_memory_mb: Mapped[float] = mapped_column(Float)
    versions: Mapped[dict[str, str]] = mapped_column(JSON)
    commit: Mapped[str | None] = mapped_column(String(40))
    history: Mapped[list[dict[str, float]] | None] = mapped_column(JSON)
    warning: Mapped[str | None] = mapped_column(String(500))


@dataclass(frozen=True)
class RunKey:
    """Everything that decides the outcome of a run, on one machine."""

    graph_hash: str
    split_hash: str
    model: str
    method: str
    protocol: str
    config: dict[str, Any]
    seed: int
    run: int
    gaug_version: str

    @property
    def identity(self) -> str:
        """Fingerprint of all of it."""
        text = json.dumps(self.__dict__, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def default_store_url() -> str:
    """``GAUG_STORE``, else an SQLite file in the user's data folder."""
    if os.environ.get("GAUG_STORE"):
        return os.environ["GAUG_STORE"]
    return str(Path(platformdirs.user_data_dir("gaug")) / "runs.sqlite")


class Store:
    """Run records behind any SQLAlchemy URL; a plain path means an SQLite file.

    Args:
        url: Where the records are; by default see `default_store_url`.

    Raises:
        StoreError: If the store cannot be opened, is not a store, or is of a newer version.
    """

    def __init__(self, url: str | None = None) -> None:
        given = url or default_store_url()
        self._engine = _make_engine(given)
        secret = self._engine.url.password is not None
        #: Where the records are, without a password.
        self.url = self._engine.url.render_as_string() if secret else given
        with self._guarded("opened"):
            self._make_or_check_tables()

    def check_writable(self) -> None:
        """Raise now, not after hours of training, if nothing can be written."""
        nothing = update(_Schema).where(sqlalchemy.false()).values(version=SCHEMA_VERSION)
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

    def find(self, identities: list[str]) -> dict[str, RunRecord]:
        """The newest record of each identity that is there."""
        found: dict[str, RunRecord] = {}
        with self._guarded("read"), Session(self._engine) as session:
            for start in range(0, len(identities), 500):  # databases bound a statement's length
                part = identities[start : start + 500]
                query = select(RunRecord).where(RunRecord.identity.in_(part))
                for record in session.scalars(query.order_by(RunRecord.id)):
                    session.expunge(record)
                    found[record.identity] = record
        return found

    def all(self) -> list[RunRecord]:
        """Every record in the order of writing."""
        with self._guarded("read"), Session(self._engine) as session:
            records = list(session.scalars(select(RunRecord).order_by(RunRecord.id)))
            session.expunge_all()
            return records

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def _make_or_check_tables(self) -> None:
        patience = time.monotonic() + _SECONDS_TO_OPEN
        while True:
            try:
                return self._make_or_check_tables_once()
            except DBAPIError as error:
                # Another process makes them at the same moment: look again. SQLite does not wait
                # for a lock where that could be for ever, as when two processes switch to WAL.
                contended = any(words in str(error).lower() for words in _CONTENTION)
                if not contended or time.monotonic() > patience:
                    raise
                time.sleep(0.02)

    def _make_or_check_tables_once(self) -> None:
        tables = set(sqlalchemy.inspect(self._engine).get_table_names())
        ours = set(_Base.metadata.tables)
        if tables and "gaug_schema" not in tables:
            raise StoreError(
                f"The database {self.url} holds tables of something else."
                " Give another one by --store."
            )
        if not ours <= tables:
            _Base.metadata.create_all(self._engine)
        with Session(self._engine) as session, session.begin():
            version = session.scalar(select(_Schema.version))
            if version is None:
                session.add(_Schema(version=SCHEMA_VERSION))
            elif version > SCHEMA_VERSION:
                raise StoreError(
                    f"The store {self.url} was written by a newer gaug (schema {version}, this one"
                    f" knows {SCHEMA_VERSION}). Upgrade gaug, or give another store by --store."
                )

    @contextlib.contextmanager
    def _guarded(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            reason = _reason(error)
            raise StoreError(f"The store {self.url} cannot be {verb}: {reason}") from error


def _make_engine(url: str) -> sqlalchemy.Engine:
    if "://" not in url:
        path = Path(url).expanduser()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The store {path} cannot be opened: its folder cannot be made"
                f" ({error.strerror}). Give another by --store."
            ) from error
        url = f"sqlite:///{path}"
    try:
        parsed = sqlalchemy.make_url(url)
        waits = parsed.drivername.startswith("sqlite") and "timeout" not in parsed.query
        engine = sqlalchemy.create_engine(parsed, connect_args={"timeout": 30} if waits else {})
    except (SQLAlchemyError, ImportError) as error:
        shown = url if "@" not in url else url.partition("://")[0] + "://…"
        raise StoreError(f"The store {shown} cannot be opened: {_reason(error)}") from error
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _prepare(connection: Any, _: Any) -> None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")

    return engine


_HINTS = {
    "load plugin": "Give a file, or a URL of a database that SQLAlchemy knows, by --store.",
    "unable to open": "Check that its folder exists and is writable, or give another by --store.",
    "readonly": "The file is read-only. Give another by --store.",
    "locked": "Another process holds it. Try again when that has finished.",
    "not a database": "The file is damaged or of another kind. Move it away and start a new one.",
    "malformed": "The file is damaged. Move it away and start a new one.",
    "full": "The disk is full. Free some space; what was written before is kept.",
}


def _reason(error: BaseException) -> str:
    text = str(getattr(error, "orig", None) or error).splitlines()[0].rstrip(".")
    if isinstance(error, ModuleNotFoundError):
        return f"its driver is missing. Run 'pip install {error.name}'."
    hints = (hint for words, hint in _HINTS.items() if words in text)
    return f"{text}. {next(hints, 'Give another store by --store.')}"
