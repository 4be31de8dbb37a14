"""The rounds of one run: epochs, validation, and the choice of the best epoch."""

from __future__ import annotations

import collections
import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from gaug.errors import TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.models.calling import apply_model
from gaug.models.config import ModelConfig, ModuleConfig
from gaug.training import saved_run
from gaug.training.batch import work_on
from gaug.training.batches import MiniBatches, WholeGraph, hops_of_batches
from gaug.training.best_epoch import finite_weights
from gaug.training.checkpoint import UNREADABLE, Checkpoint, StartOverError
from gaug.training.config import TrainingConfig
from gaug.training.flaw import Flaw, FlawError
from gaug.training.hooks import AugmentedRun, Round, RoundResult
from gaug.training.loss import classification_loss
from gaug.training.metrics import micro_f1
from gaug.training.progress import OnEpoch, Progress
from gaug.training.stage import Stage
from gaug.training.steps import Steps
from gaug.training.task import Task

# A step goes through a graph about this many times as often as a validation.
_PASSES_PER_STEP = 3
_LONGEST_INTERVAL = 10


class Trainer:
    """The state of one run.

    Args:
        task: Graph and split.
        build: Makes a model with random weights.
        run: The method's side.
        optimization: Settings of the model, which say how it is optimized.
        config: Epochs, patience, selection and batches.
        seed: Seed of the batches.
        keep_history: Whether to keep a row an epoch.
        on_progress: Called regularly.
        checkpoint: Where to save the run and to go on from.
    """

    def __init__(
        self,
        task: Task,
        build: Callable[[], nn.Module],
        run: AugmentedRun,
        optimization: ModelConfig | ModuleConfig,
        config: TrainingConfig,
        seed: int,
        *,
        keep_history: bool = False,
        on_progress: OnEpoch | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.task = task
        self.ranks = task.ranks
        self.build = build
        self.run = run
        self.optimization = optimization
        self.config = config
        self.seed = seed
        self.keep_history = keep_history
        self.on_progress = on_progress
        self.checkpoint = checkpoint
        self.model: nn.Module | None = None
        self.results: list[RoundResult] = []
        self.history: list[dict[str, float]] = []
        self.rounds = 0
        self.epochs = 0
        self.own_epochs = 0  # of the method alone
        self.warning: str | None = None
        self.val_labels = task.labels[task.val]
        self.earlier_seconds = 0.0  # up to the checkpoint that it goes on from
        self.steps = Steps(task, config, count_edges=keep_history)
        self._without_method = AugmentedRun(run.visible, run.generator)
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, also before an interruption."""
        return self.earlier_seconds + time.perf_counter() - self._started

    @property
    def problem(self) -> str | None:
        """What is to be said of checkpoints."""
        return None if self.checkpoint is None else self.checkpoint.problem

    def train(self) -> None:
        """Train all rounds, from the beginning or from a checkpoint."""
        stage = self._resumed()
        if stage is None:
            stage = self._begun(self.run.next_round(None))
        while stage is not None:
            result = self._train_round(stage)
            # If it broke, no other round follows.
            following = self._following(result) if self.warning is None else None
            if following is not None and following.anew:
                self.own_epochs -= stage.done
            stage = self._begun(following)

    @property
    def of_method(self) -> list[RoundResult]:
        """The rounds of the method, without those of students."""
        return [result for result in self.results if not result.round.student]

    @torch.no_grad()
    def probabilities(self) -> Tensor:
        """What the rounds so far predict: the last student, or else the method.  [N, C]"""
        last = self.results[-1]
        if last.round.student:
            return last.predict(last.round.adjacency)
        return self.run.combine(self.results)

    def new_optimizer(self) -> torch.optim.Optimizer:
        """The optimizer of a round."""
        assert self.model is not None
        return torch.optim.Adam(
            self.model.parameters(),
            lr=self.optimization.learning_rate,
            weight_decay=self.optimization.weight_decay,
            fused=True,
        )

    def new_batches(self, current: Round, number: int) -> WholeGraph | MiniBatches:
        """What the epochs of a round train on."""
        adjacency = current.adjacency if current.trained_on is None else current.trained_on
        config = self.config
        if config.batch_size is None:
            return WholeGraph(self.task, adjacency)
        assert isinstance(config.batch_size, int), "auto is decided before"
        return MiniBatches(
            self.task,
            adjacency,
            batch_size=config.batch_size,
            hops=self._hops(),
            fanout=config.fanout,
            seed=(self.seed, number),
        )

    def result_of(
        self, current: Round, score: float, loss: float, weights: dict[str, Tensor], epoch: int
    ) -> RoundResult:
        """What a round came to, ready to predict with its weights."""
        model = self.model
        assert model is not None

        def predict(adjacency: Adjacency, *, dropout: bool = False) -> Tensor:
            kept = {name: value.clone() for name, value in model.state_dict().items()}
            model.load_state_dict(weights)
            model.train(dropout)
            with torch.no_grad():
                logits = apply_model(model, self.task.features, adjacency)
            model.load_state_dict(kept)
            return logits.sigmoid() if self.task.multilabel else logits.softmax(dim=1)

        return RoundResult(current, score, loss, predict, weights, epoch)

    def _resumed(self) -> Stage | None:
        checkpoint = self.checkpoint
        state = self.ranks.of_first(lambda: None if checkpoint is None else checkpoint.load())
        if state is None:
            return None
        try:
            return saved_run.unpack(self, state)
        except UNREADABLE as error:
            if checkpoint is not None:
                checkpoint.refuse(error)
            raise StartOverError from error

    def _following(self, result: RoundResult) -> Round | None:
        """The next round: those of the method, then those of students."""
        following = None if result.round.student else self.run.next_round(result)
        students = len(self.results) - len(self.of_method)
        if following is not None or students == self.config.students:
            return following
        return self.run.graphs_of_student(self.of_method)

    def _teacher(self) -> Tensor:
        """What the next student learns from; sums of a method may be a little above 1.  [N, C]"""
        found = self.ranks.of_first(lambda: self.probabilities().clamp(0, 1).cpu())
        return found.to(self.task.labels.device)

    def _taking_part(self, current: Round) -> AugmentedRun:
        """The method's side of a round; students do without."""
        return self._without_method if current.student else self.run

    def _begun(self, current: Round | None) -> Stage | None:
        if current is None:
            return None
        if current.epochs is None:
            current = dataclasses.replace(current, epochs=self.config.epochs)
        teacher = self._teacher() if current.student else None
        optimizer = None
        if not current.method_alone:
            if self.model is None or not current.keep_weights:
                self.model = self.build().to(self.task.labels.device)
            optimizer = self.new_optimizer()
        self.ranks.take_over(self._state_tensors())
        number, self.rounds = self.rounds, self.rounds + 1
        batches = self.new_batches(current, number)
        return Stage(current, number, batches, optimizer, teacher=teacher)

    def _hops(self) -> int:
        if self.model is not None:
            return hops_of_batches(self.model, self.config)
        with torch.random.fork_rng(devices=[]):  # the method trains alone, before any classifier
            return hops_of_batches(self.build(), self.config)

    def _train_round(self, stage: Stage) -> RoundResult:
        current = stage.round
        classifies = not current.method_alone
        counts_best = current.keep_best or not current.pretraining
        choosing = classifies and self.config.selection == "validation" and counts_best
        # Pretraining has a length of its own.
        patience, flaw = None if current.pretraining else self.config.patience, None
        for epoch in range(stage.done + 1, stage.epochs + 1):
            self.ranks.draw_anew(self.run.generator, (self.seed, stage.number, epoch))
            loss, extra, counts = self._train_epoch(stage, epoch)
            if not math.isfinite(loss + extra):
                flaw = Flaw.of_loss(loss, extra, epoch, current, self.run)
                break
            stage.done = epoch
            score = val_loss = math.nan
            validates = epoch % stage.interval == 0 or epoch == stage.epochs
            if validates and classifies and (choosing or self.keep_history):
                score, val_loss = self._validate(current.adjacency)
            if self.keep_history and classifies:
                row = {"epoch": self.epochs + epoch, "train_loss": loss, "extra_loss": extra}
                row |= {"val_score": score, "val_loss": val_loss} | counts
                self.history.append(row | self._taking_part(current).log())
            if validates and choosing and stage.best.offer(score, val_loss, epoch, self._model()):
                self._taking_part(current).on_best()
            self._tell(stage, epoch, f"loss {loss + extra:.3g}", score)
            waited = epoch - stage.best.epoch
            if validates and choosing and patience is not None and waited >= patience:
                break
            if self.checkpoint is not None and self.checkpoint.is_due:
                self._save(stage)
        return self._close(stage, choosing, flaw) if classifies else self._close_alone(stage, flaw)

    def _train_epoch(
        self, stage: Stage, epoch: int
    ) -> tuple[float, float, collections.Counter[str]]:
        """Losses, averaged over the training nodes, and the edges of an epoch."""
        losses, extras, work = [], [], 0
        sizes = stage.batches.sizes
        counts: collections.Counter[str] = collections.Counter()
        run = self._taking_part(stage.round)
        for place, batch in enumerate(stage.batches.epoch(epoch), start=1):
            share = self.ranks.share(sizes[place - 1])
            loss, extra, found = self.steps.take(run, stage, self.model, batch, epoch, share)
            if not math.isfinite(loss + extra):
                return loss, extra, counts
            losses.append(loss)
            extras.append(extra)
            work += batch.work
            counts.update(found)
            if place < len(sizes):
                words = f"batch {place:,}/{len(sizes):,}, loss {loss + extra:.3g}"
                self._tell(stage, epoch - 1 + place / len(sizes), words)
        if stage.interval == 0:
            graph, done = stage.round.adjacency, work
            stage.interval = self.ranks.of_first(lambda: self._interval(done, graph))
        return _mean(losses, sizes), _mean(extras, sizes), counts

    def _interval(self, work: int, adjacency: Adjacency) -> int:
        """Epochs from one validation to the next.

        Decided by counting, not by a clock, so that a run comes out the same every time.
        """
        if self.config.validate_every is not None:
            return self.config.validate_every
        ratio = work_on(adjacency) / (_PASSES_PER_STEP * work)
        return min(_LONGEST_INTERVAL, max(1, math.ceil(ratio)))

    def _validate(self, adjacency: Adjacency) -> tuple[float, float]:
        if self.task.val.numel() == 0:
            return math.nan, math.nan
        return self.ranks.of_first(lambda: self._validated(adjacency))

    @torch.no_grad()
    def _validated(self, adjacency: Adjacency) -> tuple[float, float]:
        model = self._model()
        model.eval()
        logits = apply_model(model, self.task.features, adjacency)[self.task.val]
        loss = classification_loss(logits, self.val_labels)
        return micro_f1(logits, self.val_labels), loss.item()

    def _close(self, stage: Stage, choosing: bool, flaw: Flaw | None) -> RoundResult:
        """What a round came to, with the weights of the best epoch if one counts."""
        current, best, model = stage.round, stage.best, self._model()
        if choosing:
            state = best.state
        else:
            trained = stage.done > 0 or current.keep_weights
            state = finite_weights(model) if trained else None
        if current.student and (flaw is not None or state is None):
            return self._without_student(stage, flaw or Flaw.of_weights(stage.done))
        if state is None or (flaw is not None and current.pretraining):
            raise self._broken(flaw or Flaw.of_weights(stage.done))
        if flaw is not None:
            kept = "the best weights so far" if choosing else "the weights before it"
            kept += ", and trained no student" if self.config.students else ""
            self.warning = flaw.telling(f"; kept {kept}")
        model.load_state_dict(state)
        self.epochs += stage.done
        if choosing:
            result = self.result_of(current, best.score, best.loss, state, best.epoch)
        else:
            # Who takes the last epoch wants nothing chosen by validation, rounds neither.
            score = loss = math.nan
            if self.config.selection == "validation":
                score, loss = self._validate(current.adjacency)
            result = self.result_of(current, score, loss, state, stage.done)
        self.results.append(result)
        return result

    def _without_student(self, stage: Stage, flaw: Flaw) -> RoundResult:
        """The round before that of a student that broke, whose predictions count."""
        self.warning = flaw.telling("; kept what its teacher predicts")
        self.epochs += stage.done
        return self.results[-1]

    def _close_alone(self, stage: Stage, flaw: Flaw | None) -> RoundResult:
        if flaw is not None:
            raise self._broken(flaw)
        self.own_epochs += stage.done
        return RoundResult(stage.round, math.nan, math.nan, _nothing_to_predict)

    def _broken(self, flaw: Flaw) -> FlawError:
        """The error of a flaw that leaves nothing to go on from."""
        if self.checkpoint is not None:
            self.checkpoint.remove()
        return FlawError(str(flaw))

    def _save(self, stage: Stage) -> None:
        assert self.checkpoint is not None
        state = saved_run.pack(self, stage)
        if state is not None:
            self.checkpoint.save(state)

    def _tell(self, stage: Stage, epoch: float, words: str, score: float = math.nan) -> None:
        if self.on_progress is None:
            return
        kind = f"{self.run.own_model}, " if stage.round.method_alone else ""
        kind = "pretraining, " if stage.round.pretraining else kind
        kind = "student, " if stage.round.student else kind
        note = f"{kind}epoch {math.ceil(epoch):,}/{stage.epochs:,}, {words}"
        if not math.isnan(score):
            note += f", validation {score:.1f}"
        done = self.own_epochs + self.epochs + epoch
        self.on_progress(Progress(done, note, resumed=self.earlier_seconds > 0))

    def _state_tensors(self) -> Iterator[Tensor]:
        """What a round begins with, of the classifier and of the method."""
        if self.model is not None:
            yield from self.model.state_dict().values()
        yield from (parameter.detach() for parameter in self.run.parameters())

    def _model(self) -> nn.Module:
        assert self.model is not None
        return self.model


def _mean(values: Sequence[float], sizes: Sequence[int]) -> float:
    """The mean, weighted by sizes; that of a single value is the value itself, to the last bit."""
    if len(values) == 1:
        return values[0]
    return sum(value * size for value, size in zip(values, sizes, strict=True)) / sum(sizes)


def _nothing_to_predict(adjacency: Adjacency, *, dropout: bool = False) -> Tensor:  # noqa: ARG001
    raise TrainingError("A round in which the method trained alone has no classifier.")
