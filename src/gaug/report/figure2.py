"""Figure 2 as a picture and as a table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from gaug.data.folders import written_atomically
from gaug.runs.plan import mean_and_spread, spread
from gaug.studies.figure2 import Series

_INTRA, _INTER, _SCORE = "#0060c0", "#e69f00", "#007a50"
_TITLES = {
    ("gae", "add"): "Added, learned",
    ("random", "add"): "Added at random",
    ("gae", "remove"): "Removed, learned",
    ("random", "remove"): "Removed at random",
}


def draw_figure2(series: Sequence[Series], path: Path) -> None:
    """Write the picture: edges by kind as areas, the GCN's score as a line with its spread."""
    canvas, axes = plt.subplots(
        1, len(series), figsize=(3.8 * len(series), 3.8), sharey=True, layout="constrained"
    )
    score_axes = [axis.twinx() for axis in np.atleast_1d(axes)]
    for right in score_axes[1:]:
        right.sharey(score_axes[0])
    for axis, right, part in zip(np.atleast_1d(axes), score_axes, series, strict=True):
        _draw_series(axis, right, part)
    canvas.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, frameon=False
    )
    canvas.legend(
        *score_axes[0].get_legend_handles_labels(), loc="outside lower right", frameon=False
    )
    axes[0].set_ylabel("edges")
    score_axes[-1].set_ylabel("test micro-F1 of a GCN, %", color=_SCORE)
    for right in score_axes[:-1]:
        right.tick_params(labelright=False)
    try:
        with written_atomically(path) as temporary:
            canvas.savefig(temporary, dpi=110)
    finally:
        plt.close(canvas)


def figure2_markdown(series: Sequence[Series], command: str) -> str:
    """The figure's numbers."""
    lines = [
        "# Figure 2",
        "",
        "| change | share of the edges | within a class | between classes | GCN |",
        "| --- | --- | --- | --- | --- |",
    ]
    for part in series:
        for step in part.steps:
            lines.append(
                f"| {_TITLES[part.predictor, part.action]} | {step.fraction:.0%}"
                f" | {step.intra:,} | {step.inter:,} | {mean_and_spread(step.scores)} |"
            )
    runs = len(series[0].steps[0].records)
    return "\n".join(
        [
            *lines,
            "",
            "Cora; edges are added and removed in the order of a GAE's scores, or at random. GCN:"
            f" test micro-F1 in percent, mean and sample standard deviation over {runs} runs,"
            " trained and tested on the changed graph.",
            f"Made by `{command}`.",
            "",
        ]
    )


def _draw_series(axis: Axes, right: Axes, part: Series) -> None:
    percent = [100 * step.fraction for step in part.steps]
    intra = np.array([step.intra for step in part.steps])
    inter = np.array([step.inter for step in part.steps])
    axis.stackplot(
        percent,
        intra,
        inter,
        labels=["edges within a class", "edges between classes"],
        colors=[_INTRA, _INTER],
        alpha=0.55,
    )
    means = [statistics.fmean(step.scores) for step in part.steps]
    right.errorbar(
        percent,
        means,
        yerr=[spread(step.scores) for step in part.steps],
        color=_SCORE,
        marker="o",
        markersize=4,
        label="test micro-F1 of a GCN",
    )
    axis.set_title(_TITLES[part.predictor, part.action])
    axis.set_xlabel(f"{'added' if part.action == 'add' else 'removed'}, % of the edges")
    axis.spines["top"].set_visible(False)
    right.spines["top"].set_visible(False)
