"""Repeated runs of any model and any method on a graph, as one function."""

from __future__ import annotations

import dataclasses
import statistics
import warnings
from typing import Any

from gaug.data.config import SplitConfig
from gaug.methods.spec import MethodLike
from gaug.models.spec import Model
from gaug.runs.execute import execute
from gaug.runs.executors import OnProgress, local_executor
from gaug.runs.plan import GraphLike, Plan
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.runs.summary import mean_and_spread, spread, warnings_of
from gaug.training.config import TrainingConfig


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores of repeated runs, as micro-F1 in percent.

    Attributes:
        title: Method, model and split in words.
        records: One record per run, with scores, cost and settings.
    """

    title: str
    records: list[RunRecord]

    @property
    def scores(self) -> list[float]:
        """The test score of each run."""
        return [record.test_score for record in self.records if record.test_score is not None]

    @property
    def mean(self) -> float:
        """Mean of the test scores."""
        return statistics.fmean(self.scores)

    @property
    def spread(self) -> float:
        """Sample standard deviation of the test scores; 0 for a single run."""
        return spread(self.scores)

    @property
    def val_scores(self) -> list[float]:
        """The validation score of each run, by which settings are to be chosen."""
        return [record.val_score for record in self.records if record.val_score is not None]

    def __str__(self) -> str:
        runs = f"{len(self.records)} run{'s' if len(self.records) > 1 else ''}"
        lines = [f"{self.title}, {runs}", f"  test micro-F1        {mean_and_spread(self.scores)}"]
        if self.val_scores:
            lines.append(f"  validation micro-F1  {mean_and_spread(self.val_scores)}")
        return "\n".join(lines)


def evaluate(
    graph: GraphLike,
    model: Model | None = None,
    method: MethodLike = "none",
    *,
    runs: int = 10,
    training: TrainingConfig | None = None,
    split: str | None = None,
    split_config: SplitConfig | None = None,
    seed: int | None = None,
    workers: int = 1,
    threads: int = 1,
    device: str | None = None,
    store: Store | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Evaluation:
    """Train and test repeatedly on one split, from other random weights each time.

    All runs share the split and what a method learns of the graph before training. Run number i is
    the same whatever the number of runs and workers, and the same as that of ``gaug train``. What a
    user should know of a run, for instance that its loss broke off, is raised as a warning and
    stands in its record.

    Args:
        graph: A graph with features and labels: a `Data`, whose nodes with ``y`` of -1 are in no
            part, a graph that was opened before, or what `gaug.open_graph` takes.
        model: The classifier, as `gaug.methods.method.Method` takes it; by default the method's.
        method: A name, settings, or a method object; by default none.
        runs: Number of runs.
        training: Settings of the loop; by default the method's.
        split: ``stratified``, ``random``, ``per-class``, ``public`` (the masks of the graph) or a
            path to a file; by default the masks if the graph has all three, else ``stratified``.
        split_config: Fractions, counts and seed of a split that is drawn.
        seed: Seed that the seeds of all runs derive from; by default the method's.
        workers: Processes to spread the runs over; a user-defined model or predictor must then be
            in a module that they can import.
        threads: Threads of each run.
        device: Where to compute; by default where the graph is.
        store: Where to write records; None keeps them in memory only.
        resume: Whether to take over runs that the store has already.
        on_progress: Called now and then with the number of runs done.
        settings: Single settings by name, for instance ``epochs=100``.

    Examples:
        >>> from gaug import DropEdge, evaluate, load_graph
        >>> result = evaluate(load_graph("karate"), method=DropEdge(epochs=5), runs=2)
        >>> len(result.scores)
        2
    """
    plan = Plan.of(
        graph,
        model=model,
        method=method,
        settings=settings,
        training=training,
        split=split,
        split_config=split_config,
        seed=seed,
        threads=threads,
        device=device,
    )
    with local_executor(workers) as executor:
        records = execute(
            plan,
            runs=runs,
            executor=executor,
            store=store,
            resume=resume,
            on_progress=on_progress,
        )
    for warning in warnings_of(records):
        warnings.warn(warning, stacklevel=2)
    built = plan.method.build(model=plan.model, training=plan.training, seed=plan.seed)
    return Evaluation(f"{built!r}, {plan.model.name}, split {records[0].split}", records)
