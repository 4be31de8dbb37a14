"""The page of an inspection: what a graph looks like, and what may help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaug.drawing.names import cut
from gaug.inspection.inspect import SOURCES, Inspection
from gaug.report.page.charts import rows, xy
from gaug.report.page.document import Page, Section, facts, figure, paragraphs, tiles
from gaug.report.page.html import Html, counted, join, tag

# More classes do not fit into a chart.
_MOST_CLASSES = 20


def inspection_page(
    found: Inspection, to_try: Sequence[str] = (), command: str | None = None
) -> Page:
    """The page of an inspection.

    Args:
        found: The inspection.
        to_try: Commands that follow the advice.
        command: The command that made it, if it was one.
    """
    shape, charts = found.shape, {"degrees": _degrees(found)}
    sections = [
        Section("shape", "Shape", _shape(found)),
        Section(
            "degrees",
            "Degrees",
            figure(
                "degrees",
                "How many nodes have how many neighbors; both axes are logarithmic.",
                f"Nodes by degree, from 0 to {shape.largest_degree:,}.",
            ),
        ),
    ]
    if found.labels is not None:
        charts["classes"] = _classes(found)
        sections.append(Section("classes", "Classes", _labels(found)))
    if found.evidence is not None:
        charts["evidence"] = _evidence(found)
        sections.append(
            Section(
                "evidence",
                "What predicts the classes",
                figure(
                    "evidence",
                    f"Validation micro-F1 on split {cut(str(found.split))}: runs as points, mean"
                    " and spread as a line.",
                    _evidence_words(found),
                ),
            )
        )
    sections.append(Section("advice", "What may help", _advice(found, to_try)))
    lead = f"{shape.nodes:,} nodes, {shape.edges:,} edges, {shape.features:,} features."
    return Page(
        f"The graph {cut(found.graph)}", Html(lead), sections, {"charts": charts}, (), command
    )


def _shape(found: Inspection) -> Html:
    shape = found.shape
    shown: list[tuple[object, str]] = [
        (f"{shape.nodes:,}", "nodes"),
        (f"{shape.edges:,}", "edges"),
        (f"{shape.mean_degree:.1f}", "neighbors of a node on average"),
        (f"{shape.components:,}", "connected components"),
    ]
    share = shape.largest_component / shape.nodes
    pairs: list[tuple[str, object]] = [
        ("edges", "with weights" if shape.weighted else "without weights"),
        ("degrees", f"median {shape.median_degree:g}, largest {shape.largest_degree:,}"),
        ("nodes without an edge", f"{shape.isolated_nodes:,}"),
        ("largest component", f"{shape.largest_component:,} nodes ({share:.0%})"),
        ("features", f"{shape.features:,}, {shape.feature_density:.1%} of the entries not zero"),
    ]
    return join([tiles(shown), facts(pairs)])


def _degrees(found: Inspection) -> dict[str, Any]:
    counts = np.array(found.degrees)
    places = np.flatnonzero(counts)
    series = {"name": "nodes", "kind": "points", "color": "c0"}
    return xy(
        [{**series, "x": places.tolist(), "y": counts[places].tolist()}],
        {"title": "number of neighbors", "log": "with-zero"},
        {"title": "nodes", "log": True, "low": 0.8},
    )


def _classes(found: Inspection) -> dict[str, Any]:
    assert found.labels is not None
    ordered = sorted(found.labels.counts.items(), key=lambda item: -item[1])
    bars = [_bar(cut(name, 34), count, "c1") for name, count in ordered[:_MOST_CLASSES]]
    if found.labels.unlabeled:
        bars.append(_bar("no label", found.labels.unlabeled, "other"))
    return rows(bars, {"title": "nodes", "low": 0})


def _bar(name: str, count: int, color: str) -> dict[str, Any]:
    return {"name": name, "value": count, "text": f"{count:,}", "color": color}


def _labels(found: Inspection) -> Html:
    assert found.labels is not None
    labels, homophily = found.labels, found.homophily
    words = [
        f"{labels.labeled:,} of {counted(found.shape.nodes, 'node')} have a label, of"
        f" {counted(len(labels.counts), 'class')}."
    ]
    if homophily is not None:
        among = "training and validation" if found.split is not None else "labeled"
        words.append(
            f"{homophily.share:.0%} of the {homophily.num_edges:,} edges between {among} nodes are"
            f" within a class; {homophily.by_chance:.0%} would be by chance."
        )
    caption = "Nodes of each class"
    if len(labels.counts) > _MOST_CLASSES:
        caption = f"Nodes of the {_MOST_CLASSES} largest of {len(labels.counts):,} classes"
    chart = figure("classes", caption, f"Bar chart: {caption.lower()}.")
    return join([paragraphs(*words), chart])


def _evidence(found: Inspection) -> dict[str, Any]:
    lines = []
    for name, words in SOURCES.items():
        scores = getattr(found.evidence, name)
        lines.append(
            {
                "name": words,
                "points": [round(value, 2) for value in scores.values],
                "value": round(scores.mean, 2),
                "spread": round(scores.spread, 2),
                "text": f"{scores.mean:.1f}",
                "color": "other" if name == "guess" else "c2",
            }
        )
    return rows(lines, {"title": "validation micro-F1, %", "score": True})


def _evidence_words(found: Inspection) -> str:
    parts = [f"{words} {getattr(found.evidence, name)}" for name, words in SOURCES.items()]
    return f"Validation scores: {', '.join(parts)}."


def _advice(found: Inspection, to_try: Sequence[str]) -> Html:
    parts: list[object] = []
    if found.advice is not None:
        parts.append(paragraphs(found.advice.reason))
    if to_try:
        parts.append(tag("ul", *(tag("li", tag("code", line)) for line in to_try)))
    if found.remark is not None:
        parts.append(paragraphs(found.remark))
    return join(parts)
