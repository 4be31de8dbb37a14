"""The page of a fitted classifier: a model card whose every sentence comes from facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaug.drawing.names import cut
from gaug.models.config import ModelConfig
from gaug.report.model_facts import FittedModel, caveats, intended_use
from gaug.report.model_scores import judge, score_section
from gaug.report.page.document import Page, Section, facts, paragraphs, tiles
from gaug.report.page.html import Html, escape, tag
from gaug.report.page.tables import html_table, number

_LEAST_CERTAIN = 25


def model_page(fitted: FittedModel, command: str | None = None) -> Page:
    """The model card.

    Args:
        fitted: The classifier and its graph.
        command: The command that made it, if it was one.
    """
    summary, judged = fitted.classifier.summary, judge(fitted)
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
        sections.append(Section("scores", title_of, score_section(fitted, judged, charts)))
    sections += [
        Section("uncertain", "Least certain nodes", _uncertain(fitted)),
        Section("training", "What it was trained on", _training(fitted)),
    ]
    lead = f"A classifier of the nodes of {cut(fitted.graph.name)}, saved in {cut(fitted.folder)}."
    return Page(title, escape(lead), sections, {"charts": charts}, (), command)


def _listed(sentences: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", sentence) for sentence in sentences))


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
