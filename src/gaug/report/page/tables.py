"""Tables in plain HTML that a small script sorts."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gaug.drawing.table import Code, Field, Scores, Table
from gaug.report.page.html import Html, escape, join, tag

# A table with more rows scrolls by itself.
_LONG = 30
# A table with no more columns is not stretched over the whole width.
_FEW_COLUMNS = 4
# A cell with more characters gets more room.
_WIDE = 45
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Cell:
    """A cell that is shown in one way and sorted in another.

    Attributes:
        shown: What it shows.
        value: What it is sorted by.
    """

    shown: Html
    value: float | str | None = None


def number(value: float | None, digits: int = 2) -> Cell:
    """A number with a fixed number of digits; a dash for none."""
    if value is None or not math.isfinite(value):
        return Cell(Html("–"))
    return Cell(Html(f"{value:,.{digits}f}"), float(value))


def signed(change: float | None, digits: int = 2) -> Cell:
    """A change with its sign; a dash for none.

    >>> signed(-0.5, 1).shown, signed(-0.01, 1).shown
    ('−0.5', '0.0')
    """
    if change is None or not math.isfinite(change):
        return Cell(Html("–"))
    rounded = round(change, digits)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return Cell(Html(f"{sign}{abs(rounded):,.{digits}f}"), float(change))


def html_table(
    caption: object,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    name: str | None = None,
    numeric: Sequence[int] = (),
    sortable: bool = True,
) -> Html:
    """A table whose columns can be sorted.

    Args:
        caption: What it shows.
        header: One name per column.
        rows: One value per column: a `Cell`, a number, HTML, or text.
        name: Its id.
        numeric: Columns to align as numbers, besides those whose first value is one.
        sortable: Whether its columns can be sorted.
    """
    right = {place for place in range(len(header)) if place in numeric or _is_number(rows, place)}
    heads = [
        tag(
            "th",
            tag("button", title, type="button") if sortable and title else title,
            scope="col",
            class_="number" if place in right else None,
        )
        for place, title in enumerate(header)
    ]
    body = [
        tag("tr", *(_cell(value, place in right, place) for place, value in enumerate(row)))
        for row in rows
    ]
    kinds = ["sortable"] if sortable else []
    if len(header) <= _FEW_COLUMNS:
        kinds.append("narrow")
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
        id=name,
        class_=" ".join(kinds) or None,
    )
    kind = "scroll long" if len(rows) > _LONG else "scroll"
    return tag("div", table, class_=kind, tabindex="0", role="group", aria_label="Table")


def result_table(table: Table) -> Html:
    """A table of a study, with the paper's numbers beside ours, and its details folded."""
    rows = [[_field(value) for value in row] for row in table.rows]
    scored = {
        place for row in table.rows for place, value in enumerate(row) if isinstance(value, Scores)
    }
    parts = [html_table(table.title, table.header, rows, numeric=sorted(scored))]
    parts += [tag("p", note, class_="note") for note in table.notes]
    parts += [
        tag("details", tag("summary", part.title), result_table(part)) for part in table.details
    ]
    return join(parts)


def _field(value: Field) -> object:
    if isinstance(value, Scores):
        return _scores(value)
    if isinstance(value, Code):
        return tag("code", value)
    return "–" if value is None else value


def _scores(scores: Scores) -> Cell:
    paper = None
    if scores.paper is not None:
        paper = tag("span", f"(paper {scores.paper[0]:.1f})", class_="paper")
    if scores.mean is None:
        words = "missing" if scores.failure else "–"
        return Cell(join([tag("span", words, class_="missing"), paper or ""]))
    spread = "" if scores.deviation is None else f" ± {scores.deviation:.1f}"
    words = f"{scores.mean:.1f}{spread}"
    shown = tag("span", tag("strong", words) if scores.best else words, class_="ours")
    return Cell(join([shown, paper or ""]), scores.mean)


def _cell(value: object, right: bool, place: int) -> Html:
    sort_by: object = None
    if isinstance(value, Cell):
        sort_by, value = value.value, value.shown
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        sort_by, value = value, f"{value:,}"
    name = "th" if place == 0 and not right else "td"
    text = escape(value)
    kind = "wide" if len(_TAG.sub("", text)) > _WIDE else None
    return tag(
        name,
        text,
        class_="number" if right else kind,
        data_v=sort_by,
        scope="row" if name == "th" else None,
    )


def _is_number(rows: Sequence[Sequence[object]], place: int) -> bool:
    """Whether a column has numbers, and dashes at most besides."""
    found = [_kind(row[place]) for row in rows]
    return "number" in found and "text" not in found


def _kind(value: object) -> str:
    shown = value.shown if isinstance(value, Cell) else value
    if isinstance(value, Cell):
        value = value.value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return "number"
    return (
        "dash"
        if isinstance(shown, str) and (shown == "–" or 'class="missing"' in shown)
        else "text"
    )
