"""A table of results, and its output formats."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Scores:
    """Scores of repeated runs, with the paper's score.

    Attributes:
        values: The score of each run, in percent.
        paper: Mean and standard deviation in the paper; None if it has none.
        failure: Why scores are missing.
        best: Whether they are the best of their block.
    """

    values: Sequence[float]
    paper: tuple[float, float | None] | None = None
    failure: str | None = None
    best: bool = False

    @property
    def mean(self) -> float | None:
        """Mean over the runs."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation; None for fewer than two runs."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's, both to the one digit that tables show."""
        if self.mean is None or self.paper is None:
            return None
        return round(round(self.mean, 1) - self.paper[0], 1)

    @property
    def verdict(self) -> str | None:
        """Whether the mean is ``within`` the paper's standard deviation, ``above`` or ``below``."""
        if self.difference is None or self.paper is None or self.paper[1] is None:
            return None
        if abs(self.difference) <= self.paper[1]:
            return "within"
        return "above" if self.difference > 0 else "below"

    def __str__(self) -> str:
        """For example ``83.3 ± 0.7 (83.6)``."""
        if self.mean is None:
            return "missing" if self.failure else "–"
        deviation = "" if self.deviation is None else f" ± {self.deviation:.1f}"
        paper = "" if self.paper is None else f" ({self.paper[0]:.1f})"
        return f"{self.mean:.1f}{deviation}{paper}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "mean": self.mean,
            "std": self.deviation,
            "runs": len(self.values),
            "paper_mean": None if self.paper is None else self.paper[0],
            "paper_std": None if self.paper is None else self.paper[1],
            "difference": self.difference,
            "verdict": self.verdict,
            "failure": self.failure,
        }


class Code(str):
    """Text to be shown as code, such as settings."""

    __slots__ = ()


#: Possible values of a table cell.
Field = str | float | int | Scores | None


@dataclass(frozen=True)
class Table:
    """Rows under a header, with notes.

    Attributes:
        title: What it shows.
        header: One name per column.
        rows: One field per column.
        notes: Sentences shown below it.
        details: Further tables that belong to it.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Field]]
    notes: Sequence[str] = ()
    details: Sequence[Table] = field(default_factory=tuple)

    def with_note(self, note: str) -> Table:
        """The table with one more sentence below it."""
        return dataclasses.replace(self, notes=[*self.notes, note])


def with_best(
    rows: Sequence[Sequence[Field]], block: Callable[[Sequence[Field]], Field]
) -> list[list[Field]]:
    """Rows in which the best scores of each column and block are marked.

    Means that look the same in the table are equally good. A score without others to compare with
    is not marked.

    Args:
        rows: The rows of a table.
        block: What the rows of a block have in common.
    """
    means: dict[tuple[Field, int], list[float]] = {}
    for row in rows:
        for place, value in enumerate(row):
            if isinstance(value, Scores) and value.mean is not None:
                means.setdefault((block(row), place), []).append(round(value.mean, 1))

    def marked(row: Sequence[Field], place: int) -> Field:
        value = row[place]
        if not isinstance(value, Scores) or value.mean is None:
            return value
        others = means[block(row), place]
        is_best = len(others) > 1 and round(value.mean, 1) == max(others)
        return dataclasses.replace(value, best=is_best)

    return [[marked(row, place) for place in range(len(row))] for row in rows]


def render(table: Table, form: str) -> str:
    """A table as text.

    Args:
        table: The table.
        form: One of `FORMATS`.
    """
    return FORMATS[form](table)


def _markdown(table: Table, level: int = 1) -> str:
    def shown(value: Field) -> str:
        text = f"`{value}`" if isinstance(value, Code) else _text(value)
        if isinstance(value, Scores) and value.best:
            text = f"**{text}**"
        return _one_line(text).replace("|", "\\|")

    lines = [f"{'#' * level} {table.title}", ""]
    lines.append("| " + " | ".join(map(shown, table.header)) + " |")
    lines.append("|" + " --- |" * len(table.header))
    lines += ["| " + " | ".join(map(shown, row)) + " |" for row in table.rows]
    lines += [line for note in table.notes for line in ("", _one_line(note))]
    parts = ["\n".join(lines), *(_markdown(part, level + 1).rstrip() for part in table.details)]
    return "\n\n".join(parts) + "\n"


# Characters that are special in LaTeX.
_LATEX = {
    **{letter: f"\\{letter}" for letter in "&%#_${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "–": "--",
}


def _latex(table: Table) -> str:
    def shown(value: Field) -> str:
        text = "".join(_LATEX.get(letter, letter) for letter in _one_line(_text(value)))
        if isinstance(value, Scores) and value.best:
            return rf"\textbf{{{text}}}"
        return rf"\texttt{{{text}}}" if isinstance(value, Code) else text

    lines = [
        r"\begin{table}",
        rf"  \caption{{{shown(table.title)}}}",
        rf"  \begin{{tabular}}{{{'l' * len(table.header)}}}",
        r"    \toprule",
        "    " + " & ".join(map(shown, table.header)) + r" \\",
        r"    \midrule",
        *("    " + " & ".join(map(shown, row)) + r" \\" for row in table.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
        *(f"% {_one_line(note)}" for note in table.notes),
    ]
    return "\n".join(["\n".join(lines) + "\n", *map(_latex, table.details)])


def _csv(table: Table) -> str:
    scored = {
        place for row in table.rows for place, value in enumerate(row) if isinstance(value, Scores)
    }
    names = tuple(Scores(()).to_dict())
    header: list[str] = []
    for place, title in enumerate(table.header):
        header += [f"{title} {name}" for name in names] if place in scored else [title]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in table.rows:
        fields: list[Any] = []
        for place, value in enumerate(row):
            if isinstance(value, Scores):
                fields += [value.to_dict()[name] for name in names]
            else:
                fields += [None] * len(names) if place in scored else [value]
        writer.writerow(fields)
    return buffer.getvalue()


def _json(table: Table) -> str:
    return json.dumps(_plain(table)) + "\n"


def _plain(table: Table) -> dict[str, Any]:
    def value(found: Field) -> Any:
        return found.to_dict() if isinstance(found, Scores) else found

    return {
        "title": table.title,
        "rows": [
            {name: value(found) for name, found in zip(table.header, row, strict=True)}
            for row in table.rows
        ],
        "notes": list(table.notes),
        "details": [_plain(part) for part in table.details],
    }


def _text(value: Field) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _one_line(text: str) -> str:
    return " ".join(text.split())


#: Writers by format.
FORMATS: dict[str, Callable[[Table], str]] = {
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
