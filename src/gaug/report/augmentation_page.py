"""The page of an augmentation: what was changed in a graph, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from gaug.drawing.names import cut
from gaug.inspection.augmentation import Augmentation
from gaug.report.change_tables import change_tables, listed_changes
from gaug.report.graph_data import graph_data
from gaug.report.page.charts import histogram, xy
from gaug.report.page.document import Page, Section, facts, figure, paragraphs, tiles
from gaug.report.page.html import Html, counted, join, noun, tag
from gaug.report.page.tables import html_table, number, signed

# Words, factor and digits of each number.
_NUMBERS = {
    "edges": ("edges", 1, 0),
    "components": ("connected components", 1, 0),
    "isolated_nodes": ("nodes without an edge", 1, 0),
    "mean_degree": ("mean degree", 1, 2),
    "largest_degree": ("largest degree", 1, 0),
    "edge_homophily": ("edges within a class, %", 100, 1),
}


def augmentation_page(
    done: Augmentation, summary: Mapping[str, Any], command: str | None = None
) -> Page:
    """The page of an augmentation.

    Args:
        done: The augmentation.
        summary: Numbers before and after, as `gaug.report.augmentation.summarize_change` has them.
        command: The command that made it, if it was one.
    """
    name = cut(done.graph.name)
    added, removed = len(done.change.added), len(done.change.removed)
    charts: dict[str, Any] = {"scores": _scores(done), "degrees": _degrees(done)}
    listed = listed_changes(done)
    drawn = graph_data(done, [pair for rows in listed.values() for pair, _ in rows])
    sections = [
        Section("overview", "Before and after", _overview(summary)),
        Section(
            "scores",
            "Scores",
            join(
                [
                    tag(
                        "p",
                        "The edge predictor gives every pair of nodes a score. The best pairs that"
                        " were no edges were added, the worst edges removed.",
                    ),
                    figure(
                        "scores",
                        "Pairs of nodes by score; the vertical axis is logarithmic. Random pairs"
                        " are a sample.",
                        f"Histogram of the scores of {added:,} added, {removed:,} removed and"
                        f" {int(done.kept.sum()):,} kept edges and of random pairs.",
                    ),
                ]
            ),
        ),
        Section("graph", "The graph around a node", _canvas()),
        Section(
            "changes", "Changes and their reasons", change_tables(done, listed, drawn["numbers"])
        ),
        Section(
            "degrees",
            "Degrees",
            figure(
                "degrees",
                "How many nodes have how many neighbors, before and after; both axes are"
                " logarithmic.",
                "Number of nodes by degree, before and after the change.",
            ),
        ),
        Section("made", "How it was made", _made(done.made_by)),
    ]
    lead = join(
        [
            f"GAug-M added {counted(added, 'edge')} to a graph with"
            f" {counted(int(done.graph.data.num_nodes), 'node')}, and removed {removed:,} of its"
            f" {counted(done.edges.size(1), 'edge')}. ",
            "Labels were not used; where there are some, they show how well the change fits them.",
        ]
    )
    return Page(
        f"What was changed in {name}",
        lead,
        sections,
        {"charts": charts, "graph": drawn["data"]},
        ("layout", "graph", "drawing", "neighborhood"),
        command,
    )


def _overview(summary: Mapping[str, Any]) -> Html:
    rows = []
    for key, (words, factor, digits) in _NUMBERS.items():
        values = [summary[when].get(key) for when in ("before", "after")]
        before, after = (None if value is None else factor * value for value in values)
        if before is None and after is None:
            continue
        change = None if before is None or after is None else after - before
        rows.append([words, number(before, digits), number(after, digits), signed(change, digits)])
    shown: list[tuple[object, str]] = [
        (f"{summary[kind]['edges']:,}", f"{noun(summary[kind]['edges'], 'edge')} {kind}")
        for kind in ("added", "removed")
    ]
    for kind in ("added", "removed"):
        share = summary[kind]["intra_class_share"]
        if share is not None:
            shown.append((f"{share:.0%}", f"of the {kind} edges are within a class"))
    table = html_table(
        "The graph before and after", ["", "before", "after", "change"], rows, sortable=False
    )
    return join([tiles(shown), table])


def _scores(done: Augmentation) -> dict[str, Any]:
    kept = done.kept
    return histogram(
        [
            ("random pairs", done.random_scores, "c1", {"dash": "dotted"}),
            ("kept", done.edge_scores[kept], "kept", {"area": True}),
            ("added", done.change.added.logits, "added", {}),
            ("removed", done.change.removed.logits, "removed", {"dash": "dashed"}),
        ],
        "score",
        "pairs of nodes",
    )


def _degrees(done: Augmentation) -> dict[str, Any]:
    series = []
    for words, data, color, shape in (
        ("before", done.graph.data, "kept", "square"),
        ("after", done.better, "added", "circle"),
    ):
        degree = torch.bincount(data.edge_index[0], minlength=int(data.num_nodes))
        counts = torch.bincount(degree).numpy()
        places = np.flatnonzero(counts)
        series.append(
            {
                "name": words,
                "kind": "points",
                "color": color,
                "shape": shape,
                "x": places.tolist(),
                "y": counts[places].tolist(),
            }
        )
    return xy(
        series,
        {"title": "number of neighbors", "log": "with-zero"},
        {"title": "nodes", "log": True, "low": 0.8},
    )


def _canvas() -> Html:
    return join(
        [
            paragraphs(
                "Type a node's id, or click a node, to see what surrounds it. Drag to move, use"
                " + and − to zoom. Once you have clicked or tapped the drawing, the arrow keys, the"
                " wheel and two fingers work, too."
            ),
            tag("div", id="neighborhood"),
        ]
    )


def _made(made_by: Mapping[str, Any]) -> Html:
    rows: list[tuple[str, object]] = []
    if "graph" in made_by:
        rows.append(("graph", cut(str(made_by["graph"]))))
    settings = made_by.get("settings") or {}
    rows += [(name, str(value)) for name, value in settings.items() if value is not None]
    for predictor, values in (made_by.get("predictors") or {}).items():
        text = ", ".join(f"{name}={value}" for name, value in values.items())
        rows.append((f"predictor {predictor}", text or "no settings"))
    if "seed" in made_by:
        rows.append(("seed", made_by["seed"]))
    versions = made_by.get("versions") or {}
    rows.append(("software", ", ".join(f"{name} {text}" for name, text in versions.items())))
    rows += [("note", note) for note in made_by.get("notes") or ()]
    return facts([row for row in rows if row[1] != ""])
