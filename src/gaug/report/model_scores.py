"""How good a classifier is on nodes that did not train it, for its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaug.drawing.names import cut
from gaug.inspection.held_out import Calibration, calibration, class_scores, confusion
from gaug.report.model_facts import FittedModel
from gaug.report.page.charts import xy
from gaug.report.page.document import figure
from gaug.report.page.html import Html, join, tag
from gaug.report.page.tables import html_table, number

# More classes do not fit into a matrix that one can read.
_MOST_CLASSES = 20
_SHADES = 6


@dataclass(frozen=True)
class Judged:
    """Predictions on held-out nodes beside the truth.

    Attributes:
        truth: Whether a node has a class.  [n, C]
        predicted: Whether it is predicted to.  [n, C]
        calibration: Confidence compared with accuracy.
    """

    truth: np.ndarray
    predicted: np.ndarray
    calibration: Calibration

    @property
    def never_predicted(self) -> int:
        """Number of classes that some of these nodes have and none is predicted to have."""
        return int((self.truth.any(axis=0) & ~self.predicted.any(axis=0)).sum())


def judge(fitted: FittedModel) -> Judged | None:
    """Compare predictions with the truth; None without held-out nodes."""
    _, nodes = fitted.held_out
    if not nodes.size:
        return None
    probabilities = fitted.probabilities.cpu().double().numpy()[nodes]
    labels = fitted.graph.data.y.numpy()[nodes]
    if fitted.classifier.summary.multilabel:
        truth, predicted = labels > 0, probabilities > 0.5
        confidence = np.maximum(probabilities, 1 - probabilities).ravel()
        return Judged(truth, predicted, calibration(confidence, (truth == predicted).ravel()))
    chosen = probabilities.argmax(axis=1)
    truth, predicted = (np.eye(probabilities.shape[1], dtype=bool)[of] for of in (labels, chosen))
    return Judged(truth, predicted, calibration(probabilities.max(axis=1), chosen == labels))


def score_section(fitted: FittedModel, judged: Judged, charts: dict[str, Any]) -> Html:
    """Scores of each class, the confusion matrix, and the calibration.

    Args:
        fitted: The classifier and its graph.
        judged: Its predictions on held-out nodes.
        charts: Where its charts are put.
    """
    part, nodes = fitted.held_out
    names = [cut(name, 40) for name in fitted.classifier.class_names]
    truth, predicted, found = judged.truth, judged.predicted, judged.calibration
    rows = [
        [
            name,
            score.nodes,
            score.predicted,
            number(_percent(score.precision), 1),
            number(_percent(score.recall), 1),
        ]
        for name, score in zip(names, class_scores(truth, predicted), strict=True)
    ]
    parts = [
        html_table(
            f"Each class on {nodes.size:,} {part} nodes",
            ["class", "nodes", "predicted", "precision, %", "recall, %"],
            rows,
        )
    ]
    if not fitted.classifier.summary.multilabel:
        counts = confusion(truth.argmax(axis=1), predicted.argmax(axis=1), len(names))
        parts.append(_matrix(counts, names))
    charts["calibration"] = xy(
        [
            {
                "name": "perfect",
                "kind": "line",
                "color": "other",
                "dash": "dotted",
                "x": [0, 1],
                "y": [0, 1],
            },
            {
                "name": "this model",
                "kind": "line",
                "color": "c0",
                "dots": found.count,
                "x": [round(value, 4) for value in found.confidence],
                "y": [round(value, 4) for value in found.accuracy],
                "labels": [
                    f"{c:.0%} sure, {a:.0%} right ({n:,} predictions)"
                    for c, a, n in zip(found.confidence, found.accuracy, found.count, strict=True)
                ],
            },
        ],
        {"title": "confidence", "percent": True, "low": 0, "high": 1},
        {"title": "share that is right", "percent": True, "low": 0, "high": 1},
    )
    parts.append(tag("h3", "Calibration"))
    parts.append(
        figure(
            "calibration",
            f"Of the predictions with confidence p, the share p should be right; the mean distance"
            f" from that (expected calibration error) is {100 * found.error:.1f} points. The larger"
            " a point, the more predictions.",
            f"Accuracy by confidence; expected calibration error {100 * found.error:.1f} points.",
            square=True,
        )
    )
    return join(parts)


def _matrix(counts: np.ndarray, names: Sequence[str]) -> Html:
    if len(names) > _MOST_CLASSES:
        return _confused(counts, names)
    most = max(int(counts.max()), 1)
    head = [tag("td"), *(tag("th", name, scope="col") for name in names)]
    body = []
    for place, name in enumerate(names):
        row = counts[place]
        shades = [min(_SHADES - 1, int(_SHADES * count / most)) for count in row]
        cells = [
            tag(
                "td",
                tag("strong", f"{count:,}") if column == place else f"{count:,}",
                class_=f"h{shade}",
            )
            for column, (count, shade) in enumerate(zip(row, shades, strict=True))
        ]
        body.append(tag("tr", tag("th", name, scope="row"), *cells))
    table = tag(
        "table",
        tag("caption", "Confusion matrix: true classes in rows, predicted ones in columns"),
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_="matrix",
    )
    return tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Table")


def _confused(counts: np.ndarray, names: Sequence[str]) -> Html:
    """With many classes, those that are confused most often."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CLASSES]
    pairs = [divmod(int(place), len(names)) for place in order]
    rows = [[names[a], names[b], int(wrong[a, b])] for a, b in pairs if wrong[a, b]]
    return html_table("Classes confused most often", ["true class", "predicted", "nodes"], rows)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
