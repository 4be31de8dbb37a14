"""Scores on validation nodes alone, and whether one is better than another beyond chance."""

from __future__ import annotations

import dataclasses
import math
import statistics
from dataclasses import dataclass

from gaug.errors import DataError
from gaug.methods.method import optimization
from gaug.models.spec import ModelSpec
from gaug.runs.executors import OnProgress, repeat
from gaug.runs.summary import mean_and_spread, spread
from gaug.seeding import run_seed
from gaug.training.config import TrainingConfig
from gaug.training.hooks import Augmentation
from gaug.training.loop import OnEpoch, train_run
from gaug.training.task import Task


@dataclass(frozen=True)
class ValidationScores:
    r"""Validation scores of repeated runs, as micro-F1 in percent.

    Two things make a score uncertain: another run has other random weights, and other validation
    nodes would have been answered otherwise. ``spread`` is the larger of the two: the sample
    standard deviation over the runs, and that of a share of n nodes,

    $$
    100 \sqrt{\frac{p (1 - p)}{n}}, \qquad p = \frac{n s / 100 + 1}{n + 2}
    $$

    for the mean score s; with p so a score of 100 on six nodes is not taken for certain. For
    several labels a node it is a rough measure.

    Attributes:
        values: The score of each run.
        num_nodes: Number of validation nodes.

    >>> plain, other = ValidationScores((80.0, 82.0), 100), ValidationScores((84.0, 84.0), 100)
    >>> round(plain.spread, 1), other.clearly_above(plain)
    (4.0, False)
    """

    values: tuple[float, ...]
    num_nodes: int

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return statistics.fmean(self.values)

    @property
    def spread_of_runs(self) -> float:
        """Sample standard deviation over the runs."""
        return spread(self.values)

    @property
    def spread_of_nodes(self) -> float:
        """Standard deviation of the mean score on as many other nodes."""
        share = (self.num_nodes * self.mean / 100 + 1) / (self.num_nodes + 2)
        return 100 * math.sqrt(share * (1 - share) / self.num_nodes)

    @property
    def spread(self) -> float:
        """How far the mean may be off by chance, in points."""
        return max(self.spread_of_runs, self.spread_of_nodes)

    def gain_over(self, other: ValidationScores) -> float:
        """By how many points the mean is above that of another."""
        return self.mean - other.mean

    def chance_beside(self, other: ValidationScores) -> float:
        """The larger spread of the two: no smaller difference between them says anything."""
        return max(self.spread, other.spread)

    def chance_in_words(self, other: ValidationScores) -> str:
        """That spread and where it comes from."""
        wider = max(self, other, key=lambda scores: scores.spread)
        if wider.spread_of_runs > wider.spread_of_nodes:
            return f"the {wider.spread:.1f} points by which runs differ"
        return f"the {wider.spread:.1f} points that {wider.num_nodes:,} nodes leave to chance"

    def clearly_above(self, other: ValidationScores) -> bool:
        """Whether the gain over another is larger than the spread of either."""
        return self.gain_over(other) > self.chance_beside(other)

    def __str__(self) -> str:
        return mean_and_spread(self.values)


def without_test(task: Task) -> Task:
    """The task without its test nodes; their labels are gone, so that nothing can look at them."""
    labels = task.labels.clone()
    labels[task.test] = 0 if task.multilabel else -1
    return dataclasses.replace(task, labels=labels, test=task.test[:0])


def validate_repeatedly(
    task: Task,
    choice: ModelSpec,
    method: Augmentation,
    training: TrainingConfig,
    *,
    runs: int,
    seed: int = 0,
    threads: int = 1,
    on_progress: OnProgress | None = None,
) -> ValidationScores:
    """Train repeatedly and score on the validation nodes; test nodes have no part in it.

    The runs are those of `gaug.runs.execute.run_repeatedly` with the same seed.

    Args:
        task: The graph with its split, laid out, on its device.
        choice: The model.
        method: The method, not prepared yet.
        training: Settings of the loop.
        runs: Number of runs.
        seed: Seed that the seeds of all runs derive from.
        threads: Threads of each run.
        on_progress: Called now and then with the number of runs done.
    """
    if task.val.numel() == 0:
        raise DataError("Methods are compared on validation nodes, and this graph has none.")
    hidden = without_test(task)
    prepared = method.prepare(hidden.visible(all_labels=method.looks_at_labels), seed)
    job = _Job(hidden, choice, prepared, training, seed)
    results = repeat(job, range(runs), workers=1, threads=threads, on_progress=on_progress)
    return ValidationScores(tuple(score for _, score in results), task.val.numel())


@dataclass(frozen=True)
class _Job:
    """One run, of which only the validation score is asked for."""

    task: Task
    choice: ModelSpec
    method: Augmentation
    training: TrainingConfig
    seed: int

    @property
    def epochs(self) -> int:
        return self.method.max_epochs(self.training.epochs)

    def __call__(self, run: int, on_epoch: OnEpoch) -> float:
        result = train_run(
            self.task,
            lambda: self.choice.build(self.task.in_features, self.task.num_classes),
            self.method,
            optimization(self.choice),
            self.training,
            run_seed(self.seed, run),
            on_epoch=on_epoch,
        )
        assert result.val_score is not None, "there are validation nodes"
        return result.val_score
