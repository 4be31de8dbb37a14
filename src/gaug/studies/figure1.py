"""The paper's figure 1: a GCN on the karate club, on the original graph and on changed ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from torch_geometric.data import Data

from gaug.data.opening import open_graph
from gaug.data.splits import Split
from gaug.drawing.picture import BLUE, write_picture
from gaug.drawing.table import Field, Scores, Table
from gaug.graph.change import GraphChange, omniscient_change, random_change
from gaug.graph.edges import undirected_pairs
from gaug.methods.gaug_m.method import GAugM
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.summary import mean_and_spread
from gaug.seeding import run_seed
from gaug.studies.fixed_change import FixedChange
from gaug.studies.paper import FIGURE1
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study
from gaug.training.config import TrainingConfig

ADD_FRACTION = 0.2
REMOVE_FRACTION = 0.1
_TRAINING = TrainingConfig(epochs=100, selection="last")
_CLASS_COLORS = ("#e69f00", "#009e73")  # distinguishable with any kind of color vision

Change = Callable[[torch.Generator], GraphChange]


class Figure1(Study):
    """A GCN with one labeled node per class on the karate club, with edges changed well and badly.

    Each run redraws the two labeled nodes and the changes, the same for all variants, and tests on
    the other 32 nodes. There are no validation nodes, so the last epoch is used.
    """

    name = "figure1"
    title = "GCN on the karate club"
    scope = STUDIES["figure1"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """One cell per variant, test graph and run."""
        loaded = open_graph("karate")
        data = loaded.data
        changes = _changes(data, options.seed)
        found = []
        for run in self.scope.run_numbers(options):
            split = _one_node_per_class(data, run_seed(options.seed, run))
            for variant, change in changes.items():
                generator = torch.Generator().manual_seed(run_seed(options.seed, run))
                drawn = None if change is None else change(generator)
                for inference in ("original",) if drawn is None else ("modified", "original"):
                    method = "none" if drawn is None else FixedChange(drawn, inference)
                    plan = Plan.of(
                        loaded,
                        model="gcn",
                        method=method,
                        training=_TRAINING,
                        split=split,
                        seed=options.seed,
                    )
                    found.append(Cell((variant, inference, run), plan, [run]))
        return found

    def table(self, results: Sequence[CellResult], graphs: Graphs) -> Table:
        """One row per variant."""
        rows: list[list[Field]] = [
            [
                variant,
                None if modified is None else _beside(results, variant, "modified", modified),
                _beside(results, variant, "original", original),
            ]
            for variant, (modified, original) in FIGURE1.items()
        ]
        runs = len(_scores(results, "Original", "original"))
        note = (
            "Test micro-F1 in percent, mean and sample standard deviation over"
            f" {runs} run{'' if runs == 1 else 's'}; in parentheses the paper's mean. One labeled"
            " node per class, redrawn in each run."
        )
        header = ["graph", "tested on modified", "tested on original"]
        return Table(self.title, header, rows, [note, *_missing(results)])

    def variants(self, results: Sequence[CellResult]) -> list[dict[str, Any]]:
        """The scores of each run, ready for JSON; an unchanged graph counts as modified, too."""
        return [
            {
                "graph": variant.lower(),
                "modified": _scores(
                    results, variant, "original" if paper_modified is None else "modified"
                ),
                "original": _scores(results, variant, "original"),
                "paper_modified": paper_modified,
                "paper_original": paper_original,
            }
            for variant, (paper_modified, paper_original) in FIGURE1.items()
        ]

    def draw(self, results: Sequence[CellResult], graphs: Graphs, path: Path) -> None:
        """Write the picture: the graph and its changed variants side by side."""
        data = graphs.load(results[0].cell.plan).data
        edges = undirected_pairs(data.edge_index).t().tolist()
        graph: networkx.Graph[int] = networkx.Graph(edges)
        layout = networkx.kamada_kawai_layout(graph)
        count = len(FIGURE1)
        canvas, axes = plt.subplots(1, count, figsize=(4.2 * count, 4.6), layout="constrained")
        for axis, variant in zip(axes, FIGURE1, strict=True):
            first = next(result for result in results if result.cell.key[0] == variant)
            method = first.cell.plan.method.instance
            change = method.change if isinstance(method, FixedChange) else None
            _draw_graph(axis, data, change, edges, layout)
            lines = [f"on the original graph: {_text(results, variant, 'original')}"]
            if change is not None:
                lines.insert(0, f"on the modified graph: {_text(results, variant, 'modified')}")
            axis.set_title(f"{variant}\n" + "\n".join(lines), fontsize=10)
        canvas.legend(
            handles=[
                Line2D([], [], color="#555555", label="edge"),
                Line2D([], [], color=BLUE, label="added"),
                Line2D([], [], color=BLUE, linestyle=(0, (3, 2)), label="removed"),
            ],
            loc="outside lower center",
            ncols=3,
            frameon=False,
        )
        write_picture(canvas, path)


def _changes(data: Data, seed: int) -> dict[str, Change | None]:
    num_edges = data.num_edges // 2
    counts = math.floor(ADD_FRACTION * num_edges), math.floor(REMOVE_FRACTION * num_edges)
    mender = GAugM(
        predictor="gae", add_fraction=ADD_FRACTION, remove_fraction=REMOVE_FRACTION, seed=seed
    )
    # The same for all runs: an edge predictor does not see the labels of a run.
    learned = mender.find_change(data).change
    return {
        "Original": None,
        "Random": lambda draw: random_change(data, *counts, draw),
        "GAug-M": lambda draw: learned,
        "Omniscient": lambda draw: omniscient_change(data, *counts, draw),
    }


def _one_node_per_class(data: Data, seed: int) -> Split:
    generator = torch.Generator().manual_seed(seed)
    train = torch.zeros(int(data.num_nodes), dtype=torch.bool)
    for label in data.y.unique():
        members = (data.y == label).nonzero().flatten()
        train[members[torch.randint(members.numel(), (1,), generator=generator)]] = True
    nobody = torch.empty(0, dtype=torch.long)
    return Split(
        "one node per class", train.nonzero().flatten(), nobody, (~train).nonzero().flatten()
    )


def _scores(results: Sequence[CellResult], variant: str, inference: str) -> list[float]:
    return [
        score
        for result in results
        if result.cell.key[:2] == (variant, inference)
        for score in result.scores
    ]


def _beside(results: Sequence[CellResult], variant: str, inference: str, paper: float) -> Scores:
    failures = _failures(results).get((variant, inference))
    return Scores(
        _scores(results, variant, inference), (paper, None), failures[0] if failures else None
    )


def _failures(results: Sequence[CellResult]) -> dict[tuple[str, str], list[str]]:
    """Why runs are missing, by variant and test graph."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.failure:
            found.setdefault(result.cell.key[:2], []).append(result.failure)
    return found


