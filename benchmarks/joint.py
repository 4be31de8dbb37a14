"""One epoch of GAug-O's joint training: time, and memory above the inputs.

The graph has the degree of Flickr, and GAug-O the settings that its authors have for Flickr, but
for more pretraining: there a sampled graph has 1.1 times as many edges as the original one, and
here, after 20 epochs, 1.5 times.

Run as ``python -m benchmarks.joint ENGINE NODES [DEGREE [THREADS]]``, one thread by default; prints
the seconds of an epoch, the median of several, and megabytes as JSON.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time

import psutil
import torch

from gaug import GCN, GAugO, GAugOConfig
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.models.config import ModuleConfig
from gaug.runs.cost import measured
from gaug.training.config import TrainingConfig
from gaug.training.loop import train_run
from gaug.training.task import Task

#: That of Flickr.
DEGREE = 63.0
_FEATURES = 2000
_EPOCHS = 12
_LARGE = 100_000


def main() -> None:
    engine, num_nodes = sys.argv[1], int(sys.argv[2])
    degree = float(sys.argv[3]) if len(sys.argv) > 3 else DEGREE
    torch.set_num_threads(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    # Large graphs: fewer epochs, for they vary less.
    epochs, pretraining = (_EPOCHS, 20) if num_nodes < _LARGE else (4, 5)
    data = planted_graph(
        SyntheticConfig(
            num_nodes=num_nodes, degree=degree, num_features=_FEATURES, feature_density=0.01
        )
    )
    split = make_split(data, "stratified", SplitConfig(train_fraction=0.1))
    task = Task.of(split.apply(data))
    # The memory of the dense engine is refused by a figure of its own where there is too little.
    config = GAugOConfig(
        engine=engine,
        alpha=0.05,
        beta=2.5,
        temperature=0.3,
        pretrain_predictor_epochs=pretraining,
        pretrain_classifier_epochs=0,
    )
    print(json.dumps({"num_nodes": num_nodes, **joint_epoch(task, config, epochs)}))


def joint_epoch(task: Task, config: GAugOConfig, epochs: int) -> dict[str, float]:
    """Seconds of an epoch of joint training, and megabytes above what is held before it."""
    method = GAugO(config).prepare(task.visible(), 0)

    def train(epochs: int) -> list[float]:
        """Seconds of each epoch of joint training but the first."""
        ends: list[float] = []
        train_run(
            task,
            lambda: GCN(task.in_features, task.num_classes),
            method,
            ModuleConfig(0.01, 5e-4),
            TrainingConfig(epochs=epochs),
            0,
            on_progress=lambda _: ends.append(time.perf_counter()),
        )
        joint = ends[-epochs:]
        return [end - start for start, end in itertools.pairwise(joint)]

    train(1)  # what is made once
    before = psutil.Process().memory_info().rss
    with measured() as cost:
        # The median, for the machine may be somebody else's for a moment.
        seconds = statistics.median(train(epochs))
    return {"seconds": seconds, "memory_mb": cost.peak_memory_mb - before / 1e6}


if __name__ == "__main__":
    main()
