"""The picture of figure 1: the graph and its changed variants side by side."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import networkx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gaug.data.folders import written_atomically
from gaug.graph.edges import undirected_pairs
from gaug.runs.plan import mean_and_spread
from gaug.studies.figure1 import Figure1, Variant

_CLASS_COLORS = ("#e69f00", "#009e73")  # told apart with any kind of color vision
_CHANGE = "#0060c0"


def draw_figure1(figure: Figure1, path: Path) -> None:
    """Write the picture; the format follows the ending of the path."""
    edges = undirected_pairs(figure.data.edge_index).t().tolist()
    graph: networkx.Graph[int] = networkx.Graph(edges)
    layout = networkx.kamada_kawai_layout(graph)
    count = len(figure.variants)
    canvas, axes = plt.subplots(1, count, figsize=(4.2 * count, 4.6), layout="constrained")
    for axis, variant in zip(np.atleast_1d(axes), figure.variants, strict=True):
        _draw_variant(axis, figure, variant, edges, layout)
    canvas.legend(
        handles=[
            Line2D([], [], color="#555555", label="edge"),
            Line2D([], [], color=_CHANGE, label="added"),
            Line2D([], [], color=_CHANGE, linestyle=(0, (3, 2)), label="removed"),
        ],
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    try:
        with written_atomically(path) as temporary:
            canvas.savefig(temporary, dpi=110)
    finally:
        plt.close(canvas)


def _draw_variant(
    axis: Axes,
    figure: Figure1,
    variant: Variant,
    edges: list[list[int]],
    layout: dict[int, np.ndarray],
) -> None:
    added = variant.change.added.t().tolist() if variant.change else []
    removed = variant.change.removed.t().tolist() if variant.change else []
    kept = [edge for edge in edges if edge not in removed]
    _draw_edges(axis, kept, layout, "#555555", "-", 0.8)
    _draw_edges(axis, added, layout, _CHANGE, "-", 1.6)
    _draw_edges(axis, removed, layout, _CHANGE, (0, (3, 2)), 1.6)
    places = np.array([layout[node] for node in range(int(figure.data.num_nodes))])
    colors = [_CLASS_COLORS[label] for label in figure.data.y.tolist()]
    axis.scatter(
        places[:, 0], places[:, 1], s=90, c=colors, edgecolors="white", linewidths=0.8, zorder=3
    )
    lines = [f"on the original graph: {mean_and_spread(variant.original)}"]
    if variant.change:
        lines.insert(0, f"on the modified graph: {mean_and_spread(variant.modified)}")
    axis.set_title(f"{variant.name}\n" + "\n".join(lines), fontsize=10)
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
