"""Tables of the most and the least certain changes of a graph, with their reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from torch import Tensor

from gaug.drawing.names import cut
from gaug.inspection.augmentation import Augmentation
from gaug.inspection.pair_reasons import PairReasons
from gaug.report.page.document import paragraphs
from gaug.report.page.html import Html, join, tag
from gaug.report.page.tables import Cell, html_table, number

#: Rows of each table.
_LISTED = 15


def listed_changes(done: Augmentation) -> dict[str, list[tuple[tuple[int, int], PairReasons]]]:
    """The changes to list, by the title of their table."""
    found = {}
    for kind, ranked in (("added", done.change.added), ("removed", done.change.removed)):
        count = len(ranked)
        first = list(range(min(_LISTED, count)))
        last = list(range(max(_LISTED, count - _LISTED), count))
        for words, places in ((f"Most certain: {kind}", first), (f"Least certain: {kind}", last)):
            found[words] = [_explained(done, ranked.pairs[:, place]) for place in places]
    return {title: rows for title, rows in found.items() if rows}


def _explained(done: Augmentation, pair: Tensor) -> tuple[tuple[int, int], PairReasons]:
    u, v = int(pair[0]), int(pair[1])
    return (u, v), done.explain(u, v)


def change_tables(
    done: Augmentation,
    listed: Mapping[str, Sequence[tuple[tuple[int, int], PairReasons]]],
    numbers: Mapping[int, int],
) -> Html:
    """A table for each kind of change.

    Args:
        done: The augmentation.
        listed: The changes to list, by the title of their table.
        numbers: The place of each node in the drawing, if it is there.
    """
    if not listed:
        return paragraphs("Nothing was changed.")
    parts = [
        paragraphs(
            "Each change with its score and rank, the number of neighbors that both nodes have in"
            " the original graph, and the features that contribute most to their cosine"
            " similarity, with the number of nodes that have them."
        )
    ]
    for title, rows in listed.items():
        header = ["node", "node", "score", "rank", "common neighbors", "similarity", "both have"]
        if done.graph.data.y is not None:
            header.append("classes")
        digits = _digits([reasons.score or 0.0 for _, reasons in rows])
        body = [_row(pair, reasons, numbers, len(header) == 8, digits) for pair, reasons in rows]
        parts.append(html_table(title, header, body, numeric=(2, 3, 4, 5)))
    return join(parts)


def _row(
    pair: tuple[int, int],
    reasons: PairReasons,
    numbers: Mapping[int, int],
    classes: bool,
    digits: int,
) -> list[object]:
    names = [reasons.source, reasons.target]
    row: list[object] = [
        Cell(_node(name, numbers.get(node)), cut(name))
        for node, name in zip(pair, names, strict=True)
    ]
    score = reasons.score or 0.0
    shared = ", ".join(f"{cut(one.name, 30)} ({one.nodes:,})" for one in reasons.shared)
    similarity = reasons.similarity
    row += [
        number(score, digits),
        Cell(Html(f"{reasons.rank:,}"), float(reasons.rank or 0)),
        Cell(Html(f"{reasons.num_common:,}"), float(reasons.num_common)),
        number(similarity, 2),
        shared or "–",
    ]
    if classes:
        first, second = (cut(name, 30) if name else "unknown" for name in reasons.classes)
        row.append(f"both {first}" if first == second else f"{first} and {second}")
    return row


def _digits(scores: Sequence[float]) -> int:
    """Decimals that leave the largest score four digits."""
    largest = max(map(abs, scores), default=0.0)
    return 3 if largest == 0.0 else min(8, max(0, 3 - math.floor(math.log10(largest))))


def _node(name: str, place: int | None) -> Html:
    if place is None:
        return tag("span", cut(name))
    return tag("button", cut(name), type="button", class_="link", data_node=place)
