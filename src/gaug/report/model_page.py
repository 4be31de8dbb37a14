"""The page of a fitted classifier: a model card whose every sentence comes from facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from gaug.classifier.base import NodeClassifier
from gaug.data.loaded import LoadedGraph
from gaug.data.splits import Split
from gaug.inspection.held_out import Calibration, calibration, class_scores, confusion
from gaug.models.config import ModelConfig
from gaug.report.model_facts import caveats, intended_use
from gaug.report.page.charts import xy
from gaug.report.page.document import Page, Section, facts, figure, paragraphs, tiles
from gaug.report.page.html import Html, cut, escape, join, tag
from gaug.report.page.tables import html_table, number

# More classes do not fit into a matrix that one can read.
_MOST_CLASSES = 20
_LEAST_CERTAIN = 25
_SHADES = 6


@dataclass(frozen=True)
class FittedModel:
    """A classifier with what it was fitted to and what it predicts there.

    Attributes:
        classifier: The classifier.
        graph: Its graph.
        split: The training, validation and test nodes.
        probabilities: Its predictions on that graph.  [N, C]
        config: All settings, by group.
        seconds: How long the fit took.
        folder: Where it is saved.
    """

    classifier: NodeClassifier
    graph: LoadedGraph
    split: Split
    probabilities: Tensor
    config: Mapping[str, Any]
    seconds: float
    folder: str

    @property
    def held_out(self) -> tuple[str, np.ndarray]:
        """The nodes that judge it: test nodes, or else validation nodes."""
        part = "test" if self.split.test.numel() else "validation"
        nodes = self.split.test if part == "test" else self.split.val
        return part, nodes.numpy()


def model_page(fitted: FittedModel, command: str | None = None) -> Page:
    """The model card.

    Args:
        fitted: The classifier and its graph.
        command: The command that made it, if it was one.
    """
    summary, judged = fitted.classifier.summary, _judged(fitted)
    charts: dict[str, Any] = {}
    model, method = fitted.classifier.fitted.model, fitted.classifier.fitted.method
    title = model.config.title if isinstance(model.config, ModelConfig) else cut(model.name)
    if method.name != "none":
        title += f" with {method.title}"
    shown: list[tuple[object, str]] = [
        (f"{score:.1f}", f"{part} micro-F1, %")
        for part, score in (("test", summary.test_score), ("validation", summary.val_score))
        if score is not None
    ]
    shown += [
        (f"{summary.num_nodes:,}", "nodes"),
        (f"{summary.num_classes:,}", "classes"),
        (f"{fitted.split.train.numel():,}", "training nodes"),
    ]
    sections = [
        Section("overview", "At a glance", tiles(shown)),
        Section("use", "Intended use", _listed(intended_use(summary, fitted.folder))),
        Section(
            "caveats",
            "Caveats",
            _listed(caveats(fitted, None if judged is None else judged.calibration.error)),
        ),
    ]
    if judged is not None:
        title_of = f"Scores on {fitted.held_out[0]} nodes"
        sections.append(Section("scores", title_of, _scores(fitted, judged, charts)))
    sections += [
        Section("uncertain", "Least certain nodes", _uncertain(fitted)),
        Section("training", "What it was trained on", _training(fitted)),
    ]
    lead = f"A classifier of the nodes of {cut(fitted.graph.name)}, saved in {cut(fitted.folder)}."
    return Page(title, escape(lead), sections, {"charts": charts}, (), command)


def _listed(sentences: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", sentence) for sentence in sentences))


@dataclass(frozen=True)
class _Judged:
    """Predictions on held-out nodes beside the truth.

    Attributes:
        truth: Whether a node has a class.  [n, C]
        predicted: Whether it is predicted to.  [n, C]
        calibration: Confidence compared with accuracy.
    """

    truth: np.ndarray
    predicted: np.ndarray
    calibration: Calibration


def _judged(fitted: FittedModel) -> _Judged | None:
    _, nodes = fitted.held_out
    if not nodes.size:
        return None
    probabilities = fitted.probabilities.cpu().double().numpy()[nodes]
    labels = fitted.graph.data.y.numpy()[nodes]
    if fitted.classifier.summary.multilabel:
        truth, predicted = labels > 0, probabilities > 0.5
        confidence = np.maximum(probabilities, 1 - probabilities).ravel()
        return _Judged(truth, predicted, calibration(confidence, (truth == predicted).ravel()))
    chosen = probabilities.argmax(axis=1)
    truth, predicted = (np.eye(probabilities.shape[1], dtype=bool)[of] for of in (labels, chosen))
    return _Judged(truth, predicted, calibration(probabilities.max(axis=1), chosen == labels))


def _scores(fitted: FittedModel, judged: _Judged, charts: dict[str, Any]) -> Html:
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
            f" from that (expected calibration error) is {100 * found.error:.1f} points.",
            f"Accuracy by confidence; expected calibration error {100 * found.error:.1f} points.",
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
        tag("caption", "Confusion matrix: nodes by true class (rows) and predicted one (columns)"),
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


def _uncertain(fitted: FittedModel) -> Html:
    probabilities = fitted.probabilities.cpu().double().numpy()
    names, ids = fitted.classifier.class_names, fitted.graph.ids
    trained = np.zeros(len(probabilities), dtype=bool)
    trained[fitted.split.train.numpy()] = True
    if fitted.classifier.summary.multilabel:
        margin = np.abs(probabilities - 0.5).min(axis=1)
    else:
        ordered = np.sort(probabilities, axis=1)
        margin = ordered[:, -1] - (ordered[:, -2] if ordered.shape[1] > 1 else 0)
    order = [node for node in np.argsort(margin, kind="stable") if not trained[node]]
    rows = []
    for node in order[:_LEAST_CERTAIN]:
        best = np.argsort(-probabilities[node], kind="stable")[:2]
        row: list[object] = [cut(ids[int(node)])]
        for place in best:
            row += [cut(names[place], 40), number(100 * probabilities[node, place], 1)]
        rows.append([*row, *[""] * (5 - len(row)), _truth(fitted, int(node))])
    header = ["node", "most likely", "%", "then", "%", "truth"]
    caption = (
        "Nodes that did not train, with the smallest distance between the two likeliest classes"
    )
    return html_table(caption, header, rows, numeric=(2, 4)) if rows else paragraphs("None.")


def _truth(fitted: FittedModel, node: int) -> str:
    y, names = fitted.graph.data.y, fitted.classifier.class_names
    if y is None:
        return "–"
    if y.dim() == 2:
        return cut(", ".join(names[c] for c in y[node].nonzero().flatten().tolist())) or "–"
    return cut(names[int(y[node])], 40) if int(y[node]) >= 0 else "–"


def _training(fitted: FittedModel) -> Html:
    summary, split, data = fitted.classifier.summary, fitted.split, fitted.graph.data
    rows: list[tuple[str, object]] = [
        ("graph", f"{cut(fitted.graph.name)}, fingerprint {summary.graph_hash}"),
        ("nodes and edges", f"{summary.num_nodes:,} and {data.num_edges // 2:,}"),
        ("features", f"{summary.in_features:,}, scaling {summary.feature_scaling or 'as given'}"),
        (
            "split",
            f"{cut(split.name)}: {split.train.numel():,} nodes for training,"
            f" {split.val.numel():,} for validation, {split.test.numel():,} for testing",
        ),
        ("epochs", f"{summary.epochs:,}, of which epoch {summary.best_epoch:,} was chosen"),
        ("time", f"{fitted.seconds:,.1f} s"),
        ("seed", summary.seed),
    ]
    for group in ("model", "method", "training"):
        values = fitted.config.get(group) or {}
        text = " ".join(f"{name}={value}" for name, value in values.items())
        rows.append((f"settings of the {group}", tag("code", text) if text else "none"))
    for name, values in (fitted.config.get("predictors") or {}).items():
        text = " ".join(f"{key}={value}" for key, value in values.items())
        rows.append((f"predictor {name}", tag("code", text) if text else "no settings"))
    return facts(rows)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
