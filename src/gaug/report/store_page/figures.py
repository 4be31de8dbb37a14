"""The charts of the paper's figures, from records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gaug.errors import TrainingError
from gaug.report.page.charts import rows, xy
from gaug.report.store_page.paper import PaperPart, records_of
from gaug.runs.summary import spread
from gaug.studies.figure5 import mean_curves
from gaug.studies.paper import FIGURE1
from gaug.studies.study import CellResult

History = list[dict[str, float]]

_PANELS = {
    ("add", "gae"): ("added, learned", "added", "solid"),
    ("add", "random"): ("added at random", "added", "dashed"),
    ("remove", "gae"): ("removed, learned", "removed", "solid"),
    ("remove", "random"): ("removed at random", "removed", "dashed"),
}


def figure_charts(part: PaperPart, histories: Mapping[int, History]) -> dict[str, dict[str, Any]]:
    """The charts of a figure by caption; empty for a table, or if there are no runs."""
    if part.name == "figure1" and part.filled:
        return {"Figure 1: a GCN on the karate club, run by run; diamonds: paper": _figure1(part)}
    if part.name == "figure2" and part.filled:
        return {
            "Figure 2: a GCN on Cora with edges added and removed, mean and spread": _figure2(part)
        }
    if part.name == "figure5":
        return _figure5(part, histories)
    return {}


def _figure1(part: PaperPart) -> dict[str, Any]:
    lines = []
    for variant, (modified, original) in FIGURE1.items():
        for where, paper in (("modified", modified), ("original", original)):
            if paper is None:
                continue
            scores = [
                score
                for result in part.results
                if result.cell.key[:2] == (variant, where)
                for score in result.scores
            ]
            if scores:
                name = variant if modified is None else f"{variant}, tested on {where}"
                lines.append({"name": name, "mark": paper, **_row(scores)})
    return rows(lines, {"title": "test micro-F1, %", "score": True}, markName="paper")


def _row(scores: Sequence[float]) -> dict[str, Any]:
    mean, deviation = statistics.fmean(scores), spread(scores)
    return {
        "points": [round(score, 2) for score in scores],
        "value": round(mean, 2),
        "spread": round(deviation, 2),
        "text": f"{mean:.1f}",
    }


def _figure2(part: PaperPart) -> dict[str, Any]:
    series = []
    for panel, (name, color, dash) in _PANELS.items():
        steps = [one for one in part.results if one.cell.key[:2] == panel and one.scores]
        if steps:
            series.append({"name": name, "color": color, "dash": dash, **_band(steps)})
    return xy(
        series,
        {"title": "share of the edges", "percent": True},
        {"title": "test micro-F1 of a GCN, %"},
    )


def _band(steps: Sequence[CellResult]) -> dict[str, Any]:
    means = [statistics.fmean(one.scores) for one in steps]
    spreads = [spread(one.scores) for one in steps]
    return {
        "kind": "line",
        "x": [one.cell.key[2] for one in steps],
        "y": [round(mean, 2) for mean in means],
        "low": [round(mean - by, 2) for mean, by in zip(means, spreads, strict=True)],
        "high": [round(mean + by, 2) for mean, by in zip(means, spreads, strict=True)],
    }


def _figure5(part: PaperPart, histories: Mapping[int, History]) -> dict[str, dict[str, Any]]:
    records = [record for record in records_of(part) if record.id in histories]
    for record in records:
        record.history = histories[record.id]
    epochs = part.results[0].cell.plan.training.epochs if part.results else 0
    try:
        curves = mean_curves(records, epochs)
    except (TrainingError, KeyError):
        return {}
    numbers = list(range(1, epochs + 1))
    share = {"name": "within a class", "kind": "line", "color": "c0", "x": numbers}
    losses = [
        {
            "name": words,
            "kind": "line",
            "color": color,
            "dash": dash,
            "x": numbers,
            "y": curves[key],
        }
        for words, key, color, dash in (
            ("classification loss", "train_loss", "c4", "solid"),
            ("edge loss", "edge_loss", "c1", "dashed"),
        )
    ]
    return {
        "Figure 5: edges within a class in the graphs that GAug-O samples on Cora": xy(
            [{**share, "y": curves["intra_share"]}],
            {"title": "epoch of joint training", "whole": True},
            {"title": "share of edges", "percent": True},
        ),
        "Figure 5: learning curves of GAug-O on Cora": xy(
            losses, {"title": "epoch of joint training", "whole": True}, {"title": "loss"}
        ),
    }
