"""Nothing that comes from a user can become a part of the page's own HTML."""

from __future__ import annotations

import html
import json
import math
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from gaug.drawing.names import cut
from gaug.report.page.html import Html, escape, join, script_json, tag


class Reader(HTMLParser):
    """Elements, attributes and text as a browser would see them."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


# A carriage return or a control character is not kept by any HTML parser.
texts = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Cn")))


@given(texts, texts)
def test_a_parser_reads_back_exactly_what_was_given(content: str, attribute: str) -> None:
    seen = read(tag("td", content, title=attribute))
    assert seen.elements == [("td", {"title": attribute})]
    assert seen.text == content


def test_only_html_is_left_as_it_is() -> None:
    assert join(["<", Html("<b>"), tag("i", "&")]) == "&lt;<b><i>&amp;</i>"
    assert html.unescape(escape('"')) == '"'


def test_what_no_file_may_hold_is_replaced() -> None:
    assert escape("a\ud800b\x00c").encode() == "a\ufffdb\ufffdc".encode()


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists))
def test_json_in_a_page_is_the_same_value_and_cannot_end_its_element(value: object) -> None:
    text = script_json(value)
    assert "<" not in text
    assert json.loads(text) == value


def test_json_has_null_for_numbers_that_are_not_finite() -> None:
    assert json.loads(script_json([math.inf, {"a": math.nan}, 1.5])) == [None, {"a": None}, 1.5]


def test_attributes_are_left_out_or_bare() -> None:
    assert tag("input", hidden=True, id=None, class_="a", aria_label='"x"') == (
        '<input hidden class="a" aria-label="&quot;x&quot;">'
    )


@given(st.text(), st.integers(2, 40))
def test_a_cut_name_is_one_short_line(name: str, longest: int) -> None:
    shown = cut(name, longest)
    assert len(shown) <= longest
    assert len(shown.splitlines()) <= 1
