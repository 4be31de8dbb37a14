"""Formulas as MathML when the site is built, so that a page needs no script to show them."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)


def on_post_page(output: str, **_: Any) -> str:
    """Called by MkDocs with each finished page."""
    output = _BLOCK.sub(lambda match: _mathml(match, "block"), output)
    return _INLINE.sub(lambda match: _mathml(match, "inline"), output)


def _mathml(match: re.Match[str], display: str) -> str:
    formula = html.unescape(match.group(1)).strip()
    result = str(convert(formula, display=display))
    if unknown := re.search(r"\\[A-Za-z]+", result):  # left as it is, for a reader to see
        raise PluginError(f"latex2mathml does not know {unknown.group()} in {formula!r}.")
    return result
