"""The frame of a page: its policy allows its own script and style, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import re

from gaug.drawing.table import Code, Scores, Table
from gaug.report.page.document import Page, Section, facts, figure, tiles
from gaug.report.page.html import Html
from gaug.report.page.tables import Cell, html_table, number, result_table
from tests.report.page.test_html import read

HOSTILE = "</script><script>alert(1)</script>"


def page() -> Page:
    return Page(
        HOSTILE,
        Html("lead"),
        [Section("one", HOSTILE, figure("chart", HOSTILE, HOSTILE))],
        {"names": [HOSTILE]},
        command=f"gaug report {HOSTILE}",
    )


def content(text: str, element: str) -> list[str]:
    return re.findall(rf"<{element}[^>]*>(.*?)</{element}>", text, re.DOTALL)


def test_the_policy_names_the_hashes_of_the_only_script_and_style() -> None:
    text = page().render()
    policy = re.search(r'content="(default-src[^"]*)"', text)
    assert policy is not None
    rules = dict(part.strip().split(" ", 1) for part in policy[1].replace("&#x27;", "'").split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    (style,) = content(text, "style")
    scripts = content(text, "script")
    for rule, inside in (("style-src", style), ("script-src", scripts[-1])):
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_hostile_names_add_no_element() -> None:
    names = [name for name, _ in read(page().render()).elements]
    assert names.count("script") == 2  # the data and the script
    assert not any(name in names for name in ("img", "iframe", "object"))


def test_no_element_has_a_style_or_handler_of_its_own_or_loads_anything() -> None:
    for name, attributes in read(page().render()).elements:
        assert not any(key == "style" or key.startswith("on") for key in attributes), name
        for key in ("src", "href"):
            value = attributes.get(key)
            assert value is None or value.startswith(("#", "data:")), (name, value)


def test_sections_are_listed_and_labelled() -> None:
    seen = read(page().render()).elements
    links = [attributes["href"] for name, attributes in seen if name == "a"]
    assert links == ["#content", "#one"]
    (section,) = [attributes for name, attributes in seen if name == "section"]
    assert {"id": section["aria-labelledby"]} in [a for name, a in seen if name == "h2"]


def test_a_table_sorts_by_values_not_by_how_they_are_shown() -> None:
    text = html_table("Sizes", ["name", "size", "score"], [["a", 1234, number(0.5, 1)]])
    seen = read(text)
    cells = [attributes for name, attributes in seen.elements if name in ("td", "th")]
    assert [cell.get("data-v") for cell in cells[-3:]] == [None, "1234", "0.5"]
    assert cells[-1]["class"] == "number"
    assert "1,234" in seen.text
    assert number(None) == Cell(Html("–"))


def test_a_table_of_a_study_shows_our_scores_and_the_papers() -> None:
    table = Table(
        "T",
        ["method", "cora"],
        [["GCN", Scores([81.0, 82.0], (81.6, 0.7))], ["<b>", Scores([], failure="no memory")]],
        ["A note."],
        [Table("Settings", ["settings"], [[Code("alpha=1")]])],
    )
    seen = read(result_table(table))
    assert "81.5 ± 0.7" in seen.text
    assert "paper 81.6" in seen.text
    assert "<b>" in seen.text
    assert "missing" in seen.text
    assert {"code", "details"} <= {name for name, _ in seen.elements}


def test_facts_and_tiles_escape_their_values() -> None:
    for part in (facts([(HOSTILE, HOSTILE)]), tiles([(HOSTILE, HOSTILE)])):
        seen = read(part)
        assert "script" not in [name for name, _ in seen.elements]
        assert seen.text.count(HOSTILE) == 2
