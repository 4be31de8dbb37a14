"""The one training loop: every model and every method goes through `train_run`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from gaug.errors import ConfigError, TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.graph.homophily import edge_counts
from gaug.graph.sparse import SparseMatrix
from gaug.models.base import GNN, Features
from gaug.models.config import ModelConfig, ModuleConfig
from gaug.seeding import seeded
from gaug.training.best_epoch import BestEpoch, Flaw, finite_weights
from gaug.training.config import TrainingConfig
from gaug.training.hooks import Augmentation, AugmentedRun, Round, RoundResult, best_round
from gaug.training.metrics import micro_f1, predicted_labels
from gaug.training.task import Task

OnEpoch = Callable[[int], None]


@dataclass(frozen=True)
class RunResult:
    """What one run came to.

    Attributes:
        val_score: Micro-F1 in percent on the validation nodes; None without validation nodes.
        test_score: Micro-F1 in percent on the test nodes, read once, at the chosen epoch; None
            where their labels are hidden or there are none.
        test_predictions: What is predicted for the test nodes: class ids [n], or truth values of
            several labels per node [n, C].
        best_epoch: The chosen epoch of the best round, counted from 1 within it; 0 if its first
            epoch broke and the weights are those before it.
        epochs: Epochs trained in all rounds.
        probabilities: Class probabilities of every node.  [N, C]
        rounds: The rounds with their chosen weights as functions.
        run: The method's side of the run, for what a method can be asked after training.
        history: One row an epoch, where asked. Where a node has one class, it counts the edges
            that the epoch trained on, within a class and between classes by the labels of all
            nodes; the method does not see these numbers.
        warning: Why training stopped early or what the method has to say, if something is wrong.
    """

    val_score: float | None
    test_score: float | None
    test_predictions: Tensor
    best_epoch: int
    epochs: int
    probabilities: Tensor
    rounds: list[RoundResult]
    run: AugmentedRun
    history: list[dict[str, float]] = field(default_factory=list)
    warning: str | None = None


def train_run(
    task: Task,
    build: Callable[[], nn.Module],
    method: Augmentation,
    optimization: ModelConfig | ModuleConfig,
    config: TrainingConfig,
    seed: int,
    *,
    keep_history: bool = False,
    on_epoch: OnEpoch | None = None,
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
        config: Epochs, patience and selection.
        seed: Seed of the run.
        keep_history: Whether to return a row an epoch.
        on_epoch: Called with the number of epochs done so far, those of the method among them.
    """
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
    with seeded(seed, task.labels.device):
        generator = torch.Generator().manual_seed(seed)
        trainer = _Trainer(task, build, optimization, config, keep_history, on_epoch)
        run = method.start(task.visible(all_labels=method.looks_at_labels), generator)
        run.tell_epoch = trainer.count_own_epoch
        current = run.next_round(None)
        while current is not None:
            result = trainer.train_round(run, current)
            current = run.next_round(result) if trainer.warning is None else None
        with torch.no_grad():
            probabilities = run.combine(trainer.results)
        del run.tell_epoch  # nobody watches any more
    blind = isinstance(trainer.model, GNN) and not trainer.model.uses_edges
    if blind and method.config.name != "none":
        # Whatever the method itself has to say of the edges, this is why.
        run.warning = f"This model uses no edges: the method {method.config.name} is lost on it."
    return trainer.finish(probabilities, run)


