"""An epoch of mini-batches on the structure of ogbn-arxiv, against PyTorch Geometric's own way.

The peer is what its documentation offers without further libraries: `k_hop_subgraph` around the
training nodes of each batch, and two `GCNConv` layers on it. Both train on the same training nodes
with the whole neighborhoods of two hops, two threads, without validation. A few batches are timed.

Run as ``python -m benchmarks.batches SIDE STRUCTURE``, with SIDE ``peer`` or ``ours``; prints the
seconds of a batch, the median of several, and megabytes as JSON. Without STRUCTURE (see
`benchmarks.made_arxiv`) a synthetic graph of the size takes its place.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import k_hop_subgraph

from benchmarks.made_arxiv import WIDTH, made_arxiv, made_features
from gaug import GCN, GCNConfig, NoAugmentation
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.graph.valid import standardize
from gaug.models.config import ModuleConfig
from gaug.runs.cost import measured
from gaug.training.config import TrainingConfig
from gaug.training.loop import train_run
from gaug.training.task import Task

BATCH_SIZE = 1024
_BATCHES = 12
_HIDDEN = 128


def main() -> None:
    side, structure = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None
    torch.set_num_threads(2)
    data = benchmark_graph(structure)
    before = psutil.Process().memory_info().rss / 1e6
    with measured() as cost:
        ends = list((_peer if side == "peer" else _ours)(data))
    seconds = [late - early for early, late in itertools.pairwise(ends)]
    print(
        json.dumps(
            {
                "seconds": statistics.median(seconds[1:]),
                "memory_mb": cost.peak_memory_mb - before,
                "batches": -(-int(data.train_mask.sum()) // BATCH_SIZE),
            }
        )
    )


def benchmark_graph(structure: Path | None) -> Data:
    """The structure of ogbn-arxiv with made features, or a synthetic graph of its size."""
    if structure is not None:
        return standardize(made_arxiv(structure))[0]
    data = planted_graph(
        SyntheticConfig(num_nodes=169_343, num_classes=40, degree=13.7, heavy_tailed=True)
    )
    data.x = torch.from_numpy(made_features(data.y.numpy()))
    split = make_split(data, "random", SplitConfig(train_fraction=0.54, val_fraction=0.18))
    assert data.x.size(1) == WIDTH
    return split.apply(data)


class _Module(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.first, self.last = GCNConv(WIDTH, _HIDDEN), GCNConv(_HIDDEN, classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        h = functional.dropout(self.first(x, edge_index).relu(), training=self.training)
        out: torch.Tensor = self.last(h, edge_index)
        return out


def _peer(data: Data) -> Iterator[float]:
    model = _Module(int(data.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    train = data.train_mask.nonzero().flatten()
    yield time.perf_counter()
    for seeds in torch.split(train[torch.randperm(train.numel())], BATCH_SIZE)[:_BATCHES]:
        nodes, edges, places, _ = k_hop_subgraph(
            seeds, 2, data.edge_index, relabel_nodes=True, num_nodes=data.num_nodes
        )
        optimizer.zero_grad()
        logits = model(data.x[nodes], edges)
        loss = functional.cross_entropy(logits[places], data.y[nodes[places]])
        loss.backward()
        optimizer.step()
        yield time.perf_counter()


class _EnoughError(Exception):
    pass


def _ours(data: Data) -> Iterator[float]:
    task = Task.of(data)
    ends: list[float] = [time.perf_counter()]

    def note(_: object) -> None:
        ends.append(time.perf_counter())
        if len(ends) > _BATCHES:
            raise _EnoughError

    with contextlib.suppress(_EnoughError):
        train_run(
            task,
            lambda: GCN(task.in_features, task.num_classes, GCNConfig(hidden=_HIDDEN)),
            NoAugmentation(),
            ModuleConfig(),
            TrainingConfig(epochs=1, batch_size=BATCH_SIZE, selection="last"),
            0,
            on_progress=note,
        )
    return iter(ends)


if __name__ == "__main__":
    main()
