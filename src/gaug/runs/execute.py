"""Repeated runs of one model and one method on one graph, each on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaug.errors import ConfigError
from gaug.methods.method import optimization
from gaug.models.spec import ModelSpec
from gaug.provenance import checkout_commit, software_versions
from gaug.runs.cost import measured
from gaug.runs.executors import OnProgress, repeat
from gaug.runs.store import RunKey, RunRecord, Store
from gaug.seeding import run_seed
from gaug.training.config import TrainingConfig
from gaug.training.hooks import Augmentation
from gaug.training.loop import OnEpoch, apply_model, train_run
from gaug.training.task import Task

#: How epoch and hyper-parameters are chosen: on validation nodes, never on test nodes.
PROTOCOL = "validation"


@dataclass(frozen=True)
class Outcome:
    """What one run came to and what it cost: the part of a record that is measured."""

    val_score: float | None
    test_score: float
    best_epoch: int
    epochs: int
    seconds: float
    peak_memory_mb: float
    history: list[dict[str, float]] | None
    warning: str | None


@dataclass(frozen=True)
class Subject:
    """What is trained repeatedly, and how it goes on record.

    Attributes:
        graph: What the graph is called in records.
        graph_hash: Fingerprint of the graph.
        split: What the split is called in records.
        split_hash: Fingerprint of the split.
        task: The graph with its split, laid out, on its device.
        model: The model.
        method: The method, not prepared yet.
        training: Settings of the loop.
        config: All settings as plain values.
        seed: Seed that the seeds of all runs derive from.
        threads: Threads of each run.
    """

    graph: str
    graph_hash: str
    split: str
    split_hash: str
    task: Task
    model: ModelSpec
    method: Augmentation
    training: TrainingConfig
    config: dict[str, Any]
    seed: int
    threads: int


@dataclass(frozen=True)
class _TrainingJob:
    """One run of an experiment, with everything that all runs share."""

    task: Task
    method: Augmentation
    model: ModelSpec
    training: TrainingConfig
    seed: int
    keep_history: bool

    @property
    def epochs(self) -> int:
        return self.method.max_epochs(self.training.epochs)

    def build(self) -> Any:
        return self.model.build(self.task.in_features, self.task.num_classes)

    def __call__(self, run: int, on_epoch: OnEpoch) -> Outcome:
        with measured() as cost:
            result = train_run(
                self.task,
                self.build,
                self.method,
                optimization(self.model),
                self.training,
                run_seed(self.seed, run),
                keep_history=self.keep_history,
                on_epoch=on_epoch,
            )
        return Outcome(
            val_score=result.val_score,
            test_score=result.test_score,
            best_epoch=result.best_epoch,
            epochs=result.epochs,
            seconds=cost.seconds,
            peak_memory_mb=cost.peak_memory_mb,
            history=result.history if self.keep_history else None,
            warning=result.warning,
        )


def run_repeatedly(
    subject: Subject,
    *,
    runs: int,
    workers: int = 1,
    store: Store | None = None,
    resume: bool = False,
    keep_history: bool = False,
    on_progress: OnProgress | None = None,
    records: list[RunRecord] | None = None,
) -> list[RunRecord]:
    """Train and evaluate repeatedly; each finished run is written to the store at once.

    Args:
        subject: What to run.
        runs: Number of runs; run number i is the same whatever the number of runs and workers.
        workers: Processes to spread the runs over.
        store: Where to write records; None keeps them in memory only.
        resume: Whether to take over runs that the store has already.
        keep_history: Whether to keep a row an epoch in the records.
        on_progress: Called now and then with the number of runs done.
        records: A list to fill, for a caller that wants the finished runs after an interruption.

    Returns:
        The records in the order of their run numbers.
    """
    check_counts(runs, workers)
    records = [] if records is None else records
    keys = [_key(subject, run) for run in range(runs)]
    known = store.find([key.identity for key in keys]) if store is not None and resume else {}
    if keep_history:
        known = {name: record for name, record in known.items() if record.history is not None}
    records += [known[key.identity] for key in keys if key.identity in known]
    missing = [key.run for key in keys if key.identity not in known]
    if on_progress is not None:
        on_progress(len(records))
    if not missing:
        return sorted(records, key=lambda record: record.run)
    task = subject.task
    method = subject.method.prepare(
        task.visible(all_labels=subject.method.looks_at_labels), subject.seed
    )
    job = _TrainingJob(task, method, subject.model, subject.training, subject.seed, keep_history)
    if workers > 1:
        apply_model(job.build(), task.features, task.adjacency)  # so that workers share its layout
    offset = len(records)

    def report(done: float) -> None:
        if on_progress is not None:
            on_progress(offset + done)

    results = repeat(job, missing, workers=workers, threads=subject.threads, on_progress=report)
    for run, outcome in results:
        record = _record(subject, keys[run], outcome)
        if store is not None:
            store.add(record)
        records.append(record)
    return sorted(records, key=lambda record: record.run)


def check_counts(runs: int, workers: int) -> None:
    """Raise unless there is at least one run and one worker."""
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, got {runs}.")
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}.")


def _key(subject: Subject, run: int) -> RunKey:
    return RunKey(
        graph_hash=subject.graph_hash,
        split_hash=subject.split_hash,
        model=subject.model.name,
        method=subject.method.config.name,
        protocol=PROTOCOL,
        config=subject.config,
        seed=subject.seed,
        run=run,
        gaug_version=software_versions()["gaug"],
    )


def _record(subject: Subject, key: RunKey, outcome: Outcome) -> RunRecord:
    return RunRecord(
        identity=key.identity,
        graph=subject.graph,
        graph_hash=key.graph_hash,
        split=subject.split,
        split_hash=key.split_hash,
        model=key.model,
        method=key.method,
        protocol=key.protocol,
        config=key.config,
        seed=key.seed,
        run=key.run,
        versions=software_versions(),
        commit=checkout_commit(),
        **outcome.__dict__,
    )
