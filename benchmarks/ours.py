"""Our side: the same model and epochs in gaug's loop.

Run as ``python -m benchmarks.ours GRAPH RUNS WORKERS``; prints seconds in all and peak memory.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.graphs import benchmark_graph
from gaug import GCN, NoAugmentation
from gaug.errors import GaugError
from gaug.models.config import ModuleConfig
from gaug.runs.cost import peak_memory_mb
from gaug.runs.executor import Tell
from gaug.runs.executors import local_executor
from gaug.seeding import run_seed
from gaug.training.config import TrainingConfig
from gaug.training.loop import train_run
from gaug.training.run import computing_threads
from gaug.training.task import Task


@dataclass(frozen=True)
class Job:
    """One training of 200 epochs with validation."""

    task: Task
    run: int
    epochs: int = 200

    def build(self) -> GCN:
        """A new model."""
        return GCN(self.task.in_features, self.task.num_classes)

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Train, and tell the memory of this process."""
        with computing_threads(1):
            result = train_run(
                self.task,
                self.build,
                NoAugmentation(),
                ModuleConfig(0.01, 5e-4),
                TrainingConfig(epochs=self.epochs),
                run_seed(0, self.run),
                on_progress=lambda now: tell(now.epochs / self.epochs),
            )
        return {"test_score": result.test_score, "peak_memory_mb": peak_memory_mb()}


def raised(result: dict[str, Any] | GaugError) -> dict[str, Any]:
    """The result of a job; raises the error that it may be."""
    if isinstance(result, GaugError):
        raise result
    return result


def main() -> None:
    name, runs, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    data, title = benchmark_graph(name)
    task = Task.of(data)
    start = time.perf_counter()
    with local_executor(workers) as executor:
        results = [
            raised(result) for _, result in executor.run(Job(task, run) for run in range(runs))
        ]
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "graph": title,
                "seconds": seconds,
                "peak_memory_mb": max(result["peak_memory_mb"] for result in results),
            }
        )
    )


if __name__ == "__main__":
    main()
