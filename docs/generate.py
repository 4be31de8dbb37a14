"""Fill the pages with what is on record: ``python -m docs.generate``, or ``make results``.

A record is a file in ``docs/results``, written by ``gaug reproduce NAME --out NAME.jsonl``. What
stands between two comments in a page is made from it:

    <!-- table: table2.jsonl -->            the whole table of the study, under its picture
    <!-- end -->

    <!-- beside: table2.jsonl -->           only what compares every cell with the paper
    <!-- end -->

    <!-- verdicts: table2.jsonl -->         counts of cells above, within and below the paper's
    <!-- end -->

    <!-- selection: table2.jsonl table2_published.jsonl -->    beside the authors' settings
    <!-- end -->

    <!-- cost: * -->                        runs and time of all records
    <!-- end -->

    <!-- score: table2.jsonl cora gcn none -->81.6 ± 0.7<!-- end -->    one cell; mean: without ±

The pictures of figures on record are drawn to ``docs/images``. A test fails where a page has
something else than its records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from docs.beside_paper import cost_table, selection_table, verdicts_table

from gaug.drawing.table import Table, render
from gaug.errors import DataError
from gaug.runs.summary import mean_and_spread
from gaug.studies.outcome import Outcome, from_lines
from gaug.studies.registry import find_study
from gaug.studies.study import Study

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "docs" / "results"
# Not within backticks, where a page tells of them.
_BLOCK = re.compile(
    r"(?<!`)(<!-- (table|beside|verdicts|selection|cost|score|mean): (\S+)([^<>]*?) -->)"
    r"(.*?)(<!-- end -->)",
    re.DOTALL,
)


def pages() -> list[Path]:
    """The pages that may show what is on record."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str, records: Path = RECORDS) -> str:
    """A page with its blocks made from the records.

    Args:
        text: The page.
        records: The folder of the records.

    Raises:
        DataError: If a page shows a cell that is not on record.
    """

    def made(found: re.Match[str]) -> str:
        start, kind, name, key, _, end = found.groups()
        path = records / name
        if kind in ("score", "mean"):
            return f"{start}{_CELLS[kind](_cell(path, key.split()))}{end}"
        if kind == "cost":
            return f"{start}\n\n{_markdown(cost_table(_all_records(records)))}\n\n{end}"
        others = [records / other for other in key.split()]
        return f"{start}\n\n{_table_text(path, kind, others)}\n\n{end}"

    return _BLOCK.sub(made, text)


def draw_pictures(records: Path = RECORDS, images: Path = ROOT / "docs" / "images") -> list[Path]:
    """Draw the picture of each figure on record, and return the files.

    Args:
        records: The folder of the records.
        images: The folder of the pictures.
    """
    drawn = []
    for path in sorted(records.glob("*.jsonl")):
        study, outcomes = read_record(path)
        if study.scope.has_picture:
            drawn.append(images / f"{path.stem}.png")
            study.draw(outcomes, drawn[-1])
    return drawn


def read_record(path: Path) -> tuple[Study, list[Outcome]]:
    """The study of a record, and its outcomes."""
    name, outcomes = from_lines(path.read_text(encoding="utf-8"), path.name)
    return find_study(name).load(), outcomes


def _table_text(path: Path, kind: str, others: Sequence[Path] = ()) -> str:
    for record in (path, *others):
        if not record.is_file():
            return (
                f"Not measured yet: `gaug reproduce {path.stem} --out docs/results/{record.name}`."
            )
    study, outcomes = read_record(path)
    table = study.full_table(outcomes)
    if kind == "beside":
        table = _beside(table, path)
    elif kind == "verdicts":
        table = verdicts_table(outcomes)
    elif kind == "selection":
        published = [outcome for other in others for outcome in read_record(other)[1]]
        table = selection_table(outcomes, published)
    text = _markdown(table)
    if kind == "table" and study.scope.has_picture:
        return f"![{study.title}](images/{path.stem}.png)\n\n{text}"
    return text


def _markdown(table: Table) -> str:
    """A table without its title: the page has one of its own."""
    return render(table, "markdown").split("\n", 2)[2].rstrip()


def _all_records(records: Path) -> dict[str, list[Outcome]]:
    return {path.stem: read_record(path)[1] for path in sorted(records.glob("*.jsonl"))}


def _beside(table: Table, path: Path) -> Table:
    for part in table.details:
        if part.title == "Beside the paper":
            return part
    raise DataError(f"{path.name} has no cell that the paper has, too.")


def _cell(path: Path, key: Sequence[str]) -> Outcome:
    if path.is_file():
        for outcome in read_record(path)[1]:
            if list(map(str, outcome.key)) == list(key) and outcome.runs:
                return outcome
    raise DataError(f"{path.name} has no runs of {' '.join(key)}. Run the cell, or leave it out.")


_CELLS: dict[str, Callable[[Outcome], str]] = {
    "score": lambda outcome: mean_and_spread(outcome.scores),
    "mean": lambda outcome: f"{sum(outcome.scores) / outcome.runs:.1f}",
}


def main() -> None:
    """Fill all pages, and draw all pictures."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            page.write_text(filled(text), encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: filled")
    for path in draw_pictures():
        print(f"{path.relative_to(ROOT)}: drawn")


if __name__ == "__main__":
    main()
