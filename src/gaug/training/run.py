"""One run: what all runs of a plan share, and the loop called on it.

Nothing else calls the loop: repeated runs and `Method.fit` both train here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gaug.config import check_count
from gaug.errors import ConfigError, reason_of
from gaug.graph.sparse import SparseMatrix
from gaug.models.calling import apply_model
from gaug.models.spec import ModelSpec
from gaug.pairs.parts import ranking_threads
from gaug.pairs.ranking import OnShare
from gaug.seeding import run_seed
from gaug.training.batches import hops_of_batches
from gaug.training.checkpoint import Checkpoint
from gaug.training.config import TrainingConfig
from gaug.training.hooks import Augmentation
from gaug.training.loop import RunResult, check_training, train_along, train_run
from gaug.training.progress import OnEpoch
from gaug.training.task import Task


@dataclass(frozen=True)
class PreparedRuns:
    """A method prepared for a graph, a model and how to train it: everything but a run's number.

    Attributes:
        task: The graph with its split, laid out, on its device.
        model: The model.
        method: The method, prepared for the graph.
        training: Settings of the loop.
        seed: Seed that the seeds of all runs derive from.
        threads: Threads of each run.
    """

    task: Task
    model: ModelSpec
    method: Augmentation
    training: TrainingConfig
    seed: int = 0
    threads: int = 1

    @classmethod
    def prepare(
        cls,
        task: Task,
        model: ModelSpec,
        method: Augmentation,
        training: TrainingConfig,
        *,
        seed: int = 0,
        threads: int = 1,
        on_share: OnShare | None = None,
    ) -> PreparedRuns:
        """Let a method learn what all runs share, with the threads of a run.

        Only rankings of all pairs, which do not depend on it, take as many threads as there are.

        Args:
            task: The graph with its split, laid out, on its device.
            model: The model.
            method: The method, not prepared yet.
            training: Settings of the loop.
            seed: Seed that the seeds of all runs derive from.
            threads: Threads of each run.
            on_share: Called with the share of the work done so far, if it takes long.
        """
        check_count("threads", threads)
        at_hand = max(threads, torch.get_num_threads())
        with computing_threads(threads), ranking_threads(at_hand):
            check_training(task, training)
            method.config.check_training(training)
            task.ranks.of_first(lambda: check_model(model, task))  # it calls it on the whole graph
            if isinstance(training.batch_size, int):
                with torch.random.fork_rng(devices=[]):
                    hops_of_batches(model.build(task.in_features, task.num_classes), training)
            visible = task.visible(all_labels=method.looks_at_labels)
            prepared = method.prepare(visible, seed, on_share=on_share)
        return cls(task, model, prepared, training, seed, threads)

    @property
    def max_epochs(self) -> int:
        """Epochs of a run at most, to tell how far it is."""
        return self.training.max_epochs(self.method.max_epochs(self.training.epochs))

    def build_model(self) -> nn.Module:
        """A new model with random weights."""
        return self.model.build(self.task.in_features, self.task.num_classes)

    def train_along(self, run: int) -> None:
        """Train as one of several ranks, but not the first, which calls `train`.

        Args:
            run: Number of the run, which decides its seed.
        """
        with computing_threads(self.threads):
            train_along(
                self.task,
                self.build_model,
                self.method,
                self.model.config,
                self.training,
                run_seed(self.seed, run),
            )

    def train(
        self,
        run: int,
        *,
        keep_history: bool = False,
        on_progress: OnEpoch | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> RunResult:
        """Train and evaluate once.

        Args:
            run: Number of the run, which decides its seed.
            keep_history: Whether to keep one row per epoch.
            on_progress: Called regularly.
            checkpoint: Where to save a run that takes long, and to go on from; None: nowhere.
        """
        with computing_threads(self.threads):
            return train_run(
                self.task,
                self.build_model,
                self.method,
                self.model.config,
                self.training,
                run_seed(self.seed, run),
                keep_history=keep_history,
                on_progress=on_progress,
                checkpoint=checkpoint,
            )


@contextlib.contextmanager
def computing_threads(threads: int) -> Iterator[None]:
    """Within the block PyTorch computes with so many threads.

    A run has a fixed number of threads, however many runs go side by side, and so has what its
    method prepares: sums of floating-point numbers depend on how they are split, and a run must
    come out the same every time.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_model(model: ModelSpec, task: Task) -> None:
    """Raise if a user-defined module does not give one score for each node and class."""
    if not model.is_custom:
        return
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        module = model.build(task.in_features, task.num_classes).to(task.labels.device).eval()
        try:
            logits: Any = apply_model(module, task.features, task.adjacency)
        except TypeError as error:
            raise ConfigError(
                f"The model {model.name} must have forward(x, edge_index, edge_weight): {error}."
            ) from error
        except (NotImplementedError, RuntimeError) as error:
            if not isinstance(task.features, SparseMatrix):
                raise
            raise ConfigError(
                f"The model {model.name} fails on this graph, whose features are sparse"
                f" ({reason_of(error)}). If it needs dense ones, data.x = data.x.to_dense() makes"
                " them."
            ) from error
    expected = [task.adjacency.num_nodes, task.num_classes]
    shape = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    if shape != expected:
        raise ConfigError(
            f"The model {model.name} must give one number for each node and class, of shape"
            f" {expected}, got {shape}."
        )
