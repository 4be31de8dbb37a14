"""How an augmentation takes part in training.

Every method trains in the same loop, so that comparisons are fair. The loop says here what it asks
of a method; `gaug.methods` has the methods. A method is an `Augmentation`: `prepare` learns once
from the graph what all runs share, and `start` opens one run. Within a run, training proceeds in
rounds. A round trains the classifier to early stopping on graphs that the method gives, one per
epoch, and then asks the method for the next round:

- no augmentation, DropEdge, GAug-M: one round;
- GAug-O: a round on the original graph to pretrain, then one that keeps the weights and trains
  through sampled graphs with an extra loss;
- AdaEdge: a round for each change of the graph, while validation improves;
- BGCN: a round on the original graph, then one for each sampled graph, predictions averaged.

A method sees features, edges, training labels and predictions; never a validation or test label,
unless it is a control that says so (`Augmentation.looks_at_labels`).
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.models.base import Features
from gaug.training.config import MethodConfig


@dataclass(frozen=True)
class Visible:
    """What a method may see of a task.

    Attributes:
        features: Dense or sparse features.  [N, F]
        adjacency: The original graph.
        labels: Class ids with -1 outside the training nodes [N], or 0/1 with zeros there [N, C];
            those of all nodes for a control that looks at labels.
        train: Ids of the training nodes.
        num_classes: Number of classes.
    """

    features: Features
    adjacency: Adjacency
    labels: Tensor
    train: Tensor
    num_classes: int


@dataclass(frozen=True)
class Round:
    """One stretch of training.

    Attributes:
        adjacency: The graph for inference, and for training unless the method gives another.
        epochs: Number of epochs at most, or None for the training configuration's, which the
            loop fills in before it trains.
        keep_weights: Whether to go on with the weights of the round before; the optimizer starts
            afresh either way.
        pretraining: Whether to train all epochs and choose none: the last weights are handed on.
    """

    adjacency: Adjacency
    epochs: int | None = None
    keep_weights: bool = False
    pretraining: bool = False


class Predict(Protocol):
    """Class probabilities of every node by the weights that a round chose.  [N, C]"""

    def __call__(self, adjacency: Adjacency, *, dropout: bool = False) -> Tensor:
        """Predict on a graph, with dropout kept on for Monte-Carlo samples if asked."""
        ...


@dataclass(frozen=True)
class RoundResult:
    """What a round came to.

    Attributes:
        round: The round.
        val_score: Score on the validation nodes; NaN where nothing is chosen by them.
        val_loss: Loss there; NaN likewise.
        predict: Its chosen weights as a function.
        weights: Its chosen weights by name.
        best_epoch: The epoch that they are from, counted from 1 within the round.
    """

    round: Round
    val_score: float
    val_loss: float
    predict: Predict
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    best_epoch: int = 0

    def improves_on(self, earlier: RoundResult) -> bool:
        """Whether it counts rather than an earlier one: by validation score, then by loss.

        Where nothing is chosen by validation the later round counts, as the last epoch does.
        """
        if math.isnan(self.val_score):
            return True
        return (self.val_score, -self.val_loss) > (earlier.val_score, -earlier.val_loss)


class AugmentedRun:
    """One run of a method; this base trains once on the original graph.

    Args:
        visible: What the method may see.
        generator: Source of all randomness of the method in this run.

    Attributes:
        warning: What a user should know of this run, for instance that no edge was changed.
        rate_setting: What to lower where its loss breaks.
        tell_epoch: To be called after each epoch in which the method trains something of its own,
            for those who watch; the loop puts in what tells them.
    """

    warning: str | None = None
    rate_setting: str = "learning rate of the method"
    tell_epoch: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, visible: Visible, generator: torch.Generator) -> None:
        self.visible = visible
        self.generator = generator

    def next_round(self, previous: RoundResult | None) -> Round | None:
        """The next round, or None when training is over."""
        return Round(self.visible.adjacency) if previous is None else None

    def training_graph(self, current: Round, epoch: int) -> Adjacency:
        """The graph to train on in this epoch."""
        return current.adjacency

    def extra_loss(self) -> Tensor | None:
        """A term to add to the classification loss of this epoch."""
        return None

    def after_step(self) -> None:
        """Called after the backward pass and the classifier's step."""

    def on_best(self) -> None:
        """Called when the epoch is the best of its round so far."""

    def log(self) -> dict[str, float]:
        """What to write into the history of this epoch besides losses and scores."""
        return {}

    def combine(self, results: Sequence[RoundResult]) -> Tensor:
        """Class probabilities that the run stands for: by default the best round's.  [N, C]"""
        best = best_round(results)
        return best.predict(best.round.adjacency)


def best_round(results: Sequence[RoundResult]) -> RoundResult:
    """The round that counts of those that were chosen from; see `RoundResult.improves_on`."""
    chosen = [result for result in results if not result.round.pretraining]
    return functools.reduce(lambda a, b: b if b.improves_on(a) else a, chosen)


class Augmentation(ABC):
    """A method with its settings; prepared once per graph, started once per run."""

    config: MethodConfig

    @property
    def looks_at_labels(self) -> bool:
        """Whether it sees the labels of all nodes: then it is a control and no method."""
        return False

    def max_epochs(self, training_epochs: int) -> int:
        """Epochs of a run in all its rounds at most, to tell how far it is."""
        return training_epochs

    def prepare(self, visible: Visible, seed: int) -> Augmentation:
        """Learn what all runs share. Returns self."""
        return self

    @abstractmethod
    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
