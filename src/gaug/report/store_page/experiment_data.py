"""Experiments as rows of a table, and as values for the script of the page."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaug.drawing.names import cut, printable
from gaug.report.page.html import Html, tag
from gaug.report.page.tables import Cell, number
from gaug.report.store_page.experiments import Experiment
from gaug.runs.record import RunRecord
from gaug.runs.summary import spread, warnings_of

_LONGEST_SETTINGS = 90


def score_cell(values: Sequence[float]) -> Cell:
    """Mean and spread of scores; a dash for none."""
    if not values:
        return Cell(Html("–"))
    mean = statistics.fmean(values)
    by = f" ± {spread(values):.1f}" if len(values) > 1 else ""
    return Cell(Html(f"{mean:.1f}{by}"), round(mean, 3))


def experiment_link(one: Experiment, words: str) -> Html:
    """A link that opens an experiment."""
    return tag("a", words, href=f"#experiment={one.name}")


def settings_cell(one: Experiment) -> Html:
    """The settings of an experiment, as many as fit into a table."""
    text = one.settings_text
    return tag("code", cut(text, _LONGEST_SETTINGS)) if text else Html("")


def experiment_rows(experiments: Sequence[Experiment]) -> list[list[object]]:
    """One row per experiment."""
    return [_row(one) for one in experiments]


def _row(one: Experiment) -> list[object]:
    first = one.first
    link = tag("a", cut(first.graph, 30), href=f"#experiment={one.name}", data_e=one.name)
    return [
        Cell(link),
        cut(first.model, 30),
        cut(first.method, 30),
        settings_cell(one),
        cut(Path(first.split or "").name, 24),
        score_cell(one.tests),
        score_cell(one.vals),
        len(one.records),
        number(statistics.fmean(record.seconds or 0.0 for record in one.records), 1),
        number(max(record.peak_memory_mb or 0.0 for record in one.records), 0),
    ]


def experiment_data(experiments: Sequence[Experiment]) -> dict[str, Any]:
    """What the script shows of each experiment, with repeated texts listed once."""
    texts: dict[str, int] = {}

    def shared(text: str) -> int:
        return texts.setdefault(printable(text), len(texts))

    rows = []
    for one in experiments:
        first, newest = one.first, max(one.records, key=lambda record: record.id)
        rows.append(
            [
                one.name,
                shared(first.graph),
                shared(first.model),
                shared(first.method),
                printable(one.settings_text[:2000]),
                shared(f"{first.split} ({_splits(one)}), graph {first.graph_hash}"),
                shared(one.chosen),
                shared(_selection(first)),
                [_rounded(record.test_score) for record in one.records],
                [_rounded(record.val_score) for record in one.records],
                shared(", ".join(f"{key} {text}" for key, text in (first.versions or {}).items())),
                first.commit or "",
                _day(newest),
                [printable(text) for text in warnings_of(one.records)][:5],
                round(statistics.fmean(record.best_epoch or 0 for record in one.records), 1),
                shared(", ".join(str(seed) for seed in sorted({r.seed for r in one.records})[:9])),
            ]
        )
    return {"texts": list(texts), "rows": rows}


def _splits(one: Experiment) -> str:
    hashes = {record.split_hash for record in one.records}
    return hashes.pop() if len(hashes) == 1 else f"{len(hashes):,} draws"


def _selection(record: RunRecord) -> str:
    if record.protocol == "last":
        return "the last epoch was used"
    return "the epoch was selected on validation nodes"


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 2)


def _day(record: RunRecord) -> str:
    return f"{record.created_utc:%Y-%m-%d %H:%M} UTC"
