"""Repeated runs on a graph of a user's, with any model and any method."""

from __future__ import annotations

import copy
import dataclasses
import statistics
import warnings
from typing import Any

from torch_geometric.data import Data

from gaug.classifier.base import valid_for
from gaug.data.config import PARTS, SplitConfig
from gaug.data.splits import make_split
from gaug.errors import ConfigError
from gaug.graph.fingerprint import graph_hash
from gaug.methods import NoAugmentation
from gaug.methods.gaug_m.method import GAugM
from gaug.methods.method import Method, check_model
from gaug.models.spec import Model, ModelChoice
from gaug.runs.execute import Subject, run_repeatedly
from gaug.runs.executors import OnProgress
from gaug.runs.store import RunRecord, Store
from gaug.runs.summary import mean_and_spread, spread, warnings_of
from gaug.training.task import Task


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores of repeated runs, as micro-F1 in percent.

    Attributes:
        title: Method, model and split in words.
        records: One record a run, with scores, cost and settings.
    """

    title: str
    records: list[RunRecord]

    @property
    def scores(self) -> list[float]:
        """The test score of each run."""
        return [record.test_score for record in self.records]

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
    data: Data,
    model: Model | None = None,
    method: Method[Any] | None = None,
    *,
    runs: int = 10,
    split: str | None = None,
    split_config: SplitConfig | None = None,
    seed: int | None = None,
    workers: int = 1,
    threads: int = 1,
    store: Store | None = None,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Train and test repeatedly on one split, from other random weights each time.

    All runs share the split and what a method learns of the graph before training. Run number i is
    the same whatever the number of runs and workers. What a user should know of a run, that its
    loss broke off for instance, is raised as a warning and stands in its record.

    Args:
        data: A graph with features and labels; nodes whose ``y`` is -1 are in no part.
        model: The classifier, as `gaug.methods.method.Method` takes it; by default the method's.
        method: The method; by default none.
        runs: Number of runs.
        split: ``stratified``, ``random``, ``per-class``, ``public`` (the masks of the graph) or a
            path to an ``.npz`` file; by default the masks if the graph has all three, else
            ``stratified``.
        split_config: Fractions, counts and seed of a split that is drawn.
        seed: Seed that the seeds of all runs derive from; by default the method's.
        workers: Processes to spread the runs over; a model or predictor of your own must then be
            in a module that they can import.
        threads: Threads of each run.
        store: Where to write records; None keeps them in memory only.
        on_progress: Called now and then with the number of runs done.

    Examples:
        >>> from gaug import DropEdge, evaluate, load_graph
        >>> result = evaluate(load_graph("karate"), method=DropEdge(epochs=5), runs=2)
        >>> len(result.scores)
        2
    """
    if method is not None and not isinstance(method, Method):
        raise ConfigError(
            "method must be a method with its settings, such as GAugO(alpha=0.3), got"
            f" {method!r:.80}."
        )
    method = copy.copy(method or NoAugmentation())
    choice = method.choice if model is None else ModelChoice.of(model)
    method.choice = choice
    seed = method.seed if seed is None else seed
    valid, notes = valid_for(data, choice)
    device = str(data.edge_index.device)
    if notes:
        warnings.warn(" ".join(notes), stacklevel=2)
    has_masks = all(valid.get(f"{part}_mask") is not None for part in PARTS)
    kind = split or ("public" if has_masks else "stratified")
    split_config = split_config or SplitConfig()
    chosen = make_split(valid, kind, split_config)
    task = Task.of(chosen.apply(valid)).to(device)
    check_model(choice, task)
    config: dict[str, Any] = {
        "model": choice.config.to_dict(),
        "method": method.config.to_dict(),
        "training": method.training.to_dict(),
        "split": split_config.to_dict(),
        "threads": threads,
        "device": device,
    }
    if isinstance(method, GAugM):
        parts = method.predictor_settings.items()
        config["predictors"] = {name: part.to_dict() for name, part in parts}
    subject = Subject(
        graph="a graph in memory",
        graph_hash=graph_hash(valid),
        split=chosen.name,
        split_hash=chosen.hash,
        task=task,
        model=choice,
        method=method,
        training=method.training,
        config=config,
        seed=seed,
        threads=threads,
    )
    if store is not None:
        store.check_writable()
    records = run_repeatedly(
        subject, runs=runs, workers=workers, store=store, on_progress=on_progress
    )
    for warning in warnings_of(records):
        warnings.warn(warning, stacklevel=2)
    title = f"{method!r}, {choice.name}, split {chosen.name}"
    return Evaluation(title, records)