def _missing(results: Sequence[CellResult]) -> list[str]:
    """Missing runs, one sentence per variant and test graph."""
    return [
        f"{variant}, tested on the {inference} graph: {len(reasons)} runs are missing, the first"
        f" because: {reasons[0]}"
        for (variant, inference), reasons in _failures(results).items()
    ]


def _text(results: Sequence[CellResult], variant: str, inference: str) -> str:
    scores = _scores(results, variant, inference)
    return mean_and_spread(scores) if scores else "–"


def _draw_graph(
    axis: Axes,
    data: Data,
    change: GraphChange | None,
    edges: list[list[int]],
    layout: dict[int, np.ndarray],
) -> None:
    added = change.added.t().tolist() if change else []
    removed = change.removed.t().tolist() if change else []
    kept = [edge for edge in edges if edge not in removed]
    _draw_edges(axis, kept, layout, "#555555", "-", 0.8)
    _draw_edges(axis, added, layout, BLUE, "-", 1.6)
    _draw_edges(axis, removed, layout, BLUE, (0, (3, 2)), 1.6)
    places = np.array([layout[node] for node in range(int(data.num_nodes))])
    colors = [_CLASS_COLORS[label] for label in data.y.tolist()]
    axis.scatter(
        places[:, 0], places[:, 1], s=90, c=colors, edgecolors="white", linewidths=0.8, zorder=3
    )
    axis.set_axis_off()


def _draw_edges(
    axis: Axes,
    edges: list[list[int]],
    layout: dict[int, np.ndarray],
    color: str,
    style: str | tuple[int, tuple[int, int]],
    width: float,
) -> None:
    for u, v in edges:
        (x0, y0), (x1, y1) = layout[u], layout[v]
        axis.plot([x0, x1], [y0, y1], color=color, linestyle=style, linewidth=width, zorder=1)
