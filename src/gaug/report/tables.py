"""Results as Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone

from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.runs.plan import mean_and_spread
from gaug.studies.table2 import CellResult


def table2_markdown(results: Sequence[CellResult], command: str) -> str:
    """Table 2 as far as it was run: ours with its deviation, the paper's mean beside it."""
    graphs = list(dict.fromkeys(result.cell.graph for result in results))
    rows = list(dict.fromkeys((result.cell.model, result.cell.method) for result in results))
    by_cell = {(r.cell.model, r.cell.method, r.cell.graph): r for r in results}
    lines = [
        "# Table 2",
        "",
        "| model | method | " + " | ".join(graphs) + " |",
        "| --- | --- |" + " --- |" * len(graphs),
    ]
    for model, method in rows:
        cells = [by_cell.get((model, method, graph)) for graph in graphs]
        texts = [MODELS.title(model), METHODS.title(method)]
        texts += ["–" if cell is None else _cell(cell) for cell in cells]
        lines.append("| " + " | ".join(texts) + " |")
    return "\n".join([*lines, "", _provenance(results, command), *_choices(results), ""])


def _cell(result: CellResult) -> str:
    text = mean_and_spread([record.test_score for record in result.records])
    paper = result.cell.paper
    return text if paper is None else f"{text} ({paper[0]:.1f})"


def _choices(results: Sequence[CellResult]) -> list[str]:
    """Which settings each cell has, where they are not the defaults."""
    chosen = [result for result in results if result.settings]
    if not chosen:
        return []
    lines = [
        "",
        "## Settings",
        "",
        "Chosen by the mean validation score of a few runs each, or published by the paper's"
        " authors, who chose them by test score. The last column has the validation score over all"
        " runs.",
        "",
        "| graph | model | method | settings | chosen | validation |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for result in chosen:
        cell = result.cell
        settings = " ".join(f"{name}={value}" for name, value in result.settings.items())
        source = f"of {len(result.choice.trials)}" if result.choice else "published"
        vals = [record.val_score for record in result.records if record.val_score is not None]
        lines.append(
            f"| {cell.graph} | {MODELS.title(cell.model)}"
            f" | {METHODS.title(cell.method)} | `{settings}`"
            f" | {source} | {mean_and_spread(vals)} |"
        )
    return lines


def _provenance(results: Sequence[CellResult], command: str) -> str:
    records = [record for result in results for record in result.records]
    counts = sorted({len(result.records) for result in results})
    newest = max(record.created.replace(tzinfo=timezone.utc) for record in records)
    versions = records[-1].versions
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        "Test micro-F1 in percent, mean and sample standard deviation over"
        f" {' or '.join(map(str, counts))} run{'' if counts == [1] else 's'}; in brackets the"
        " paper's mean. Epochs were chosen"
        f" on validation nodes.\nMade by `{command}` on {newest:%Y-%m-%d} with {software}."
    )
