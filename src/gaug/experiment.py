"""The one wiring point: from the description of an experiment to run records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch

from gaug.augment import METHOD_CONFIGS, build_method, method_config, part_configs
from gaug.config import Config, apply_settings
from gaug.data.catalog import find_entry, load_graph
from gaug.data.features import DataConfig
from gaug.data.splits import SplitConfig, make_split
from gaug.edge_predictors import PREDICTOR_CONFIGS, PredictorConfig
from gaug.errors import ConfigError
from gaug.graph import graph_hash
from gaug.measure import measured
from gaug.models import MODEL_CONFIGS, build_model, model_config
from gaug.models.base import ModelConfig
from gaug.provenance import checkout_commit, software_versions
from gaug.store import RunKey, RunRecord, Store
from gaug.training.hooks import Augmentation, MethodConfig
from gaug.training.loop import (
    OnEpoch,
    Optimisation,
    TrainingConfig,
    apply_model,
    train_run,
)
from gaug.training.repeat import OnProgress, repeat, run_seed
from gaug.training.task import Task


@dataclass(frozen=True)
class Experiment:
    """Everything that decides what a run computes, but its number.

    Attributes:
        graph: Name in the catalog.
        model: Settings of the model, which also say which one.
        method: Settings of the method, which also say which one.
        parts: Settings of the method's edge predictors, by name.
        training: Settings of the loop.
        data: Settings of the graph.
        split: Kind of split or a path, or None for the graph's own default.
        split_config: Settings of the split.
        seed: Seed that the seeds of all runs derive from.
        threads: Threads of each run.
        device: Where to compute.
    """

    graph: str
    model: ModelConfig
    method: MethodConfig
    parts: dict[str, PredictorConfig] = field(default_factory=dict)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    data: DataConfig = field(default_factory=DataConfig)
    split: str | None = None
    split_config: SplitConfig = field(default_factory=SplitConfig)
    seed: int = 0
    threads: int = 1
    device: str = "cpu"

    #: How epoch and hyper-parameters are chosen: on validation nodes, never on test nodes.
    protocol = "validation"

    @classmethod
    def of(
        cls,
        graph: str,
        *,
        model: str = "gcn",
        method: str = "none",
        settings: Sequence[str] | Mapping[str, Any] = (),
        split: str | None = None,
        seed: int = 0,
        threads: int = 1,
        device: str = "cpu",
    ) -> Experiment:
        """An experiment from names and settings.

        Args:
            graph: Name in the catalog.
            model: Name of the model.
            method: Name of the method.
            settings: Any settings, as ``["epochs=50", …]`` or ``{"epochs": 50, …}``.
            split: Kind of split or a path, or None for the graph's own default.
            seed: Seed that the seeds of all runs derive from.
            threads: Threads of each run.
            device: Where to compute.
        """
        if isinstance(settings, Mapping):
            settings = [f"{name}={value}" for name, value in settings.items()]
        if seed < 0:
            raise ConfigError(f"seed must be at least 0, got {seed}.")
        if threads < 1:
            raise ConfigError(f"threads must be at least 1, got {threads}.")
        check_device(device)
        base = method_config(method)
        # Which predictors a method has depends on a setting of its own, so that comes first.
        own = [text for text in settings if text.partition("=")[0].strip() == "predictor"]
        chosen = apply_settings({"method": base}, own if hasattr(base, "predictor") else [])
        parts = part_configs(cast("MethodConfig", chosen["method"]))
        groups: dict[str, Config] = {
            "model": model_config(model),
            "method": base,
            "training": TrainingConfig(),
            "data": DataConfig(),
            "split_config": SplitConfig(),
            **parts,
        }
        elsewhere: dict[str, type[Config]] = {
            **{f"--model {name}": config for name, config in MODEL_CONFIGS.items()},
            **{f"--method {name}": config for name, config in METHOD_CONFIGS.items()},
            **{f"predictor={name}": config for name, config in PREDICTOR_CONFIGS.items()},
        }
        changed: dict[str, Any] = dict(apply_settings(groups, settings, elsewhere))
        changed["parts"] = {name: changed.pop(name) for name in parts}
        return cls(graph, split=split, seed=seed, threads=threads, device=device, **changed)

    @property
    def config(self) -> dict[str, Any]:
        """All settings as plain values."""
        return {
            "model": self.model.to_dict(),
            "method": self.method.to_dict(),
            **({"predictors": self._part_settings} if self.parts else {}),
            "training": self.training.to_dict(),
            "data": self.data.to_dict(),
            "split": self.split_config.to_dict(),
            "threads": self.threads,
            "device": self.device,
        }

    @property
    def _part_settings(self) -> dict[str, Any]:
        return {name: config.to_dict() for name, config in self.parts.items()}


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
class _TrainingJob:
    """One run of an experiment, with everything that all runs share."""

    task: Task
    method: Augmentation
    model: ModelConfig
    training: TrainingConfig
    seed: int
    keep_history: bool

    @property
    def epochs(self) -> int:
        return self.method.max_epochs(self.training.epochs)

    def build(self) -> Any:
        return build_model(self.model, self.task.in_features, self.task.num_classes)

    def __call__(self, run: int, on_epoch: OnEpoch) -> Outcome:
        with measured() as cost:
            result = train_run(
                self.task,
                self.build,
                self.method,
                Optimisation(self.model.learning_rate, self.model.weight_decay),
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


def run_experiment(
    experiment: Experiment,
    *,
    runs: int,
    workers: int = 1,
    root: Path | None = None,
    store: Store | None = None,
    resume: bool = False,
    keep_history: bool = False,
    on_progress: OnProgress | None = None,
    records: list[RunRecord] | None = None,
) -> list[RunRecord]:
    """Train and evaluate repeatedly; each finished run is written to the store at once.

    The graph is loaded, laid out and normalised once, and the method prepared once, for all runs.

    Args:
        experiment: What to run.
        runs: Number of runs; run number i is the same whatever the number of runs and workers.
        workers: Processes to spread the runs over.
        root: The data root.
        store: Where to write records; None keeps them in memory only.
        resume: Whether to take over runs that the store has already.
        keep_history: Whether to keep a row an epoch in the records.
        on_progress: Called now and then with the number of runs done.
        records: A list to fill, for a caller that wants the finished runs after an interruption.

    Returns:
        The records in the order of their run numbers.
    """
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, got {runs}.")
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}.")
    records = [] if records is None else records
    if store is not None:
        store.check_writable()
    data = load_graph(experiment.graph, root, experiment.data.feature_scaling)
    kind = experiment.split or find_entry(experiment.graph).split
    split = make_split(data, kind, experiment.split_config)
    task = Task.of(split.apply(data)).to(experiment.device)
    keys = [_key(experiment, graph_hash(data), split.hash, run) for run in range(runs)]
    known = store.find([key.identity for key in keys]) if store is not None and resume else {}
    if keep_history:
        known = {name: record for name, record in known.items() if record.history is not None}
    records += [known[key.identity] for key in keys if key.identity in known]
    missing = [key.run for key in keys if key.identity not in known]
    if on_progress is not None:
        on_progress(len(records))
    if not missing:
        return sorted(records, key=lambda record: record.run)
    labels = task.labels.cpu() if "omniscient" in experiment.parts else None
    method = build_method(experiment.method, experiment.parts, labels=labels)
    method = method.prepare(task.visible(), experiment.seed)
    job = _TrainingJob(
        task, method, experiment.model, experiment.training, experiment.seed, keep_history
    )
    if workers > 1:
        apply_model(job.build(), task.features, task.adjacency)  # so that workers share its layout
    offset = len(records)

    def report(done: float) -> None:
        if on_progress is not None:
            on_progress(offset + done)

    results = repeat(job, missing, workers=workers, threads=experiment.threads, on_progress=report)
    for run, outcome in results:
        record = _record(experiment, keys[run], split.name, outcome)
        if store is not None:
            store.add(record)
        records.append(record)
    return sorted(records, key=lambda record: record.run)


def check_device(device: str) -> None:
    """Raise if there is no such device here."""
    if device.partition(":")[0] not in ("cpu", "cuda", "mps", "xpu"):
        raise ConfigError(f"There is no device {device!r} here: it must be cpu, cuda, mps or xpu.")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"There is no device {device!r} here: {reason}") from error


def summarise(records: Sequence[RunRecord]) -> dict[str, Any]:
    """Means and sample standard deviations over runs of one experiment, ready for JSON."""
    if not records:
        raise ValueError("There are no records to summarise.")
    first = records[0]
    vals = [record.val_score for record in records if record.val_score is not None]
    tests = [record.test_score for record in records]
    return {
        "graph": first.graph,
        "model": first.model,
        "method": first.method,
        "config": first.config,
        "split": {"name": first.split, "hash": first.split_hash},
        "protocol": first.protocol,
        "runs": len(records),
        "test_mean": statistics.fmean(tests),
        "test_std": spread(tests),
        "val_mean": statistics.fmean(vals) if vals else None,
        "val_std": spread(vals) if vals else None,
        "seconds_per_run": statistics.fmean(record.seconds for record in records),
        "peak_memory_mb": max(record.peak_memory_mb for record in records),
        "record_ids": [record.id for record in records],
    }


def spread(values: Sequence[float]) -> float:
    """Sample standard deviation; 0 for a single value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def mean_and_spread(scores: Sequence[float]) -> str:
    """For instance ``92.4 ± 1.3``; of a single score, the score alone."""
    mean = f"{statistics.fmean(scores):.1f}"
    return mean if len(scores) == 1 else f"{mean} ± {spread(scores):.1f}"


def _key(experiment: Experiment, graph: str, split: str, run: int) -> RunKey:
    return RunKey(
        graph_hash=graph,
        split_hash=split,
        model=experiment.model.name,
        method=experiment.method.name,
        protocol=experiment.protocol,
        config=experiment.config,
        seed=experiment.seed,
        run=run,
        gaug_version=software_versions()["gaug"],
    )


def _record(experiment: Experiment, key: RunKey, split: str, outcome: Outcome) -> RunRecord:
    return RunRecord(
        identity=key.identity,
        graph=experiment.graph,
        graph_hash=key.graph_hash,
        split=split,
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
