"""Table 3 as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.models.registry import MODELS
from gaug.runs.plan import mean_and_spread
from gaug.studies.table3 import VARIANTS, AblationResult

_TITLES = {
    "original": "original graph",
    "no-sampling": "no sampling",
    "rounding": "rounding",
    "no-edge-loss": "no edge loss",
    "random": "random edges",
    "full": "GAug-O",
}


def table3_markdown(results: Sequence[AblationResult], command: str) -> str:
    """The table: ours with its deviation, the paper's mean beside it."""
    models = list(dict.fromkeys(result.model for result in results))
    by_cell = {(result.variant, result.model): result for result in results}
    lines = [
        "# Table 3",
        "",
        "| | " + " | ".join(MODELS.title(model) for model in models) + " |",
        "| --- |" + " --- |" * len(models),
    ]
    for variant in VARIANTS:
        cells = [_cell(by_cell[variant, model]) for model in models]
        lines.append(f"| {_TITLES[variant]} | " + " | ".join(cells) + " |")
    runs = len(results[0].records)
    return "\n".join(
        [
            *lines,
            "",
            f"Cora, test micro-F1 in percent, mean and sample standard deviation over {runs}"
            f" run{'' if runs == 1 else 's'}; in brackets the paper's mean. Settings are those that"
            " the paper's authors published for GAug-O, chosen by test score.",
            f"Made by `{command}`.",
            "",
        ]
    )


def _cell(result: AblationResult) -> str:
    text = mean_and_spread(result.scores)
    return text if result.paper is None else f"{text} ({result.paper[0]:.1f})"
