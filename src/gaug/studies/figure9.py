"""The paper's figure 9: the karate club after one layer of a GCN with random weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.opening import open_graph
from gaug.drawing.picture import CLASS_COLORS, picture
from gaug.drawing.table import Field, Table
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange, omniscient_change
from gaug.graph.edges import pair_keys, undirected_pairs
from gaug.runs.graphs import Graphs
from gaug.runs.summary import mean_and_spread
from gaug.seeding import run_seed
from gaug.studies.outcome import Outcome, rounded
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult, Study

#: Shares of the edges that a modified graph adds within and removes between classes.
ADD_FRACTION, REMOVE_FRACTION = 0.2, 0.1
#: Modified graphs whose embeddings are laid over one another.
MANY = 100
#: The panels of the paper.
PANELS = {
    "raw": "Raw features",
    "original": "Original graph",
    "modified": "Modified graph",
    "many": f"{MANY} modified graphs",
    "ideal": "Ideal graph",
}


class Figure9(Study):
    """The nodes of the karate club after one layer of a GCN with random features and weights.

    Nothing is trained. A run draws features and weights anew. The activation is left out: it would
    fold the plane without changing which nodes fall together.
    """

    name = "figure9"
    title = "Figure 9"
    scope = STUDIES["figure9"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """None: nothing is trained."""
        return []

    def outcomes(
        self, results: Sequence[CellResult], graphs: Graphs, options: StudyOptions
    ) -> list[Outcome]:
        """The share of the variance between classes in each run, and the points of the first."""
        data = open_graph("karate").data
        runs = [
            embeddings(data, run_seed(options.seed, run)) for run in self.scope.run_numbers(options)
        ]
        return [
            Outcome(
                (panel,),
                facts={
                    "explained": [rounded(100 * explained(run[panel], data.y)) for run in runs],
                    "points": [list(map(rounded, point)) for point in runs[0][panel].tolist()],
                },
            )
            for panel in PANELS
        ]

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per panel."""
        rows: list[list[Field]] = [
            [PANELS[outcome.key[0]], f"{mean_and_spread(outcome.facts['explained'])} %"]
            for outcome in outcomes
        ]
        runs = len(outcomes[0].facts["explained"])
        note = (
            "The karate club with 2 random features per node, after one layer of a GCN with random"
            " weights: the share of the variance that lies between the two factions, mean and"
            f" sample standard deviation over {runs} draw{'' if runs == 1 else 's'} of features and"
            f" weights. Modified: {ADD_FRACTION:.0%} of the edges added within and"
            f" {REMOVE_FRACTION:.0%} removed between factions. Ideal: all edges within, none"
            " between."
        )
        return Table(self.title, ["graph", "variance between factions"], rows, [note])

    def draw(self, outcomes: Sequence[Outcome], path: Path) -> None:
        """Write the picture: the points of the first draw, colored by faction."""
        labels = open_graph("karate").data.y.tolist()
        with picture(path, 1, len(outcomes), width=3.0, height=3.1) as (canvas, axes):
            for axis, outcome in zip(axes.flat, outcomes, strict=True):
                points = outcome.facts["points"]
                colors = [CLASS_COLORS[label] for label in labels] * (len(points) // len(labels))
                axis.scatter(
                    *zip(*points, strict=True),
                    s=28 if len(points) == len(labels) else 4,
                    c=colors,
                    alpha=0.9 if len(points) == len(labels) else 0.4,
                    edgecolors="none",
                )
                axis.set_title(PANELS[outcome.key[0]])
                axis.set_xlabel("first dimension")
            axes[0, 0].set_ylabel("second dimension")
            for faction, color in enumerate(CLASS_COLORS, start=1):
                axes[0, 0].scatter([], [], c=color, label=f"faction {faction}")
            canvas.legend(loc="outside lower center", ncols=2)


def embeddings(data: Data, seed: int) -> dict[str, Tensor]:
    """The points of each panel for one draw of features and weights.  [N, 2], [MANY N, 2]

    Args:
        data: A graph with two classes.
        seed: Seed of features, weights and modified graphs.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(int(data.num_nodes), 2, generator=generator)  # [N, 2]
    weight = torch.randn(2, 2, generator=generator)
    num_edges = data.num_edges // 2
    counts = math.floor(ADD_FRACTION * num_edges), math.floor(REMOVE_FRACTION * num_edges)

    def layer(graph: Data) -> Tensor:
        return Adjacency.of(graph).symmetric(x @ weight)

    modified = [layer(omniscient_change(data, *counts, generator).apply(data)) for _ in range(MANY)]
    return {
        "raw": x,
        "original": layer(data),
        "modified": modified[0],
        "many": torch.cat(modified),
        "ideal": layer(ideal_change(data).apply(data)),
    }


def ideal_change(data: Data) -> GraphChange:
    """What makes a graph ideal: all edges within a class are there, and none between classes."""
    num_nodes = int(data.num_nodes)
    edges = undirected_pairs(data.edge_index)
    pairs = torch.triu_indices(num_nodes, num_nodes, offset=1)
    is_edge = torch.isin(pair_keys(pairs, num_nodes), pair_keys(edges, num_nodes))
    within = data.y[pairs[0]] == data.y[pairs[1]]
    return GraphChange(pairs[:, within & ~is_edge], pairs[:, ~within & is_edge])


def explained(points: Tensor, labels: Tensor) -> float:
    """The share of the variance of points that lies between their classes.

    Args:
        points: The points of all nodes, possibly of several graphs in turn.  [k N, 2]
        labels: The class of each node.  [N]
    """
    of_point = labels.repeat(points.size(0) // labels.numel())
    total = (points - points.mean(dim=0)).square().sum()
    means = torch.stack(
        [points[of_point == label].mean(dim=0) for label in range(int(labels.max()) + 1)]
    )
    between = (means[of_point] - points.mean(dim=0)).square().sum()
    return float(between / total)
