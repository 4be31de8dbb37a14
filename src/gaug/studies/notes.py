"""What stands below a table: how its numbers were made, and by which settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timezone
from typing import Any

from gaug.drawing.table import Code, Table
from gaug.runs.summary import mean_and_spread
from gaug.studies.study import CellResult


def provenance(results: Sequence[CellResult]) -> list[str]:
    """The number of runs, and the software versions."""
    records = [record for result in results for record in result.records]
    if not records:
        return []
    counts = sorted({len(result.records) for result in results if result.records})
    newest = max(record.created.replace(tzinfo=timezone.utc) for record in records)
    software = ", ".join(f"{name} {version}" for name, version in records[-1].versions.items())
    return [
        "Test micro-F1 in percent, mean and sample standard deviation over"
        f" {' or '.join(map(str, counts))} run{'' if counts == [1] else 's'}; in parentheses"
        " the paper's mean. Epochs were selected on validation nodes.",
        f"Made on {newest:%Y-%m-%d} with {software}.",
    ]


def settings_tables(
    results: Sequence[CellResult],
    titles: Callable[[tuple[Any, ...]], list[str]],
    heading: str = "model",
) -> list[Table]:
    """A table of the settings that differ from the defaults, if there are any.

    Args:
        results: The cells with their runs.
        titles: Graph, model and method of a cell in words, from its key.
        heading: What the second of these is, if not the model.
    """
    rows = []
    for result in results:
        if not result.settings:
            continue
        text = " ".join(f"{name}={value}" for name, value in result.settings.items())
        source = f"of {result.trials}" if result.trials else "published"
        vals = mean_and_spread(result.val_scores) if result.val_scores else None
        rows.append([*titles(result.cell.key), Code(text), source, vals])
    if not rows:
        return []
    return [
        Table(
            "Settings",
            ["graph", heading, "method", "settings", "chosen", "validation"],
            rows,
            [
                "Chosen by the mean validation score of a few runs each, or published by the"
                " paper's authors, who chose them by test score. The last column has the validation"
                " score over all runs."
            ],
        )
    ]
