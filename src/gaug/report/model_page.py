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
    title += f" for {cut(fitted.graph.name)}"
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
            _listed(
                caveats(
                    fitted,
                    None if judged is None else judged.calibration.error,
                    0 if judged is None else judged.never_predicted,
                )
            ),
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
    if fitted.classifier.summary.multilabel:
        return _nearest_to_a_half(fitted, probabilities)
    names, ids = fitted.classifier.class_names, fitted.graph.ids
    ordered = np.sort(probabilities, axis=1)
    margin = ordered[:, -1] - (ordered[:, -2] if ordered.shape[1] > 1 else 0)
    rows = []
    for node in _least(fitted, margin):
        best = np.argsort(-probabilities[node], kind="stable")[:2]
        row: list[object] = [cut(ids[node])]
        for place in best:
            row += [cut(names[place], 40), number(100 * probabilities[node, place], 1)]
        rows.append([*row, *[""] * (5 - len(row)), _truth(fitted, node)])
    header = ["node", "most likely", "probability, %", "then", "probability, %", "truth"]
    caption = (
        "Nodes that did not train, with the smallest distance between the two likeliest classes"
    )
    return html_table(caption, header, rows, numeric=(2, 4)) if rows else paragraphs("None.")


def _nearest_to_a_half(fitted: FittedModel, probabilities: np.ndarray) -> Html:
    """The least certain nodes where a node may have several classes."""
    names, ids, y = fitted.classifier.class_names, fitted.graph.ids, fitted.graph.data.y
    margin = np.abs(probabilities - 0.5)
    rows: list[list[object]] = []
    for node in _least(fitted, margin.min(axis=1)):
        place = int(margin[node].argmin())
        truth = "–" if y is None else "has it" if int(y[node, place]) else "does not"
        percent = number(100 * probabilities[node, place], 1)
        rows.append([cut(ids[node]), cut(names[place], 40), percent, truth])
    header = ["node", "class", "probability, %", "truth"]
    caption = "Nodes that did not train, with the class whose probability is nearest to one half"
    return html_table(caption, header, rows) if rows else paragraphs("None.")


def _least(fitted: FittedModel, margin: np.ndarray) -> list[int]:
    """The nodes with the smallest margins that did not train."""
    margin = margin.copy()
    margin[fitted.split.train.numpy()] = np.inf
    order = np.argsort(margin, kind="stable")[:_LEAST_CERTAIN]
    return [int(node) for node in order if np.isfinite(margin[node])]


def _truth(fitted: FittedModel, node: int) -> str:
    y, names = fitted.graph.data.y, fitted.classifier.class_names
    return "–" if y is None or int(y[node]) < 0 else cut(names[int(y[node])], 40)


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
        ("time to fit", f"{fitted.seconds:,.1f} s"),
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
