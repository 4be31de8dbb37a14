"""Learning curves of experiments, averaged over runs and thinned out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gaug.report.page.charts import xy
from gaug.report.store_page.experiments import Experiment

History = list[dict[str, float]]

#: Experiments whose curves are put into a page, and points of each curve.
MOST_CURVES, _POINTS = 200, 80

_SHOWN = (
    ("val_score", "validation micro-F1, %", "c2", "solid"),
    ("train_loss", "training loss", "c4", "dashed"),
    ("edge_loss", "edge loss", "c1", "dotted"),
)


def learning_curves(
    experiments: Sequence[Experiment], histories: Mapping[int, History]
) -> dict[str, list[dict[str, Any]]]:
    """Charts of the experiments that have histories, by the names of these."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in experiments:
        kept = [histories[record.id] for record in one.records if record.id in histories]
        charts = _charts([history for history in kept if history])
        if charts:
            found[one.name] = charts
        if len(found) == MOST_CURVES:
            break
    return found


def _charts(histories: Sequence[History]) -> list[dict[str, Any]]:
    if not histories:
        return []
    longest = max(map(len, histories))
    step = max(1, math.ceil(longest / _POINTS))
    epochs = list(range(0, longest, step))
    charts = []
    for key, words, color, dash in _SHOWN:
        means = [_mean(histories, epoch, key) for epoch in epochs]
        if any(mean is not None for mean in means):
            series: dict[str, Any] = {"kind": "line", "color": color, "dash": dash}
            series["name"] = words
            series |= {"x": [epoch + 1 for epoch in epochs], "y": means}
            charts.append(xy([series], {"title": "epoch", "whole": True}, {"title": words}))
    return charts


def _mean(histories: Sequence[History], epoch: int, key: str) -> float | None:
    """The mean over the runs that got so far; None if none has this value."""
    rows = [history[epoch] for history in histories if epoch < len(history)]
    values = [row[key] for row in rows if isinstance(row, dict) and row.get(key) is not None]
    values = [value for value in values if math.isfinite(value)]
    return float(f"{statistics.fmean(values):.4g}") if values else None
