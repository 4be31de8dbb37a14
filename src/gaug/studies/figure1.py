"""The paper's figure 1: a GCN on the karate club, on its graph and on changed ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange, omniscient_change, random_change
from gaug.methods.gaug_m.method import GAugM
from gaug.methods.none.method import NoAugmentation
from gaug.models.gcn import GCN
from gaug.seeding import run_seed
from gaug.training.config import TrainingConfig
from gaug.training.loop import Optimization, train_run
from gaug.training.metrics import micro_f1
from gaug.training.task import Task

ADD_FRACTION = 0.2
REMOVE_FRACTION = 0.1
_TRAINING = TrainingConfig(epochs=100, selection="last")

#: Test micro-F1 in the paper's figure 1, on the modified (M) and the original (O) graph.
PAPER = {
    "Original": (None, 92.4),
    "Random": (90.4, 91.0),
    "GAug-M": (95.7, 94.3),
    "Omniscient": (98.6, 95.6),
}

Change = Callable[[Data, torch.Generator], GraphChange]


@dataclass(frozen=True)
class Variant:
    """One of the figure's graphs with its scores.

    Attributes:
        name: What was done to the graph.
        change: The change of the first run, to draw; None for the original graph.
        modified: Micro-F1 in percent when tested on the modified graph, a run each.
        original: Micro-F1 in percent when tested on the original graph, a run each.
        paper_modified: The paper's figure for the former.
        paper_original: The paper's figure for the latter.
    """

    name: str
    change: GraphChange | None
    modified: list[float]
    original: list[float]
    paper_modified: float | None
    paper_original: float | None


@dataclass(frozen=True)
class Figure1:
    """The graph and its variants."""

    data: Data
    variants: list[Variant]
    runs: int


def run_figure1(
    runs: int, seed: int, on_progress: Callable[[float], None] | None = None
) -> Figure1:
    """Train a GCN with one labeled node a class on each graph, over and over.

    Each run draws the two labeled nodes and the changes anew, the same for all variants, and
    tests on the other 32 nodes. There are no validation nodes, so the last epoch counts.
    """
    data = load_graph("karate")
    mended = GAugM(add_fraction=ADD_FRACTION, remove_fraction=REMOVE_FRACTION, seed=seed)
    learned = mended.find_change(data).change
    changes: dict[str, Change | None] = {
        "Original": None,
        "Random": lambda graph, draw: random_change(graph, *_counts(graph), draw),
        # The same for all runs: an edge predictor does not see the labels that a run draws.
        "GAug-M": lambda graph, draw: learned,
        "Omniscient": lambda graph, draw: omniscient_change(graph, *_counts(graph), draw),
    }
    variants = [Variant(name, None, [], [], *PAPER[name]) for name in changes]
    for run in range(runs):
        run_data = _with_labels(data, run_seed(seed, run))
        for place, (name, change) in enumerate(changes.items()):
            generator = torch.Generator().manual_seed(run_seed(seed, run))
            drawn = None if change is None else change(run_data, generator)
            modified, original = _scores(run_data, drawn, run_seed(seed, run))
            variant = variants[place]
            variant.modified.append(modified)
            variant.original.append(original)
            if run == 0:
                variants[place] = Variant(
                    name, drawn, variant.modified, variant.original, *PAPER[name]
                )
        if on_progress is not None:
            on_progress(run + 1)
    return Figure1(data, variants, runs)


def _counts(data: Data) -> tuple[int, int]:
    num_edges = data.num_edges // 2
    return math.floor(ADD_FRACTION * num_edges), math.floor(REMOVE_FRACTION * num_edges)


def _with_labels(data: Data, seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    train = torch.zeros(int(data.num_nodes), dtype=torch.bool)
    for label in data.y.unique():
        members = (data.y == label).nonzero().flatten()
        train[members[torch.randint(members.numel(), (1,), generator=generator)]] = True
    split = data.clone()
    split.train_mask, split.test_mask = train, ~train
    split.val_mask = torch.zeros_like(train)
    return split


def _scores(data: Data, change: GraphChange | None, seed: int) -> tuple[float, float]:
    """Micro-F1 of one training on the changed graph, tested there and on the original graph."""
    task = Task.of(data if change is None else change.apply(data))
    result = train_run(
        task,
        lambda: GCN(task.in_features, task.num_classes),
        NoAugmentation(),
        Optimization(learning_rate=0.01, weight_decay=5e-4),
        _TRAINING,
        seed,
    )
    on_original = result.rounds[-1].predict(Adjacency.of(data))
    return result.test_score, micro_f1(on_original[task.test], task.labels[task.test])
