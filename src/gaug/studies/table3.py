"""The paper's table 3: GAug-O on Cora with a part left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gaug.runs.executors import OnProgress
from gaug.runs.store import RunRecord
from gaug.studies.conditions import Conditions
from gaug.studies.paper import TABLE3_MODELS, Score, table3_score
from gaug.studies.published import published_settings

GRAPH = "cora"
MODELS = TABLE3_MODELS

#: The original graph, GAug-O with each of its parts left out, a control, and GAug-O.
VARIANTS = ("original", "no-sampling", "rounding", "no-edge-loss", "random", "full")


@dataclass(frozen=True)
class AblationResult:
    """A cell of the table with its runs."""

    variant: str
    model: str
    records: list[RunRecord]

    @property
    def scores(self) -> list[float]:
        """Test micro-F1 in percent, a run each."""
        return [record.test_score for record in self.records]

    @property
    def paper(self) -> Score | None:
        """The paper's mean and deviation; it has no random control."""
        return table3_score(self.variant, self.model)


def run_table3(
    models: Sequence[str],
    conditions: Conditions,
    on_progress: OnProgress | None = None,
) -> list[AblationResult]:
    """Every variant with every model, with the authors' settings for the full method.

    Args:
        models: Which models.
        conditions: How runs are done.
        on_progress: Called with the number of runs done, of
            ``len(models) * len(VARIANTS) * conditions.runs``.
    """
    results: list[AblationResult] = []

    def tell(done: float) -> None:
        if on_progress is not None:
            on_progress(len(results) * conditions.runs + done)

    for model in models:
        for variant in VARIANTS:
            method = "none" if variant == "original" else "gaug-o"
            settings = published_settings(GRAPH, model, method)
            if method == "gaug-o":
                settings["variant"] = variant
            records = conditions.run(GRAPH, model, method, settings, on_progress=tell)
            results.append(AblationResult(variant, model, records))
    return results
