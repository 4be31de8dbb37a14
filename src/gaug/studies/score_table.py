"""A table of scores as the paper has them: rows, columns, and every cell beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaug.drawing.table import Field, Scores, Table, with_best
from gaug.studies.notes import best_note, failures, paper_tables, provenance, settings_tables
from gaug.studies.outcome import Outcome
from gaug.studies.paper import Score

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Layout:
    """Where each cell of a study stands in its table.

    Attributes:
        row_names: What the titles of a row are, such as ``("model", "method")``.
        rows: The titles of each row, by what it stands for.
        column_name: What a column is, such as ``"graph"``.
        columns: The title of each column, by what it stands for.
        key: The key of the cell in a row and a column.
        block: Which title of a row names its block, whose best score is marked; None: all rows
            are one block.
    """

    row_names: Sequence[str]
    rows: Mapping[Key, Sequence[str]]
    column_name: str
    columns: Mapping[Any, str]
    key: Callable[[Key, Any], Key]
    block: int | None = 0

    @property
    def headings(self) -> list[str]:
        """What the titles of a cell are."""
        return [self.column_name, *self.row_names]

    def titles(self) -> dict[Key, list[str]]:
        """The titles of each cell, by its key."""
        return {
            self.key(row, column): [title, *titles]
            for column, title in self.columns.items()
            for row, titles in self.rows.items()
        }


def score_table(
    title: str,
    outcomes: Sequence[Outcome],
    layout: Layout,
    paper: Callable[..., Score | None],
    notes: Sequence[str] = (),
) -> Table:
    """Scores by row and column, and below them each beside the paper's, and its settings.

    Rows and columns without any outcome are left out.

    Args:
        title: What the table shows.
        outcomes: The outcomes of the cells.
        layout: Where they stand.
        paper: The paper's mean and deviation, by the parts of a key.
        notes: What else to say about the scores.
    """
    by_key = {outcome.key: outcome for outcome in outcomes}
    columns = {
        column: text
        for column, text in layout.columns.items()
        if any(layout.key(row, column) in by_key for row in layout.rows)
    }
    rows = {
        row: titles
        for row, titles in layout.rows.items()
        if any(layout.key(row, column) in by_key for column in columns)
    }

    def beside(outcome: Outcome) -> Score | None:
        return paper(*outcome.key)

    def scores(key: Key) -> Scores | None:
        return by_key[key].beside(beside(by_key[key])) if key in by_key else None

    def block(row: Sequence[Field]) -> Field:
        return None if layout.block is None else row[layout.block]

    fields: list[list[Field]] = [
        [*titles, *(scores(layout.key(row, column)) for column in columns)]
        for row, titles in rows.items()
    ]
    rows_of_scores = with_best(fields, block)
    best = None if layout.block is None else layout.row_names[layout.block]
    titles_of = layout.titles().__getitem__
    return Table(
        title,
        [*layout.row_names, *columns.values()],
        rows_of_scores,
        [
            *provenance(outcomes),
            *notes,
            *best_note(rows_of_scores, best),
            *failures(outcomes),
        ],
        [
            *paper_tables(outcomes, titles_of, beside, layout.headings),
            *settings_tables(outcomes, titles_of, layout.headings),
        ],
    )
