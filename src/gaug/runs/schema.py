"""The version of a store's tables, and the steps that upgrade an older store.

A store records the version of its tables. `STEPS` upgrades each version to the next; all missing
steps are done in one transaction, so a store has either its old tables or the new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy
from sqlalchemy import Connection, Float, Integer, LargeBinary, select, update
from sqlalchemy.orm import Mapped, mapped_column

from gaug.runs.record import Base, ChoiceRecord, RunRecord, run_identity

if TYPE_CHECKING:
    from alembic.operations import Operations

#: Version of the tables in `gaug.runs.record`.
SCHEMA_VERSION = 5


class SchemaVersion(Base):
    """The version of a store's tables, in its single row."""

    __tablename__ = "gaug_schema"

    version: Mapped[int] = mapped_column(Integer, primary_key=True)


def upgrade(connection: Connection, version: int) -> None:
    """Upgrade the tables of a store from an older version.

    Args:
        connection: A connection within a transaction.
        version: Current version of the store.
    """
    for number in range(version, SCHEMA_VERSION):
        STEPS[number](connection)
    connection.execute(update(SchemaVersion).values(version=SCHEMA_VERSION))


def _hide_test_scores(connection: Connection) -> None:
    """From 1 to 2: a run may have no test score yet; settings in American spelling.

    The identity of a run no longer contains the settings of graph and split, which their
    fingerprints cover, and the protocol is how the epoch was actually selected.
    """
    with _operations(connection).batch_alter_table("runs") as table:
        table.alter_column("test_score", existing_type=Float(), nullable=True)
        table.add_column(sqlalchemy.Column("test_predictions", LargeBinary(), nullable=True))
    runs = RunRecord.__table__
    columns = ("id", "graph_hash", "split_hash", "model", "method", "config", "seed", "run")
    rows = connection.execute(select(*(runs.c[name] for name in columns), runs.c.versions)).all()
    for row in rows:
        found = dict(row._mapping)
        number, versions = found.pop("id"), found.pop("versions")
        found["config"] = _respelled(found["config"])
        changed = {
            "config": found["config"],
            "protocol": found["config"].get("training", {}).get("selection", "validation"),
            "identity": run_identity(**found, gaug_version=versions["gaug"]),
        }
        connection.execute(update(RunRecord).where(RunRecord.id == number).values(**changed))


def _keep_val_predictions(connection: Connection) -> None:
    """From 2 to 3: a run keeps its predictions for the validation nodes."""
    column = sqlalchemy.Column("val_predictions", LargeBinary(), nullable=True)
    _operations(connection).add_column("runs", column)


def _keep_choices(connection: Connection) -> None:
    """From 3 to 4: choices that were limited in time are recorded."""
    Base.metadata.create_all(connection, [Base.metadata.tables[ChoiceRecord.__tablename__]])


def _keep_val_probabilities(connection: Connection) -> None:
    """From 4 to 5: a run keeps how probable the right classes of its validation nodes were."""
    column = sqlalchemy.Column("val_probabilities", LargeBinary(), nullable=True)
    _operations(connection).add_column("runs", column)


def _operations(connection: Connection) -> Operations:
    from alembic.migration import MigrationContext  # slow to import, and rarely needed
    from alembic.operations import Operations

    return Operations(MigrationContext.configure(connection))


_RESPELLED = {"max-normalised": "max-normalized", "standardised": "standardized"}


def _respelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _respelled(part) for name, part in value.items()}
    return _RESPELLED.get(value, value) if isinstance(value, str) else value


#: Upgrade step from each version to the next.
STEPS: dict[int, Callable[[Connection], None]] = {
    1: _hide_test_scores,
    2: _keep_val_predictions,
    3: _keep_choices,
    4: _keep_val_probabilities,
}
