"""The paper's table 3: GAug-O on Cora with a part left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gaug.experiment import Experiment, run_experiment
from gaug.store import RunRecord, Store
from gaug.studies.paper import TABLE3_MODELS, Score, table3_score
from gaug.studies.published import published_settings
from gaug.studies.table2 import table2_split

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
    store: Store,
    *,
    runs: int,
    workers: int,
    root: Path | None,
    seed: int,
    on_progress: Callable[[float], None] | None = None,
) -> list[AblationResult]:
    """Every variant with every model, with the authors' settings for the full method.

    Args:
        models: Which models.
        store: Where runs are looked up and written.
        runs: Runs a cell.
        workers: Processes to spread the runs over.
        root: The data root.
        seed: Seed that the seeds of all runs derive from.
        on_progress: Called with the number of runs done, of
            ``len(models) * len(VARIANTS) * runs``.
    """
    split = table2_split(GRAPH, root)
    results: list[AblationResult] = []

    def tell(done: float) -> None:
        if on_progress is not None:
            on_progress(len(results) * runs + done)

    for model in models:
        for variant in VARIANTS:
            plain = variant == "original"
            method = "none" if plain else "gaug-o"
            settings = published_settings(GRAPH, model, method)
            experiment = Experiment.of(
                GRAPH,
                model=model,
                method=method,
                settings=settings if plain else settings | {"variant": variant},
                split=split,
                seed=seed,
            )
            records = run_experiment(
                experiment,
                runs=runs,
                workers=workers,
                root=root,
                store=store,
                resume=True,
                on_progress=tell,
            )
            results.append(AblationResult(variant, model, records))
    return results