class _Trainer:
    """The state of one run."""

    def __init__(
        self,
        task: Task,
        build: Callable[[], nn.Module],
        optimization: ModelConfig | ModuleConfig,
        config: TrainingConfig,
        keep_history: bool,
        on_epoch: OnEpoch | None,
    ) -> None:
        self.task = task
        self.build = build
        self.optimization = optimization
        self.config = config
        self.keep_history = keep_history
        self.on_epoch = on_epoch
        self.model: nn.Module | None = None
        self.results: list[RoundResult] = []
        self.history: list[dict[str, float]] = []
        self.epochs = 0
        self.own_epochs = 0  # of the method
        self.warning: str | None = None
        self.train_labels = task.labels[task.train]
        self.val_labels = task.labels[task.val]

    def count_own_epoch(self) -> None:
        """The method has trained something of its own for an epoch."""
        self.own_epochs += 1
        self._tell(0)

    def _tell(self, epoch: int) -> None:
        if self.on_epoch is not None:
            self.on_epoch(self.own_epochs + self.epochs + epoch)

    def train_round(self, run: AugmentedRun, current: Round) -> RoundResult:
        if self.model is None or not current.keep_weights:
            self.model = self.build().to(self.task.labels.device)
        model = self.model
        optimizer = torch.optim.Adam(
            model.parameters(),
            lr=self.optimization.learning_rate,
            weight_decay=self.optimization.weight_decay,
            fused=True,
        )
        choosing = self.config.selection == "validation" and not current.pretraining
        best, done, flaw = BestEpoch(), 0, None
        num_epochs = self.config.epochs if current.epochs is None else current.epochs
        current = dataclasses.replace(current, epochs=num_epochs)
        for epoch in range(1, num_epochs + 1):
            loss, extra, counts = self._step(model, optimizer, run, current, epoch)
            if not math.isfinite(loss + extra):
                flaw = Flaw.of_loss(loss, extra, epoch, current, run)
                break
            done = epoch
            score = val_loss = math.nan
            if choosing or self.keep_history:
                score, val_loss = self._validate(model, current.adjacency)
            if self.keep_history:
                row = {"epoch": self.epochs + epoch, "train_loss": loss, "extra_loss": extra}
                row |= {"val_score": score, "val_loss": val_loss} | counts
                self.history.append(row | run.log())
            if choosing and best.offer(score, val_loss, epoch, model):
                run.on_best()
            self._tell(epoch)
            patience = self.config.patience
            if choosing and patience is not None and epoch - best.epoch >= patience:
                break
        self.epochs += done
        return self._close(model, current, best if choosing else None, done, flaw)

    def _step(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        run: AugmentedRun,
        current: Round,
        epoch: int,
    ) -> tuple[float, float, dict[str, float]]:
        model.train()
        optimizer.zero_grad()
        adjacency = run.training_graph(current, epoch)
        logits = apply_model(model, self.task.features, adjacency)
        loss = classification_loss(logits[self.task.train], self.train_labels)
        extra = run.extra_loss()
        total = loss if extra is None else loss + extra
        if bool(torch.isfinite(total)):
            total.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            run.after_step()
        # The graph itself is not handed on: it would be there beside that of the next epoch.
        counts = self._count_edges(adjacency) if self.keep_history else {}
        return loss.item(), 0.0 if extra is None else extra.item(), counts

    def _count_edges(self, adjacency: Adjacency) -> dict[str, float]:
        pairs = adjacency.listed_pairs
        if pairs is None:
            return {}
        if self.task.multilabel:  # there are no edges within a class
            return {"edges": pairs.size(1)}
        return dict(edge_counts(pairs, self.task.labels))

    @torch.no_grad()
    def _validate(self, model: nn.Module, adjacency: Adjacency) -> tuple[float, float]:
        if self.task.val.numel() == 0:
            return math.nan, math.nan
        model.eval()
        logits = apply_model(model, self.task.features, adjacency)[self.task.val]
        loss = classification_loss(logits, self.val_labels)
        return micro_f1(logits, self.val_labels), loss.item()

    def _close(
        self,
        model: nn.Module,
        current: Round,
        best: BestEpoch | None,
        done: int,
        flaw: Flaw | None,
    ) -> RoundResult:
        """What a round of so many epochs came to, with the weights of the best if one counts."""
        if best is not None:
            state = best.state
        else:
            trained = done > 0 or current.keep_weights
            state = finite_weights(model) if trained else None
        if state is None or (flaw is not None and current.pretraining):
            raise TrainingError(str(flaw or Flaw.of_weights(done)))
        if flaw is not None:
            kept = "the weights before it" if best is None else "the best weights so far"
            self.warning = flaw.telling(f"; kept {kept}")
        model.load_state_dict(state)
        epoch = done
        if best is not None:
            score, loss, epoch = best.score, best.loss, best.epoch
        else:
            # Who takes the last epoch wants nothing chosen by validation, rounds neither.
            score = loss = math.nan
            if self.config.selection == "validation":
                score, loss = self._validate(model, current.adjacency)

        def predict(adjacency: Adjacency, *, dropout: bool = False) -> Tensor:
            kept = {name: value.clone() for name, value in model.state_dict().items()}
            model.load_state_dict(state)
            model.train(dropout)
            with torch.no_grad():
                logits = apply_model(model, self.task.features, adjacency)
            model.load_state_dict(kept)
            return logits.sigmoid() if self.task.multilabel else logits.softmax(dim=1)

        result = RoundResult(current, score, loss, predict, state, epoch)
        self.results.append(result)
        return result

    def finish(self, probabilities: Tensor, run: AugmentedRun) -> RunResult:
        task = self.task
        # A probability above one half is a positive logit.
        scores = probabilities - 0.5 if task.multilabel else probabilities
        has_val = task.val.numel() > 0
        has_test = task.test.numel() > 0 and not task.test_hidden
        return RunResult(
            val_score=micro_f1(scores[task.val], self.val_labels) if has_val else None,
            test_score=micro_f1(scores[task.test], task.labels[task.test]) if has_test else None,
            test_predictions=predicted_labels(scores[task.test], task.multilabel),
            best_epoch=best_round(self.results).best_epoch,
            epochs=self.epochs,
            probabilities=probabilities,
            rounds=self.results,
            run=run,
            history=self.history,
            warning=" ".join(filter(None, [self.warning, run.warning])) or None,
        )


def apply_model(model: nn.Module, features: Features, adjacency: Adjacency) -> Tensor:
    """Call a model of this package, or any module with PyTorch Geometric's signature."""
    logits: Tensor
    if isinstance(model, GNN):
        logits = model(features, adjacency)
    else:
        x = features.to_torch() if isinstance(features, SparseMatrix) else features
        logits = model(x, adjacency.edge_index, adjacency.weight)
    return logits


def classification_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, or binary cross-entropy where a node may have several labels."""
    if labels.dim() == 1:
        return functional.cross_entropy(logits, labels)
    return functional.binary_cross_entropy_with_logits(logits, labels)
