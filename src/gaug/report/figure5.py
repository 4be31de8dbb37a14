"""Figure 5 as a picture and as a table."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from gaug.data.folders import written_atomically
from gaug.studies.figure5 import Curves

_INTRA, _EDGES, _CLASSES, _PREDICTOR, _SCORE = (
    "#0060c0",
    "#7f7f7f",
    "#c04000",
    "#e69f00",
    "#007a50",
)
# Epochs that the table has: the first ones, where most happens, and then fewer.
_ROWS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200)


def draw_figure5(curves: Curves, path: Path) -> None:
    """Write the picture: the make-up of the sampled graphs, and losses with the score."""
    canvas, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    _draw_edges(left, curves)
    _draw_learning(right, curves)
    try:
        with written_atomically(path) as temporary:
            canvas.savefig(temporary, dpi=110)
    finally:
        plt.close(canvas)


def figure5_markdown(curves: Curves, command: str) -> str:
    """The figure's numbers."""
    values = curves.values
    lines = [
        "# Figure 5",
        "",
        "| epoch | edges | within a class | classification loss | edge loss | validation |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| original graph | {curves.original_edges:,} | {curves.original_share:.1%} | | | |",
    ]
    for epoch in (row for row in _ROWS if row <= len(values["edges"])):
        edges, share, loss, edge_loss, score = (
            values[name][epoch - 1]
            for name in ("edges", "intra_share", "train_loss", "edge_loss", "val_score")
        )
        lines.append(
            f"| {epoch} | {edges:,.0f} | {share:.1%} | {loss:.3f} | {edge_loss:.3f} | {score:.1f} |"
        )
    return "\n".join(
        [
            *lines,
            "",
            "Cora, GCN, GAug-O with the settings that the paper's authors published: the graphs"
            f" sampled in joint training. Means over {curves.runs}"
            f" run{'' if curves.runs == 1 else 's'}; validation: micro-F1 in percent on the"
            " original graph.",
            f"Made by `{command}`.",
            "",
        ]
    )


def _draw_edges(axis: Axes, curves: Curves) -> None:
    epochs = range(1, len(curves.values["edges"]) + 1)
    share = [100 * value for value in curves.values["intra_share"]]
    axis.plot(epochs, share, color=_INTRA, label="within a class, %")
    axis.axhline(
        100 * curves.original_share, color=_INTRA, linestyle=":", label="of the original graph"
    )
    axis.set_ylabel("edges within a class, %", color=_INTRA)
    axis.set_xlabel("epoch of joint training")
    axis.set_title("Edges of the sampled graphs")
    axis.legend(frameon=False, loc="lower right")
    other = axis.twinx()
    other.plot(epochs, curves.values["edges"], color=_EDGES, alpha=0.8)
    other.set_ylabel("edges", color=_EDGES)
    other.yaxis.set_major_formatter("{x:,.0f}")
    other.set_ylim(bottom=0)


def _draw_learning(axis: Axes, curves: Curves) -> None:
    epochs = range(1, len(curves.values["edges"]) + 1)
    axis.plot(epochs, curves.values["train_loss"], color=_CLASSES, label="classification loss")
    axis.plot(epochs, curves.values["edge_loss"], color=_PREDICTOR, label="edge loss")
    axis.set_ylim(bottom=0)
    axis.set_ylabel("loss")
    axis.set_xlabel("epoch of joint training")
    axis.set_title("Learning curve")
    axis.legend(frameon=False, loc="upper right")
    other = axis.twinx()
    other.plot(epochs, curves.values["val_score"], color=_SCORE)
    other.set_ylabel("validation micro-F1, %", color=_SCORE)
