"""The one wiring point: from the description of an experiment to run records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch

from gaug.config import Config, apply_settings
from gaug.data.config import DataConfig, SplitConfig
from gaug.data.loaded import LoadedGraph
from gaug.data.opening import open_graph, split_graph
from gaug.data.source import GraphSource
from gaug.edge_predictors import PREDICTOR_CONFIGS, PredictorConfig
from gaug.errors import ConfigError, reason_of
from gaug.graph.fingerprint import graph_hash
from gaug.methods import METHOD_CONFIGS, build_method, method_config, part_configs
from gaug.models import MODEL_CONFIGS, model_config
from gaug.models.base import ModelConfig
from gaug.models.spec import ModelChoice
from gaug.runs.execute import PROTOCOL, Subject, check_counts, run_repeatedly
from gaug.runs.executors import OnProgress
from gaug.runs.store import RunRecord, Store
from gaug.runs.summary import mean_and_spread, spread, summarize
from gaug.training.hooks import MethodConfig
from gaug.training.loop import (
    TrainingConfig,
)
from gaug.training.task import Task

__all__ = [
    "Experiment",
    "check_device",
    "mean_and_spread",
    "run_experiment",
    "spread",
    "summarize",
]


@dataclass(frozen=True)
class Experiment:
    """Everything that decides what a run computes, but its number.

    Attributes:
        graph: Name in the catalog, a path to the user's own, or a `GraphSource`.
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

    graph: str | Path | GraphSource
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

    protocol = PROTOCOL

    @classmethod
    def of(
        cls,
        graph: str | Path | GraphSource,
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
            graph: Name in the catalog, a path to the user's own, or a `GraphSource`.
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
    loaded: LoadedGraph | None = None,
) -> list[RunRecord]:
    """Train and evaluate repeatedly; each finished run is written to the store at once.

    The graph is loaded, laid out and normalized once, and the method prepared once, for all runs.

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
        loaded: The experiment's graph, for a caller that has opened it already.

    Returns:
        The records in the order of their run numbers.
    """
    check_counts(runs, workers)
    if store is not None:
        store.check_writable()
    if loaded is None:
        loaded = open_graph(experiment.graph, root, experiment.data.feature_scaling)
    data = loaded.data
    split = split_graph(loaded, experiment.split, experiment.split_config)
    task = Task.of(split.apply(data)).to(experiment.device)
    labels = task.labels.cpu() if "omniscient" in experiment.parts else None
    config = experiment.config
    config["split"]["train_fraction"] = (
        experiment.split_config.train_fraction or loaded.default_train_fraction
    )
    subject = Subject(
        graph=loaded.name,
        graph_hash=graph_hash(data),
        split=split.name,
        split_hash=split.hash,
        task=task,
        model=ModelChoice.of(experiment.model),
        method=build_method(
            experiment.method, experiment.parts, labels=labels, model=experiment.model
        ),
        training=experiment.training,
        config=config,
        seed=experiment.seed,
        threads=experiment.threads,
    )
    return run_repeatedly(
        subject,
        runs=runs,
        workers=workers,
        store=store,
        resume=resume,
        keep_history=keep_history,
        on_progress=on_progress,
        records=records,
    )


def check_device(device: str) -> None:
    """Raise if there is no such device here."""
    if device.partition(":")[0] not in ("cpu", "cuda", "mps", "xpu"):
        raise ConfigError(f"There is no device {device!r} here: it must be cpu, cuda, mps or xpu.")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"There is no device {device!r} here: {reason_of(error)}") from error
