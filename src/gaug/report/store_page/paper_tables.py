"""Tables of the paper as a store fills them: what has runs, and with which settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from gaug.drawing.table import Code, Field, Scores, Table
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.runs.summary import mean_and_spread
from gaug.studies.study import CellResult


def with_runs(table: Table) -> Table:
    """The rows and columns in which there is a score."""
    lists = [row for row in table.rows if any(isinstance(value, Scores) for value in row)]
    scored = {place for row in lists for place, value in enumerate(row) if _is_score(value)}
    lacking = {
        place
        for row in lists
        for place, value in enumerate(row)
        if isinstance(value, Scores) and place not in scored
    }
    rows = [
        [value for place, value in enumerate(row) if place not in lacking]
        for row in table.rows
        if row not in lists or any(map(_is_score, row))
    ]
    if not lacking and len(rows) == len(table.rows):
        return table
    header = [name for place, name in enumerate(table.header) if place not in lacking]
    shorter = dataclasses.replace(table, header=header, rows=rows)
    return shorter.with_note("Rows and columns without any run on record are left out.")


def _is_score(value: Field) -> bool:
    return isinstance(value, Scores) and bool(value.values)


def settings_table(results: Sequence[CellResult]) -> list[Table]:
    """The settings of the cells that have runs; no table without any."""
    rows: list[list[Field]] = []
    for result in results:
        if not result.records:
            continue
        first = result.records[0]
        text = " ".join(f"{name}={value}" for name, value in result.settings.items())
        how = f"of {result.trials} tried" if result.trials else "given"
        rows.append(
            [
                first.graph,
                MODELS.title(first.model),
                METHODS.title(first.method),
                Code(text) if text else "defaults",
                how if text else "",
                Path(first.split).name,
                len(result.records),
                mean_and_spread(result.val_scores) if result.val_scores else None,
            ]
        )
    header = ["graph", "model", "method", "settings", "chosen", "split", "runs", "validation"]
    return [Table("Settings of these cells", header, rows)] if rows else []
