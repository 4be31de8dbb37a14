"""Evaluate any model and any method on a graph, over repeated runs."""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any

from gaug.data.config import SplitConfig
from gaug.methods.spec import MethodLike
from gaug.models.spec import Model
from gaug.runs.execute import execute
from gaug.runs.executor import OnProgress
from gaug.runs.executors import choose_executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import GraphLike, Plan
from gaug.runs.record import RunRecord
from gaug.runs.run_job import lack_of_memory_told
from gaug.runs.store import Store
from gaug.runs.summary import mean_and_spread, spread, warnings_of
from gaug.telling import warn
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
        """The validation score of each run, for choosing settings."""
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
    workers: int | None = None,
    cluster: str | None = None,
    threads: int = 1,
    device: str | None = None,
    store: Store | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Evaluation:
    """Train and test repeatedly on one split, from different random weights each time.

    All runs share the split and what a method learns about the graph before training. Run i is the
    same for any number of runs and workers, and the same as in ``gaug train``. Problems of a run,
    for example a broken loss, are raised as warnings and recorded. What ``batch_size=auto`` comes
    to is a warning, too, before the first run.

    Args:
        graph: A graph with features and labels: a `Data`, where nodes with ``y = -1`` are not in
            the split, an opened graph, or anything that `gaug.open_graph` takes.
        model: The classifier, as in `gaug.methods.method.Method`; by default the method's.
        method: A name, settings, or a method object; by default none.
        runs: Number of runs.
        training: Settings of training; by default the method's.
        split: ``stratified``, ``random``, ``per-class``, ``public`` (the masks of the graph) or a
            path to a file; by default the masks if the graph has all three, else ``stratified``.
        split_config: Fractions, counts and seed of a drawn split.
        seed: Seed from which the seeds of all runs are derived; by default the method's.
        workers: Number of worker processes at most, one by default; fewer are used if memory is
            short, see `gaug.set_max_memory`. With several, a user-defined model or predictor must
            be in a module that they can import. On a cluster, runs at a time; by default as many
            as it has room for.
        cluster: Address of a Ray cluster to run on: ``auto``, ``host:port`` or
            ``ray://host:port``.
        threads: Threads per run.
        device: Where to compute; by default where the graph is.
        store: Where to write records; None keeps them in memory only.
        resume: Whether to reuse recorded runs.
        on_progress: Called regularly with the number of finished runs.
        settings: Individual settings by name, for example ``epochs=100``.

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
    graphs = Graphs()
    with lack_of_memory_told():
        note = graphs.place(plan).note
    if note is not None:
        warn(note)
    with choose_executor(workers, cluster, plans=[plan], graphs=graphs) as executor:
        records = execute(
            plan,
            runs=runs,
            executor=executor,
            store=store,
            graphs=graphs,
            resume=resume,
            on_progress=on_progress,
        )
    for warning in warnings_of(records):
        warn(warning)
    built = plan.method.build(model=plan.model, training=plan.training, seed=plan.seed)
    return Evaluation(f"{built!r}, {plan.model.name}, split {records[0].split}", records)
