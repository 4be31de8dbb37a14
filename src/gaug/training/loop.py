"""The one training loop: every model and every method goes through `train_run`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor, nn

from gaug.errors import ConfigError, TrainingError
from gaug.models.base import GNN
from gaug.models.config import ModelConfig, ModuleConfig
from gaug.seeding import seeded
from gaug.training.calibration import calibrated_probabilities
from gaug.training.checkpoint import Checkpoint, StartOverError
from gaug.training.config import TrainingConfig
from gaug.training.hooks import Augmentation, AugmentedRun, RoundResult, best_round
from gaug.training.metrics import micro_f1, predicted_labels
from gaug.training.progress import OnEpoch
from gaug.training.task import Task
from gaug.training.trainer import Trainer

T = TypeVar("T")


@dataclass(frozen=True)
class RunResult:
    """What one run came to.

    Attributes:
        val_score: Micro-F1 in percent on the validation nodes; None without validation nodes.
        test_score: Micro-F1 in percent on the test nodes, read once, at the chosen epoch; None
            where their labels are hidden or there are none.
        val_predictions: What is predicted for the validation nodes: class ids [n], or truth values
            of several labels per node [n, C].
        test_predictions: The same for the test nodes.
        val_probabilities: How probable the right class of each validation node is, calibrated; see
            `calibrated_probabilities`. None with several labels per node.  [n]
        best_epoch: The chosen epoch of the best round, counted from 1 within it; 0 if its first
            epoch broke and the weights are those before it.
        epochs: Epochs of the classifier in all rounds.
        probabilities: Class probabilities of every node.  [N, C]
        rounds: The rounds with their chosen weights as functions.
        run: The method's side of the run, for what a method can be asked after training.
        history: One row an epoch, where asked. Where a node has one class, it counts the edges
            that the epoch trained on, within a class and between classes by the labels of all
            nodes; the method does not see these numbers. Mini-batches overlap: an edge counts in
            each that has it.
        warning: Why training stopped early or what the method has to say, if something is wrong.
        earlier_seconds: How long it had trained before an interruption that it went on from.
    """

    val_score: float | None
    test_score: float | None
    val_predictions: Tensor
    test_predictions: Tensor
    val_probabilities: Tensor | None
    best_epoch: int
    epochs: int
    probabilities: Tensor
    rounds: list[RoundResult]
    run: AugmentedRun
    history: list[dict[str, float]] = field(default_factory=list)
    warning: str | None = None
    earlier_seconds: float = 0.0


def train_run(
    task: Task,
    build: Callable[[], nn.Module],
    method: Augmentation,
    optimization: ModelConfig | ModuleConfig,
    config: TrainingConfig,
    seed: int,
    *,
    keep_history: bool = False,
    on_progress: OnEpoch | None = None,
    checkpoint: Checkpoint | None = None,
) -> RunResult:
    """Train and evaluate once.

    The epoch is chosen on the validation nodes, ties going to the lower validation loss; the test
    score is read once, from the chosen weights on the graph for inference. All randomness comes
    from ``seed``; the global random state is left as it was.

    Args:
        task: Graph and split.
        build: Makes a model with random weights.
        method: The augmentation, prepared.
        optimization: Settings of the model, which say how it is optimized.
        config: Epochs, patience, selection and batches.
        seed: Seed of the run.
        keep_history: Whether to return a row an epoch.
        on_progress: Called regularly.
        checkpoint: Where to save a run that takes long, and to go on from; None: nowhere.
    """
    check_training(task, config)

    def make() -> Trainer:
        return Trainer(
            task,
            build,
            _started(task, method, seed),
            optimization,
            config,
            seed,
            keep_history=keep_history,
            on_progress=on_progress,
            checkpoint=checkpoint,
        )

    def finish(trainer: Trainer) -> RunResult:
        probabilities = trainer.probabilities()
        blind = isinstance(trainer.model, GNN) and not trainer.model.uses_edges
        if blind and method.config.name != "none":
            # Whatever the method itself has to say of the edges, this is why.
            trainer.run.warning = (
                f"This model uses no edges: the method {method.config.name} is lost on it."
            )
        return _result(task, trainer, probabilities)

    return _trained(make, finish, task, seed)


def train_along(
    task: Task,
    build: Callable[[], nn.Module],
    method: Augmentation,
    optimization: ModelConfig | ModuleConfig,
    config: TrainingConfig,
    seed: int,
) -> None:
    """Train as one of several ranks, but not the first, which calls `train_run` with the same.

    Args:
        task: Graph and split.
        build: Makes a model with random weights.
        method: The augmentation, prepared.
        optimization: Settings of the model, which say how it is optimized.
        config: Epochs, patience, selection and batches.
        seed: Seed of the run.
    """
    check_training(task, config)

    def make() -> Trainer:
        return Trainer(task, build, _started(task, method, seed), optimization, config, seed)

    _trained(make, lambda trainer: None, task, seed)


def _started(task: Task, method: Augmentation, seed: int) -> AugmentedRun:
    generator = torch.Generator().manual_seed(seed)
    return method.start(task.visible(all_labels=method.looks_at_labels), generator)


def _trained(
    make: Callable[[], Trainer], finish: Callable[[Trainer], T], task: Task, seed: int
) -> T:
    """Train all rounds, and come to an end, with the random numbers of a seed."""

    def train() -> T:
        with seeded(seed, task.labels.device):
            trainer = make()
            trainer.train()
            return finish(trainer)

    try:
        return train()
    except StartOverError:  # its checkpoint is refused by now
        return train()


def check_training(task: Task, config: TrainingConfig) -> None:
    """Raise if settings of training do not go with each other or with a task."""
    config.check_ranks(task.ranks.size)
    if config.selection == "validation" and task.val.numel() == 0:
        raise TrainingError(
            "There are no validation nodes to choose the epoch by."
            " Give some, or set selection=last."
        )
    if config.selection == "last" and config.patience is not None:
        raise ConfigError(
            f"patience={config.patience} waits for a better validation score, but selection=last"
            " does not look at it. Leave one of them out."
        )
    if isinstance(config.batch_size, int) and config.batch_size > task.train.numel():
        raise ConfigError(
            f"batch_size must be at most the number of training nodes, {task.train.numel():,}, got"
            f" {config.batch_size:,}. Without it, a step trains on the whole graph."
        )


def _result(task: Task, trainer: Trainer, probabilities: Tensor) -> RunResult:
    # A probability above one half is a positive logit.
    scores = probabilities - 0.5 if task.multilabel else probabilities
    has_test = task.test.numel() > 0 and not task.test_hidden
    run = trainer.run
    return RunResult(
        val_score=micro_f1(scores[task.val], task.labels[task.val]) if task.val.numel() else None,
        test_score=micro_f1(scores[task.test], task.labels[task.test]) if has_test else None,
        val_predictions=predicted_labels(scores[task.val], task.multilabel),
        test_predictions=predicted_labels(scores[task.test], task.multilabel),
        val_probabilities=None
        if task.multilabel
        else calibrated_probabilities(probabilities[task.val], task.labels[task.val]),
        best_epoch=best_round(trainer.results).best_epoch,
        epochs=trainer.epochs,
        probabilities=probabilities,
        rounds=trainer.results,
        run=run,
        history=trainer.history,
        warning=" ".join(filter(None, [trainer.warning, run.warning, trainer.problem])) or None,
        earlier_seconds=trainer.earlier_seconds,
    )
