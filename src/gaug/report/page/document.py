"""The frame of every page: head with its policy, contents, sections, data, scripts."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.resources import files
from typing import Any

from gaug.provenance import software_versions
from gaug.report.page.html import Html, escape, join, script_json, tag


@dataclass(frozen=True)
class Section:
    """A part of a page, listed in its contents.

    Attributes:
        name: Its id, which a link leads to.
        title: Its heading.
        body: What is in it.
    """

    name: str
    title: str
    body: Html


@dataclass(frozen=True)
class Page:
    """A page: one HTML document that needs no other file and no network.

    Attributes:
        title: What it is about.
        lead: A sentence or two below the title.
        sections: Its parts.
        data: What its scripts draw, by name.
        scripts: Names of the scripts that it needs besides those of every page.
        command: The command that made it, if it was one.
    """

    title: str
    lead: Html
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)
    scripts: Sequence[str] = ()
    command: str | None = None

    def render(self) -> str:
        """The document as text."""
        style = asset("page.css")
        script = "\n".join(asset(f"{name}.js") for name in ("page", "charts", *self.scripts))
        policy = (
            f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)};"
            " img-src data:; base-uri 'none'; form-action 'none'"
        )
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("title", self.title),
            tag("link", rel="icon", href="data:,"),
            tag("style", Html(style)),
        )
        body = tag(
            "body",
            tag("a", "Skip to content", class_="skip", href="#content"),
            self._header(),
            self._contents(),
            tag("main", *map(_section, self.sections), id="content", tabindex="-1"),
            self._footer(),
            tag("script", script_json(self.data), type="application/json", id="data"),
            tag("script", Html(script)),
        )
        return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"

    def _header(self) -> Html:
        button = tag("button", "Dark", type="button", id="theme", hidden=True)
        warning = tag("p", "The charts of this page are drawn by its script, which is off here.")
        return tag(
            "header",
            tag("p", "gaug", class_="brand"),
            button,
            tag("h1", self.title),
            tag("p", self.lead, class_="lead"),
            tag("noscript", warning),
        )

    def _contents(self) -> Html:
        links = [tag("li", tag("a", part.title, href=f"#{part.name}")) for part in self.sections]
        return tag("nav", tag("ol", *links), aria_label="Contents")

    def _footer(self) -> Html:
        versions = ", ".join(f"{name} {text}" for name, text in software_versions().items())
        made = f"Made on {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC with {versions}"
        command = None if self.command is None else tag("pre", tag("code", self.command))
        return tag("footer", tag("p", made, "." if command is None else " by"), command)


@functools.lru_cache
def asset(name: str) -> str:
    """The text of a style sheet or script of this package."""
    return (files("gaug.report.page") / "assets" / name).read_text(encoding="utf-8")


def figure(name: str, caption: object, alt: str, *, square: bool = False) -> Html:
    """A place where the script draws the chart of this name from the page's data.

    Args:
        name: Name of the chart in the page's data.
        caption: What it shows, below it.
        alt: What a screen reader says instead of it.
        square: Whether it is as high as wide.
    """
    return tag(
        "figure",
        tag("div", class_="chart square" if square else "chart", data_chart=name, data_alt=alt),
        tag("figcaption", caption),
    )


def facts(pairs: Sequence[tuple[str, object]]) -> Html:
    """Names and values as a list of definitions."""
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs),
        class_="facts",
    )


def tiles(pairs: Sequence[tuple[object, str]]) -> Html:
    """A few large numbers with what they are."""
    return tag(
        "ul",
        *(tag("li", tag("strong", value), tag("span", words)) for value, words in pairs),
        class_="tiles",
    )


def paragraphs(*texts: object) -> Html:
    """One paragraph each."""
    return join(tag("p", escape(text)) for text in texts)


def _section(section: Section) -> Html:
    return tag(
        "section",
        tag("h2", section.title, id=f"{section.name}-title"),
        section.body,
        id=section.name,
        aria_labelledby=f"{section.name}-title",
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
