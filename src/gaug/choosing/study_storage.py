"""Where Optuna keeps the trials of a search, and which of them are still running.

A process that runs trials leaves a sign of life: who it is, for processes on the same machine, and
heartbeats for those on others.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any

import psutil
from optuna.exceptions import ExperimentalWarning
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from sqlalchemy.exc import SQLAlchemyError

from gaug.errors import StoreError, reason_of
from gaug.runs.store import Store

# Seconds between heartbeats, and after which a trial counts as lost.
_HEARTBEAT, _GRACE = 60, 300
# How long to try again while other processes make the same tables.
_SECONDS_TO_OPEN = 20.0


def open_storage(store: Store | None) -> BaseStorage:
    """Optuna's storage in the database of a store; in memory without one."""
    if store is None:
        return InMemoryStorage()
    url = store.database_url
    waits = {"connect_args": {"timeout": 30}} if url.startswith("sqlite") else {}
    patience = time.monotonic() + _SECONDS_TO_OPEN
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                return RDBStorage(
                    url, engine_kwargs=waits, heartbeat_interval=_HEARTBEAT, grace_period=_GRACE
                )
        except (SQLAlchemyError, AssertionError, RuntimeError) as error:
            # Other processes make the same tables at the same moment: look again.
            if time.monotonic() > patience:
                raise StoreError(
                    f"The study in {store.url} cannot be opened: {reason_of(error)}", topic="store"
                ) from error
            time.sleep(0.1)


class Heart:
    """Heartbeats of the trials running here, for processes on other machines.

    Args:
        storage: Where the trials are.
        owned: Ids of the trials running here, by index; it changes while they run.
    """

    def __init__(self, storage: BaseStorage, owned: Mapping[int, int]) -> None:
        self._storage = storage
        self._owned = owned
        self._stopped = threading.Event()
        if isinstance(storage, RDBStorage):
            threading.Thread(target=self._run, daemon=True).start()

    def beat(self, number: int) -> None:
        """Say that a trial is running."""
        if isinstance(self._storage, RDBStorage):
            self._storage.record_heartbeat(number)

    def stop(self) -> None:
        """End all heartbeats."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(_HEARTBEAT):
            for number in list(self._owned.values()):
                with contextlib.suppress(Exception):  # a busy database: the next beat may do
                    self.beat(number)


def this_process() -> dict[str, Any]:
    """What tells this process from all others."""
    process = psutil.Process()
    return {"host": socket.gethostname(), "pid": process.pid, "begun": process.create_time()}


def has_ended(owner: dict[str, Any] | None) -> bool:
    """Whether the process that started a trial was on this machine and has ended."""
    if owner is None or owner["host"] != socket.gethostname():
        return False
    try:
        return bool(abs(psutil.Process(owner["pid"]).create_time() - owner["begun"]) > 1)
    except psutil.NoSuchProcess:
        return True
