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
from gaug.models.config import ModuleConfig
from gaug.runs.cost import peak_memory_mb
from gaug.runs.executors import repeat
from gaug.seeding import run_seed
from gaug.training.config import TrainingConfig
from gaug.training.loop import OnEpoch, train_run
from gaug.training.task import Task


@dataclass(frozen=True)
class Job:
    """One training of 200 epochs with validation."""

    task: Task
    epochs: int = 200

    def build(self) -> GCN:
        """A new model."""
        return GCN(self.task.in_features, self.task.num_classes)

    def __call__(self, run: int, on_epoch: OnEpoch) -> dict[str, Any]:
        """Train, and tell the memory of this process."""
        result = train_run(
            self.task,
            self.build,
            NoAugmentation(),
            ModuleConfig(0.01, 5e-4),
            TrainingConfig(epochs=self.epochs),
            run_seed(0, run),
            on_epoch=on_epoch,
        )
        return {"test_score": result.test_score, "peak_memory_mb": peak_memory_mb()}


def main() -> None:
    name, runs, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    data, title = benchmark_graph(name)
    job = Job(Task.of(data))
    start = time.perf_counter()
    results = [result for _, result in repeat(job, range(runs), workers=workers)]
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
