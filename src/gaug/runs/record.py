"""The record of a run, and the fingerprint that identifies it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import JSON, DateTime, Float, Integer, LargeBinary, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

#: Settings that determine a run. Scaling and splitting of a graph are part of its fingerprints.
_DECISIVE = ("model", "method", "predictors", "training", "threads", "device", "user_code")


class Base(DeclarativeBase):
    """Base of the tables of a store."""


class RunRecord(Base):
    """One run: its settings, results and software versions.

    Attributes:
        identity: Fingerprint of everything that determines the result; see `run_identity`.
        protocol: How the epoch was selected: ``validation``, or ``last`` for the last one.
        val_score: Micro-F1 in percent on the validation nodes; None if there are none.
        test_score: Micro-F1 in percent on the test nodes; None until it is read.
        val_predictions: Predictions for the validation nodes, by which methods are compared node by
            node; see `gaug.runs.predictions`. None in records of older versions.
        val_probabilities: How probable the right classes of the validation nodes were, calibrated.
            None with several labels per node, and in records of older versions.
        test_predictions: Predictions for the test nodes while their labels were hidden.
        seconds: Wall time of the run.
        peak_memory_mb: Peak resident memory of its process.
        versions: Versions of gaug and its dependencies.
        commit: Commit of the gaug checkout, if any.
        history: One row per epoch, if requested.
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
    test_score: Mapped[float | None] = mapped_column(Float)
    val_predictions: Mapped[bytes | None] = mapped_column(LargeBinary)
    val_probabilities: Mapped[bytes | None] = mapped_column(LargeBinary)
    test_predictions: Mapped[bytes | None] = mapped_column(LargeBinary)
    best_epoch: Mapped[int] = mapped_column(Integer)
    epochs: Mapped[int] = mapped_column(Integer)
    seconds: Mapped[float] = mapped_column(Float)
    peak_memory_mb: Mapped[float] = mapped_column(Float)
    versions: Mapped[dict[str, str]] = mapped_column(JSON)
    commit: Mapped[str | None] = mapped_column(String(40))
    history: Mapped[list[dict[str, float]] | None] = mapped_column(JSON)
    warning: Mapped[str | None] = mapped_column(String(500))

    @property
    def created_utc(self) -> datetime:
        """When it was recorded, in UTC: SQLite drops the zone, other databases have their own."""
        if self.created.tzinfo is None:
            return self.created.replace(tzinfo=timezone.utc)
        return self.created.astimezone(timezone.utc)


class ChoiceRecord(Base):
    """The outcome of a choice that was limited in time, and so cannot be found again from its runs.

    Attributes:
        identity: Fingerprint of what was asked; see `gaug.studies.race_and_search`.
        outcome: What was chosen, as plain values.
    """

    __tablename__ = "choices"

    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    identity: Mapped[str] = mapped_column(String(64), index=True)
    outcome: Mapped[dict[str, Any]] = mapped_column(JSON)


def run_identity(
    *,
    graph_hash: str,
    split_hash: str,
    model: str,
    method: str,
    config: Mapping[str, Any],
    seed: int,
    run: int,
    gaug_version: str,
) -> str:
    """Fingerprint of everything that determines the result of a run, on one machine.

    Args:
        graph_hash: Fingerprint of nodes, edges, features and labels.
        split_hash: Fingerprint of the training, validation and test nodes.
        model: Name of the model.
        method: Name of the method.
        config: All settings, by group.
        seed: Seed from which the seeds of all runs are derived.
        run: Number of the run.
        gaug_version: Version of this package.
    """
    deciding = {
        "graph_hash": graph_hash,
        "split_hash": split_hash,
        "model": model,
        "method": method,
        "config": {name: config[name] for name in _DECISIVE if config.get(name)},
        "seed": seed,
        "run": run,
        "gaug_version": gaug_version,
    }
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()
