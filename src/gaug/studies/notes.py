"""What stands below a table: how its numbers were made, and how they compare with the paper's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaug.drawing.table import Code, Field, Scores, Table
from gaug.runs.summary import mean_and_spread
from gaug.studies.outcome import Outcome

#: Graph, model and method of a cell in words, from its key.
Titles = Callable[[tuple[Any, ...]], list[str]]


def provenance(outcomes: Sequence[Outcome], *, paper: bool = True) -> list[str]:
    """The number of runs, and the software versions.

    Args:
        outcomes: The outcomes of the cells.
        paper: Whether the table has the paper's scores, too.
    """
    there = [outcome for outcome in outcomes if outcome.runs]
    if not there:
        return []
    beside = "; in parentheses the paper's mean" if paper else ""
    newest = max(there, key=lambda outcome: outcome.made or "")
    software = ", ".join(f"{name} {version}" for name, version in newest.versions.items())
    made = [f"Made on {newest.made} with {software}."] if newest.made else []
    runs = runs_text(there)
    several = f", mean and sample standard deviation over {runs}"
    of = several if any(outcome.runs > 1 for outcome in there) else f" of {runs}"
    return [
        f"Test micro-F1 in percent{of}{beside}. Epochs were selected on validation nodes.",
        *made,
    ]


def runs_text(outcomes: Sequence[Outcome]) -> str:
    """For example ``10 or 30 runs``."""
    counts = sorted({outcome.runs for outcome in outcomes if outcome.runs}) or [0]
    return f"{' or '.join(map(str, counts))} run{'' if counts == [1] else 's'}"


def failures(outcomes: Sequence[Outcome]) -> list[str]:
    """Failed cells, one sentence each."""
    return [
        f"{', '.join(map(str, outcome.key))}: {outcome.failure}"
        for outcome in outcomes
        if outcome.failure
    ]


def taken_over_note(outcomes: Sequence[Outcome], where: str) -> list[str]:
    """Where searched settings were chosen, if any were and other cells take them over.

    Args:
        outcomes: The outcomes of the cells.
        where: Where they were chosen, such as "with the default number of layers".
    """
    searched = any(outcome.chosen in ("search", "preset") for outcome in outcomes)
    return [f"Settings were chosen {where}."] if searched else []


def best_note(rows: Sequence[Sequence[Field]], block: str | None) -> list[str]:
    """What bold scores are, if there are any.

    Args:
        rows: The rows of the table, in which the best are marked.
        block: What is a block of the table, such as "model"; None if all rows are one.
    """
    if not any(isinstance(value, Scores) and value.best for row in rows for value in row):
        return []
    return ["Bold: the best of each " + ("column." if block is None else f"{block} in a column.")]


def paper_tables(
    outcomes: Sequence[Outcome],
    titles: Titles,
    paper: Callable[[Outcome], tuple[float, float | None] | None],
    headings: Sequence[str],
) -> list[Table]:
    """A table of every cell beside the paper's, if the paper has any.

    Args:
        outcomes: The outcomes of the cells.
        titles: The position of a cell in words, from its key.
        paper: The paper's mean and deviation of a cell.
        headings: What the titles are.
    """
    rows: list[list[Field]] = []
    verdicts: list[str] = []
    for outcome in outcomes:
        scores = outcome.beside(paper(outcome))
        if scores.paper is None or scores.mean is None:
            continue
        ours, theirs = mean_and_spread(scores.values), _printed(scores.paper)
        rows.append(
            [
                *titles(outcome.key),
                ours,
                theirs,
                f"{scores.difference:+.1f}",
                scores.verdict,
                outcome.runs,
            ]
        )
        verdicts += [scores.verdict] if scores.verdict else []
    if not rows:
        return []
    counts = ", ".join(
        f"{verdicts.count(verdict)} {verdict}" for verdict in ("above", "within", "below")
    )
    return [
        Table(
            "Beside the paper",
            [*headings, "ours", "paper", "difference", "ours is", "runs"],
            rows,
            [
                f"{counts}. Within: our mean is at most one standard deviation of the paper from"
                " the paper's mean."
            ],
        )
    ]


def settings_tables(
    outcomes: Sequence[Outcome],
    titles: Titles,
    headings: Sequence[str] = ("graph", "model", "method"),
) -> list[Table]:
    """A table of the settings that differ from the defaults, if there are any.

    Args:
        outcomes: The outcomes of the cells.
        titles: The position of a cell in words, from its key.
        headings: What these are.
    """
    rows = []
    for outcome in outcomes:
        if not outcome.settings:
            continue
        text = " ".join(f"{name}={value}" for name, value in outcome.settings.items())
        vals = mean_and_spread(outcome.val_scores) if outcome.val_scores else None
        rows.append([*titles(outcome.key), Code(text), _source(outcome), vals])
    if not rows:
        return []
    sources = {outcome.chosen for outcome in outcomes if outcome.settings}
    notes = [note for source, note in _SOURCES.items() if source in sources]
    notes.append("The last column has the validation score over all runs.")
    header = [*headings, "settings", "chosen", "validation"]
    return [Table("Settings", header, rows, [" ".join(notes)])]


_SOURCES = {
    "search": "Of so many: chosen on validation nodes by a few runs each.",
    "preset": "Preset: found by 'gaug search' on validation nodes among so many, the best ones run"
    " again before one was chosen.",
    "published": "Published: by the paper's authors, who chose them by test score.",
}


def _source(outcome: Outcome) -> str:
    """How the settings were chosen."""
    of = f"of {outcome.trials}" if outcome.trials else ""
    if outcome.chosen == "search":
        return of
    return f"{outcome.chosen}, {of}" if of else outcome.chosen


def _printed(paper: tuple[float, float | None]) -> str:
    mean, deviation = paper
    return f"{mean:.1f}" if deviation is None else f"{mean:.1f} ± {deviation:.1f}"
