"""The executors to choose from."""

from __future__ import annotations

from gaug.errors import ConfigError
from gaug.runs.executor import Executor, ThisProcess
from gaug.runs.worker_processes import WorkerProcesses


def local_executor(workers: int) -> Executor:
    """The executor for a number of workers: one runs in this process, more in processes."""
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}.")
    return ThisProcess() if workers == 1 else WorkerProcesses(workers)
