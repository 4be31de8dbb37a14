"""The inspection of a graph as text and as a picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter, StrMethodFormatter

from gaug.drawing.names import cut, literal
from gaug.drawing.picture import write_picture
from gaug.inspection.inspect import SOURCES, Inspection

_DEGREES, _CLASSES, _SCORES = "#0060c0", "#e69f00", "#007a50"
_UNKNOWN = "#aaaaaa"
# More classes do not fit in a line or a picture.
_MOST_CLASSES = 12
# Longer names take too much space in the picture.
_LONGEST_NAME = 24


def inspection_lines(found: Inspection) -> list[str]:
    """The findings, one per line."""
    shape = found.shape
    share = shape.largest_component / shape.nodes
    weights = "with weights" if shape.weighted else "without weights"
    rows = [
        ("nodes", f"{shape.nodes:,}, of them {shape.isolated_nodes:,} isolated"),
        ("edges", f"{shape.edges:,}, {weights}"),
        (
            "degrees",
            f"mean {shape.mean_degree:.1f}, median {shape.median_degree:g},"
            f" largest {shape.largest_degree:,}",
        ),
        (
            "components",
            f"{shape.components:,}, the largest with {shape.largest_component:,} nodes"
            f" ({share:.0%})",
        ),
        ("features", f"{shape.features:,}, {shape.feature_density:.1%} of the entries not zero"),
    ]
    if found.labels is not None:
        known = f"{found.labels.labeled:,} of {shape.nodes:,} nodes have one"
        rows.append(("labels", known))
        classes = _largest(found.labels.counts)
        rows.append(
            (
                "classes",
                ", ".join(f"{cut(name, _LONGEST_NAME)}: {count:,}" for name, count in classes),
            )
        )
    if found.homophily is not None:
        homophily = found.homophily
        among = "training and validation" if found.split is not None else "labeled"
        rows.append(
            (
                "homophily",
                f"{homophily.share:.2f} of the {homophily.num_edges:,} edges between {among} nodes"
                f" are within a class, {homophily.by_chance:.2f} by chance",
            )
        )
    lines = [found.graph, *(f"  {name:<10}  {text}" for name, text in rows)]
    if found.evidence is not None:
        nodes = found.evidence.guess.num_nodes
        runs = len(found.evidence.edges.values)
        lines.append(
            f"validation micro-F1, {nodes:,} nodes of split {found.split},"
            f" {runs} run{'s' if runs > 1 else ''}"
        )
        width = max(map(len, SOURCES.values()))
        for name, words in SOURCES.items():
            lines.append(f"  {words:<{width}}  {getattr(found.evidence, name)}")
    if found.advice is not None:
        lines.append(found.advice.reason)
    if found.remark is not None:
        lines.append(found.remark)
    return lines


def draw_inspection(found: Inspection, path: Path) -> None:
    """Write the picture: degrees, and classes and scores if they are known."""
    panels = [_draw_degrees]
    if found.labels is not None:
        panels.append(_draw_classes)
    if found.evidence is not None:
        panels.append(_draw_scores)
    canvas, axes = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 3.8), layout="constrained"
    )
    for axis, draw in zip(np.atleast_1d(axes), panels, strict=True):
        draw(axis, found)
        axis.spines[["top", "right"]].set_visible(False)
    shape = found.shape
    canvas.suptitle(
        f"{literal(cut(found.graph, _LONGEST_NAME))}: {shape.nodes:,} nodes, {shape.edges:,} edges"
    )
    write_picture(canvas, path)


def _draw_degrees(axis: Axes, found: Inspection) -> None:
    counts = np.array(found.degrees)
    degrees = np.flatnonzero(counts)
    axis.scatter(degrees, counts[degrees], s=14, color=_DEGREES)
    axis.set_xscale("symlog", linthresh=1)  # shows degree 0, too
    axis.set_yscale("log")
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        side.set_minor_formatter(NullFormatter())
    axis.set_xlim(left=-0.2)
    axis.set_xlabel("degree")
    axis.set_ylabel("nodes")
    axis.set_title("Degrees")


def _draw_classes(axis: Axes, found: Inspection) -> None:
    assert found.labels is not None
    bars = [(name, count, _CLASSES) for name, count in _largest(found.labels.counts)]
    if found.labels.unlabeled:
        bars.append(("no label", found.labels.unlabeled, _UNKNOWN))
    places = range(len(bars))
    axis.barh(places, [count for _, count, _ in bars], color=[color for *_, color in bars])
    axis.set_yticks(places, [literal(cut(name, _LONGEST_NAME)) for name, *_ in bars])
    axis.invert_yaxis()
    axis.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axis.set_xlabel("nodes")
    axis.set_title("Classes")


def _draw_scores(axis: Axes, found: Inspection) -> None:
    scores = [getattr(found.evidence, name) for name in SOURCES]
    places = range(len(scores))
    axis.barh(
        places,
        [score.mean for score in scores],
        xerr=[score.spread for score in scores],
        color=[_SCORES] * (len(scores) - 1) + [_UNKNOWN],
        ecolor="#222222",
        capsize=3,
    )
    axis.set_yticks(places, [words.replace(" (", "\n(") for words in SOURCES.values()])
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("validation micro-F1, %")
    axis.set_title("What predicts the classes")


def _largest(counts: dict[str, int]) -> list[tuple[str, int]]:
    """The largest classes, and all others together."""
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    if len(ordered) <= _MOST_CLASSES:
        return ordered
    kept, others = ordered[: _MOST_CLASSES - 1], ordered[_MOST_CLASSES - 1 :]
    return [*kept, (f"{len(others):,} others", sum(count for _, count in others))]
