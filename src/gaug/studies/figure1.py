"""The paper's figure 1: a GCN on the karate club, on the original graph and on changed ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from torch_geometric.data import Data

from gaug.data.opening import open_graph
from gaug.data.splits import Split
from gaug.drawing.picture import BLUE, CLASS_COLORS, picture
from gaug.drawing.table import Field, Table
from gaug.graph.change import GraphChange, omniscient_change, random_change
from gaug.graph.edges import undirected_pairs
from gaug.methods.gaug_m.method import GAugM
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.summary import mean_and_spread
from gaug.seeding import run_seed
from gaug.studies.fixed_change import FixedChange
from gaug.studies.notes import runs_text
from gaug.studies.outcome import Outcome, rounded
from gaug.studies.paper import FIGURE1
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study
from gaug.training.config import TrainingConfig

ADD_FRACTION = 0.2
REMOVE_FRACTION = 0.1
_TRAINING = TrainingConfig(epochs=100, selection="last")
_EDGES = "#555555"

#: Name of its splits.
SPLIT = "one node per class"

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
                    method = (
                        "none" if drawn is None else FixedChange(drawn, inference, variant.lower())
                    )
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

    def outcomes(
        self, results: Sequence[CellResult], graphs: Graphs, options: StudyOptions
    ) -> list[Outcome]:
        """One per variant and test graph, with all runs; the change of the first run is a fact."""
        groups: dict[tuple[Any, ...], list[CellResult]] = {}
        for result in results:
            groups.setdefault(result.cell.key[:2], []).append(result)
        return [_merged(key, group) for key, group in groups.items()]

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per variant."""
        by_key = {outcome.key: outcome for outcome in outcomes}
        rows: list[list[Field]] = [
            [
                variant,
                None if modified is None else by_key[variant, "modified"].beside((modified, None)),
                by_key[variant, "original"].beside((original, None)),
            ]
            for variant, (modified, original) in FIGURE1.items()
        ]
        note = (
            "Test micro-F1 in percent, mean and sample standard deviation over"
            f" {runs_text(outcomes)}; in parentheses the paper's mean. One labeled"
            " node per class, redrawn in each run."
        )
        missing = [
            f"{variant}, tested on the {inference} graph: {outcome.failure}"
            for (variant, inference), outcome in by_key.items()
            if outcome.failure
        ]
        header = ["graph", "tested on modified", "tested on original"]
        return Table(self.title, header, rows, [note, *missing])

    def variants(self, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
        """The scores of each run, ready for JSON; an unchanged graph counts as modified, too."""
        scores = {outcome.key: list(outcome.scores) for outcome in outcomes}
        return [
            {
                "graph": variant.lower(),
                "modified": scores[variant, "original" if paper_modified is None else "modified"],
                "original": scores[variant, "original"],
                "paper_modified": paper_modified,
                "paper_original": paper_original,
            }
            for variant, (paper_modified, paper_original) in FIGURE1.items()
        ]

    def draw(self, outcomes: Sequence[Outcome], path: Path) -> None:
        """Write the picture: the graph and its changed variants side by side."""
        by_key = {outcome.key: outcome for outcome in outcomes}
        data = open_graph("karate").data
        edges = undirected_pairs(data.edge_index).t().tolist()
        graph: networkx.Graph[int] = networkx.Graph(edges)
        layout = networkx.kamada_kawai_layout(graph)
        with picture(path, 1, len(FIGURE1), width=4.2, height=4.6) as (canvas, axes):
            for axis, (variant, (modified, _)) in zip(axes.flat, FIGURE1.items(), strict=True):
                lines = [f"on the original graph: {_text(by_key[variant, 'original'])}"]
                changed: Mapping[str, list[list[int]]] = {"added": [], "removed": []}
                if modified is not None:
                    outcome = by_key[variant, "modified"]
                    changed = outcome.facts
                    lines.insert(0, f"on the modified graph: {_text(outcome)}")
                _draw_graph(axis, data, changed["added"], changed["removed"], edges, layout)
                axis.set_title(f"{variant}\n" + "\n".join(lines))
            canvas.legend(
                handles=[
                    Line2D([], [], color=_EDGES, label="edge"),
                    Line2D([], [], color=BLUE, label="added"),
                    Line2D([], [], color=BLUE, linestyle=(0, (3, 2)), label="removed"),
                ],
                loc="outside lower center",
                ncols=3,
            )


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
    return Split(SPLIT, train.nonzero().flatten(), nobody, (~train).nonzero().flatten())


def _merged(key: tuple[Any, ...], results: Sequence[CellResult]) -> Outcome:
    """The runs of one variant and test graph, which are a cell each."""
    parts = [Outcome.of(result) for result in results]
    times = [part.seconds for part in parts if part.seconds is not None]
    reasons = [part.failure for part in parts if part.failure]
    method = results[0].cell.plan.method.instance
    facts = {}
    if isinstance(method, FixedChange):
        change = method.change
        facts = {"added": change.added.t().tolist(), "removed": change.removed.t().tolist()}
    newest = max(parts, key=lambda part: part.made or "")
    return Outcome(
        key,
        scores=[score for part in parts for score in part.scores],
        seconds=rounded(sum(times) / len(times)) if times else None,
        failure=f"{len(reasons)} runs are missing, the first because: {reasons[0]}"
        if reasons
        else None,
        made=newest.made,
        versions=newest.versions,
        facts=facts,
    )


def _text(outcome: Outcome) -> str:
    return mean_and_spread(outcome.scores) if outcome.scores else "–"


def _draw_graph(
    axis: Axes,
    data: Data,
    added: list[list[int]],
    removed: list[list[int]],
    edges: list[list[int]],
    layout: dict[int, np.ndarray],
) -> None:
    kept = [edge for edge in edges if edge not in removed]
    _draw_edges(axis, kept, layout, _EDGES, "-", 0.8)
    _draw_edges(axis, added, layout, BLUE, "-", 1.6)
    _draw_edges(axis, removed, layout, BLUE, (0, (3, 2)), 1.6)
    places = np.array([layout[node] for node in range(int(data.num_nodes))])
    colors = [CLASS_COLORS[label] for label in data.y.tolist()]
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
