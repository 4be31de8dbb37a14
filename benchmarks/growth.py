"""How time and memory grow from ten thousand to a million nodes at the same degree.

Each kind of work runs in a process of its own with two threads, on synthetic graphs of degree 10.
An epoch is the median of a few; memory is in addition to the graph, at its peak.

Run as ``python -m benchmarks.growth OUT.csv [NODES …]``; rows of OUT.csv are not measured again.
``python -m benchmarks.growth --draw OUT.csv PICTURE`` draws it, with the slopes.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import torch

from gaug import GCN, GAugM, GAugO, GAugOConfig, NoAugmentation
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.memory import reusing
from gaug.methods.none.config import NoAugmentationConfig
from gaug.methods.run_memory import run_memory
from gaug.models.config import ModuleConfig
from gaug.models.spec import ModelSpec
from gaug.runs.cost import measured
from gaug.training.config import TrainingConfig
from gaug.training.graph_size import GraphSize
from gaug.training.hooks import Augmentation
from gaug.training.loop import train_run
from gaug.training.progress import Progress
from gaug.training.task import Task

NODES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
_DEGREE = 10.0
_TRAIN = 0.1
_EPOCHS = 4

#: Kinds of work, and what a picture calls them.
KINDS = {
    "plain": "GCN, an epoch",
    "batches": "GCN in mini-batches of 512, an epoch",
    "gaug-o": "GAug-O (sparse), a joint epoch",
    "gae": "GAE, an epoch",
    "ranking": "GAug-M: exact ranking of all pairs",
}


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(_measure(sys.argv[2], int(sys.argv[3]))))
        return
    if sys.argv[1] == "--draw":
        _draw(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    out, sizes = Path(sys.argv[1]), [int(text) for text in sys.argv[2:]] or list(NODES)
    rows = _read(out) if out.exists() else []
    for num_nodes in sizes:
        for kind in KINDS:
            if any((row["kind"], int(row["nodes"])) == (kind, num_nodes) for row in rows):
                continue
            command = [sys.executable, "-m", "benchmarks.growth", "--one", kind, str(num_nodes)]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            row = {"kind": kind, "nodes": num_nodes, **found}
            rows.append({name: str(value) for name, value in row.items()})
            _write(out, rows)
            print(f"{num_nodes:9,} nodes, {KINDS[kind]}: {found}", flush=True)


def _measure(kind: str, num_nodes: int) -> dict[str, float]:
    torch.set_num_threads(2)
    data = planted_graph(SyntheticConfig(num_nodes=num_nodes, degree=_DEGREE, num_features=200))
    split = make_split(data, "random", SplitConfig(train_fraction=_TRAIN, val_fraction=0.1))
    task = Task.of(split.apply(data))
    before = psutil.Process().memory_info().rss / 1e6
    work: dict[str, Callable[[], float]] = {
        "plain": lambda: _epoch(task, NoAugmentation(), TrainingConfig(epochs=_EPOCHS)),
        "batches": lambda: _epoch(
            task, NoAugmentation(), TrainingConfig(epochs=_EPOCHS, batch_size=512)
        ),
        "gaug-o": lambda: _epoch(task, _gaug_o(task), TrainingConfig(epochs=_EPOCHS)),
        "gae": lambda: _gae(task),
        "ranking": lambda: _ranking(task),
    }
    with reusing(_estimate(kind, task)), measured() as cost:  # as every run of a plan does
        seconds = work[kind]()
    return {"seconds": seconds, "memory_mb": cost.peak_memory_mb - before}


def _estimate(kind: str, task: Task) -> int:
    method = GAugOConfig() if kind == "gaug-o" else NoAugmentationConfig()
    size = GraphSize.of(task.features, task.adjacency.num_pairs)
    return run_memory(size, ModelSpec.of("gcn"), method).peak


def _epoch(task: Task, method: Augmentation, training: TrainingConfig) -> float:
    """Seconds of an epoch with validation: the median of all but the first."""
    ends: list[float] = []
    last = -1

    def note(now: Progress) -> None:
        nonlocal last
        if now.epochs == int(now.epochs) and int(now.epochs) != last:
            last = int(now.epochs)
            ends.append(time.perf_counter())

    train_run(
        task,
        lambda: GCN(task.in_features, task.num_classes),
        method,
        ModuleConfig(),
        training,
        0,
        on_progress=note,
    )
    joint = ends[-training.epochs :]
    return statistics.median(b - a for a, b in itertools.pairwise(joint))


def _gaug_o(task: Task) -> Augmentation:
    method = GAugO(
        alpha=0.2, engine="sparse", pretrain_predictor_epochs=5, pretrain_classifier_epochs=0
    )
    return method.prepare(task.visible(), 0)


class _EnoughError(Exception):
    pass


def _gae(task: Task) -> float:
    """Seconds of an epoch of a GAE with its sampled loss."""
    ends: list[float] = []

    def note(share: float) -> None:
        if share > 0.5:  # the ranking follows
            raise _EnoughError
        ends.append(time.perf_counter())

    with contextlib.suppress(_EnoughError):
        _gaug_m(epochs=_EPOCHS).prepare(task.visible(), 0, on_share=note)
    return statistics.median(b - a for a, b in itertools.pairwise(ends))


def _ranking(task: Task) -> float:
    """Seconds of the ranking of all pairs."""
    ends: list[float] = []

    def note(share: float) -> None:
        if share >= 0.5:
            ends.append(time.perf_counter())

    _gaug_m(epochs=1).prepare(task.visible(), 0, on_share=note)
    return ends[-1] - ends[0]


def _gaug_m(epochs: int) -> GAugM:
    return GAugM(predictor="gae", predictor_epochs=epochs, edge_loss="sampled")


def _draw(table: Path, picture: Path) -> None:
    import matplotlib.pyplot as plt

    rows = _read(table)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axis, column, unit in zip(
        axes, ("seconds", "memory_mb"), ("seconds", "megabytes above the graph"), strict=True
    ):
        for kind, title in KINDS.items():
            points = sorted((int(r["nodes"]), float(r[column])) for r in rows if r["kind"] == kind)
            if points:
                slope = _slope(points)
                axis.plot(*zip(*points, strict=True), marker="o", label=f"{title}: {slope:.2f}")
        axis.set(xscale="log", yscale="log", xlabel="nodes", ylabel=unit)
        axis.grid(alpha=0.3, which="both")
        axis.legend(title="slope", fontsize=8)
    figure.savefig(picture, dpi=130)


def _slope(points: list[tuple[int, float]]) -> float:
    """The slope from the first to the last point, both axes logarithmic."""
    (small, low), (large, high) = points[0], points[-1]
    return math.log(high / low) / math.log(large / small)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
