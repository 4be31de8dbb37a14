"""Pictures in one style, with colors that are distinguishable with any kind of color vision."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gaug.data.folders import written_atomically

BLUE, ORANGE, GREEN, RED, GRAY = "#0060c0", "#e69f00", "#007a50", "#c04000", "#7f7f7f"
#: Colors of two classes of nodes.
CLASS_COLORS = ("#e69f00", "#009e73")

_STYLE: Any = {
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.hashsalt": "gaug",  # the same picture is the same file
}


@contextlib.contextmanager
def picture(
    path: Path, rows: int, columns: int, *, width: float, height: float, **options: Any
) -> Iterator[tuple[Figure, np.ndarray]]:
    """A picture of equal panels to draw, and its axes in rows and columns.

    It is written atomically when the block ends well.

    Args:
        path: Output file; the extension determines the format.
        rows: Number of rows.
        columns: Number of columns.
        width: Width of a panel in inches.
        height: Its height.
        options: Other options of `matplotlib.pyplot.subplots`.
    """
    with plt.rc_context(_STYLE):
        canvas, axes = plt.subplots(
            rows,
            columns,
            figsize=(width * columns, height * rows),
            layout="constrained",
            squeeze=False,
            **options,
        )
        try:
            yield canvas, axes
            write_picture(canvas, path)
        finally:
            plt.close(canvas)


def draw_band(
    axis: Axes,
    places: Sequence[float],
    scores: Sequence[Sequence[float]],
    color: str,
    label: str,
    style: str = "-",
) -> None:
    """Draw means as a line, with one sample standard deviation as a band around it.

    Args:
        axis: Where to draw.
        places: Horizontal positions.
        scores: For each of them the scores of all runs; those without any are left out.
        color: Color of line and band.
        label: Text of the legend.
        style: Style of the line.
    """
    there = [(place, values) for place, values in zip(places, scores, strict=True) if values]
    x = [place for place, _ in there]
    mean = np.array([statistics.fmean(values) for _, values in there])
    spread = np.array([statistics.stdev(values) if len(values) > 1 else 0.0 for _, values in there])
    axis.plot(x, mean, style, color=color, marker="o", markersize=3.5, label=label)
    axis.fill_between(x, mean - spread, mean + spread, color=color, alpha=0.18, linewidth=0)


def write_picture(canvas: Figure, path: Path) -> None:
    """Write a picture atomically; the extension of the path determines the format."""
    # Without the date, the same picture is the same file.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
    try:
        with written_atomically(path) as temporary:
            canvas.savefig(temporary, dpi=110, metadata=metadata)
    finally:
        plt.close(canvas)
