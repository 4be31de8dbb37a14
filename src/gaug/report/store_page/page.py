"""The page of a store: results, experiments, searches, and what is missing."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.trial import TrialState

from gaug.drawing.names import cut
from gaug.errors import DataError
from gaug.report.page.document import Page, Section, figure, paragraphs, tiles
from gaug.report.page.html import Html, counted, join, noun, tag
from gaug.report.page.tables import Cell, html_table, result_table
from gaug.report.store_page.curves import learning_curves
from gaug.report.store_page.experiment_data import (
    experiment_data,
    experiment_link,
    experiment_rows,
    score_cell,
)
from gaug.report.store_page.experiments import TRIED, Experiment, group
from gaug.report.store_page.figures import figure_charts
from gaug.report.store_page.gains import gain_sections
from gaug.report.store_page.paper import PaperPart, missing_runs, paper_parts
from gaug.report.store_page.search_section import search_section
from gaug.report.store_page.searches import Search, read_searches
from gaug.runs.record import RunRecord
from gaug.runs.store import Store

# Runs whose histories are read.
_MOST_HISTORIES = 2_000
# Seconds from which on a time is in hours.
_HOURS_FROM = 2 * 3600


def store_page(store: Store, command: str | None = None) -> Page:
    """The page of everything in a store.

    Args:
        store: The store; it may be written meanwhile.
        command: The command that makes the page, if it is one.

    Raises:
        DataError: If there are no runs.
    """
    records = store.outlines()
    if not records:
        raise DataError(
            f"The store {store.url} has no runs yet. 'gaug train', 'gaug search' and 'gaug"
            " reproduce' record some."
        )
    experiments = group(records, store.ids_with_hidden_test())
    histories = store.histories(_MOST_HISTORIES)
    searches = read_searches(store)
    parts = paper_parts(experiments)
    charts: dict[str, Any] = {}
    sections = [
        Section("overview", "Overview", _overview(records, experiments, searches)),
        Section("paper", "The paper's tables and figures", _paper(parts, histories, charts)),
        Section("experiments", "Experiments", _experiments(experiments)),
        Section("searches", "Searches", search_section(searches, charts)),
        *gain_sections(experiments, charts),
        Section("missing", "What is missing", _missing(parts, experiments, searches)),
        Section("software", "Software", _software(records)),
    ]
    curves = learning_curves(experiments, histories)
    graphs = len({record.graph for record in records})
    lead = (
        f"{counted(len(records), 'run')} of {counted(len(experiments), 'experiment')} on"
        f" {counted(graphs, 'graph')}. Scores are micro-F1 in percent,"
        " mean ± sample standard deviation over runs."
    )
    return Page(
        "Results on record",
        Html(lead),
        sections,
        {"charts": charts, "experiments": experiment_data(experiments), "curves": curves},
        ("experiments",),
        command,
    )


def _overview(
    records: Sequence[RunRecord], experiments: Sequence[Experiment], searches: Sequence[Search]
) -> Html:
    counts = (
        (len(records), "run"),
        (len(experiments), "experiment"),
        (len(searches), "search"),
    )
    shown: list[tuple[object, str]] = [(f"{count:,}", noun(count, one)) for count, one in counts]
    shown.append(_time(sum(record.seconds or 0.0 for record in records)))
    best: dict[str, Experiment] = {}
    for one in sorted(experiments, key=lambda one: (len(one.tests) > 1, one.val_mean)):
        if one.tests and one.vals:
            best[one.first.graph] = one
    rows = [
        [
            Cell(experiment_link(one, cut(graph)), cut(graph)),
            cut(one.first.model),
            cut(one.first.method),
            score_cell(one.tests),
            score_cell(one.vals),
            len(one.records),
        ]
        for graph, one in sorted(best.items())
    ]
    if not rows:
        return tiles(shown)
    header = ["graph", "model", "method", "test", "validation", "runs"]
    caption = (
        "The experiment with the best validation score on each graph, and its test score; those of"
        " a single run come last"
    )
    return join([tiles(shown), html_table(caption, header, rows, numeric=(3, 4, 5))])


def _time(seconds: float) -> tuple[str, str]:
    if seconds < _HOURS_FROM:
        return f"{seconds / 60:,.1f}", "minutes of computing"
    return f"{seconds / 3600:,.1f}", "hours of computing"


def _paper(
    parts: Sequence[PaperPart],
    histories: Mapping[int, list[dict[str, float]]],
    charts: dict[str, Any],
) -> Html:
    found = []
    for part in parts:
        drawn = figure_charts(part, histories) if part.is_begun else {}
        table = part.table if part.is_begun else None
        if table is None and not drawn:
            continue
        found.append(tag("h3", part.title))
        for place, (caption, chart) in enumerate(drawn.items()):
            name = f"{part.name}-{place}"
            charts[name] = chart
            found.append(figure(name, caption, caption))
        if table is not None:
            if table.title == part.title:  # it is the heading
                table = dataclasses.replace(table, title="Scores")
            found.append(result_table(table))
    if not found:
        return paragraphs(
            "There are no runs of them on record. 'gaug reproduce' makes them, for example 'gaug"
            " reproduce figure1'."
        )
    return join(found)


def _experiments(experiments: Sequence[Experiment]) -> Html:
    def choice(label: str, key: str, values: set[str]) -> Html:
        options = [tag("option", f"all ({len(values):,})", value="")]
        options += [tag("option", cut(value), value=value) for value in sorted(values)]
        return tag("label", label, tag("select", *options, data_filter=key))

    tried = sum(one.chosen == TRIED for one in experiments)
    controls = tag(
        "div",
        choice("Graph", "graph", {one.first.graph for one in experiments}),
        choice("Model", "model", {one.first.model for one in experiments}),
        choice("Method", "method", {one.first.method for one in experiments}),
        tag("label", "Settings contain", tag("input", type="search", data_filter="text")),
        tag(
            "label",
            "Runs of searches",
            tag(
                "select",
                tag("option", "without test score: hidden", value=""),
                tag("option", f"show all ({tried:,} more)", value="all"),
                data_filter="tried",
            ),
        )
        if tried
        else None,
        class_="controls",
    )
    header = ["graph", "model", "method", "settings", "split", "test", "validation", "runs"]
    header += ["s per run", "MB"]
    return join(
        [
            paragraphs(
                "Filter and sort; the address of the page keeps what you see, so that it can be"
                " shared as a link. A graph's name opens the experiment."
            ),
            controls,
            tag("p", role="status", class_="note", id="filtered"),
            tag("div", class_="panel", id="experiment", hidden=True, tabindex="-1"),
            figure(
                "compared",
                "Runs as points, their mean and spread as a line: test score, or validation score"
                " where the test score was not read. The first experiments of the table below.",
                "Scores of the runs of the first experiments of the table.",
            ),
            html_table(
                "Experiments",
                header,
                experiment_rows(experiments),
                name="experiment-table",
                numeric=(5, 6, 7, 8, 9),
            ),
        ]
    )


def _missing(
    parts: Sequence[PaperPart], experiments: Sequence[Experiment], searches: Sequence[Search]
) -> Html:
    rows: list[list[object]] = []
    for part in parts:
        lacking = missing_runs(part) if part.is_begun else ""
        if lacking:
            rows.append([part.title, lacking, tag("code", f"gaug reproduce {part.name}")])
    others = [part.title for part in parts if not part.is_begun]
    if others:
        lacking = "not on record, or no more of it than plain training"
        rows.append([", ".join(others), lacking, tag("code", "gaug reproduce NAME")])
    warned = [one for one in experiments if any(record.warning for record in one.records)]
    for one in warned[:50]:
        words = Counter(record.warning for record in one.records if record.warning)
        text = "; ".join(
            f"{count} of {counted(len(one.records), 'run')}: {cut(str(warning), 400)}"
            for warning, count in words.items()
        )
        rows.append([experiment_link(one, _title(one)), text, ""])
    single = sum(len(one.tests) == 1 for one in experiments)
    if single:
        rows.append([counted(single, "experiment"), "with a single run, so without a spread", ""])
    running = sum(search.count(TrialState.RUNNING) for search in searches)
    if running:
        rows.append([counted(running, "trial"), "running, or the process was killed", ""])
    if not rows:
        return paragraphs("Nothing: every table and figure is complete.")
    header = ["what", "is missing or uncertain", "command"]
    return html_table("Gaps and warnings", header, rows, sortable=False)


def _software(records: Sequence[RunRecord]) -> Html:
    used: Counter[tuple[str, str]] = Counter()
    for record in records:
        versions = ", ".join(f"{name} {text}" for name, text in (record.versions or {}).items())
        used[versions, (record.commit or "–")[:10]] += 1
    rows = [[versions, commit, count] for (versions, commit), count in used.most_common(50)]
    return html_table("Versions that the runs were made with", ["versions", "commit", "runs"], rows)


def _title(one: Experiment) -> str:
    return f"{cut(one.first.graph)}, {cut(one.first.model)}, {cut(one.first.method)}"
