"""HTML from Python values: everything is escaped unless it is HTML already."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from typing import Any

from gaug.drawing.names import printable

_VOID = ("meta", "link", "input", "br")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: object) -> Html:
    """A value as HTML; what is HTML already stays as it is.

    >>> escape("</script> & co")
    '&lt;/script&gt; &amp; co'
    """
    if isinstance(value, Html):
        return value
    return Html(html.escape(printable(str(value))))


def noun(count: int, one: str) -> str:
    """A noun, in the plural unless there is one of it."""
    if count == 1:
        return one
    return f"{one}es" if one.endswith(("s", "ch")) else f"{one}s"


def counted(count: int, one: str) -> str:
    """A number with its noun.

    >>> counted(1, "run"), counted(2000, "class")
    ('1 run', '2,000 classes')
    """
    return f"{count:,} {noun(count, one)}"


def join(parts: Iterable[object]) -> Html:
    """HTML parts one after the other."""
    return Html("".join(map(escape, parts)))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element.

    Args:
        name: Its name.
        children: Its content, escaped; None is left out.
        attributes: Its attributes, escaped. ``class_`` is written as ``class``, ``aria_label`` as
            ``aria-label``; True gives an attribute without a value, None and False leave it out.

    >>> tag("td", "<b>", class_="number", title=None)
    '<td class="number">&lt;b&gt;</td>'
    """
    given = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        given.append(f" {key}" if value is True else f' {key}="{escape(value)}"')
    start = f"<{name}{''.join(given)}>"
    if name in _VOID:
        return Html(start)
    return Html(f"{start}{join(child for child in children if child is not None)}</{name}>")


def script_json(value: Any) -> Html:
    """A value as JSON inside of a script element, which no text in it can end.

    Numbers that are not finite become null.

    >>> json.loads(script_json({"name": "</script>", "score": float("nan")}))
    {'name': '</script>', 'score': None}
    """
    text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return Html(text.replace("<", "\\u003c"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return value
