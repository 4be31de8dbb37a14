"""How an augmentation takes part in training.

Every method trains in the same loop, so comparisons are fair. This module defines what the loop
needs from a method; the methods are in `gaug.methods`. A method is an `Augmentation`: `prepare`
learns from the graph once what all runs share, and `start` opens one run. Within a run, training
proceeds in rounds. A round trains the classifier, with early stopping, on graphs that the method
provides, one per step, and then asks the method for the next round. A step is an epoch, or with
mini-batches a batch of it (`gaug.training.batches`):

- no augmentation, DropEdge: one round; GAug-M: one or two;
- GAug-O: a round in which its predictor trains alone, one of pretraining on the original graph,
  then one that keeps the weights and trains on sampled graphs with an extra loss;
- AdaEdge: a round for each change of the graph, while validation improves;
- BGCN: a round on the original graph, then one for each sampled graph; predictions are averaged;
- a stack: the rounds of a method that changes the graph, which do not count, then those of another
  on the changed graph.

Where students are asked for, the loop trains them in rounds of its own afterwards, in which the
method takes no part but for the graph (`AugmentedRun.graphs_of_student`).

A method sees features, edges, training labels and predictions, but never a validation or test
label, unless it is a control that says so (`Augmentation.looks_at_labels`).
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from gaug.graph.adjacency import Adjacency
from gaug.models.base import Features
from gaug.pairs.ranking import OnShare
from gaug.training.batch import Batch
from gaug.training.config import MethodConfig
from gaug.training.ranks import Ranks


@dataclass(frozen=True)
class Visible:
    """The part of a task that a method may see.

    Attributes:
        features: Dense or sparse features.  [N, F]
        adjacency: The original graph.
        labels: Class ids with -1 outside the training nodes [N], or 0/1 with zeros there [N, C].
            A control that looks at labels gets those of all nodes.
        train: Ids of the training nodes.
        num_classes: Number of classes.
        ranks: This process among those that train together. What a method decides or makes from
            the whole graph it takes from the first (`gaug.training.ranks.Ranks.of_first`).
    """

    features: Features
    adjacency: Adjacency
    labels: Tensor
    train: Tensor
    num_classes: int
    ranks: Ranks = field(default_factory=Ranks)


@dataclass(frozen=True)
class Round:
    """One stretch of training.

    Attributes:
        adjacency: The graph for inference.
        trained_on: The graph that batches are taken from; None: the one for inference.
        epochs: Maximum number of epochs. None means that of the training settings, which the loop
            fills in before training.
        keep_weights: Whether to continue with the weights of the previous round; the optimizer is
            reset either way.
        pretraining: Whether to train all epochs and keep the last weights instead of the best.
        keep_best: Whether pretraining keeps the best weights on the validation nodes after all.
        method_alone: Whether only the method trains, by its extra loss. There is no classifier
            then, and nothing is chosen.
        preliminary: Whether it only prepares others, so that it cannot be the best round.
        anew: Whether the method alone trains again what it trained in the round before, which
            progress then no longer counts.
        student: Whether a student learns in it from the run before, without the method.
    """

    adjacency: Adjacency
    trained_on: Adjacency | None = None
    epochs: int | None = None
    keep_weights: bool = False
    pretraining: bool = False
    keep_best: bool = False
    method_alone: bool = False
    preliminary: bool = False
    anew: bool = False
    student: bool = False


class Predict(Protocol):
    """Class probabilities of every node, using the chosen weights of a round.  [N, C]"""

    def __call__(self, adjacency: Adjacency, *, dropout: bool = False) -> Tensor:
        """Predict on a graph, optionally with dropout for Monte Carlo samples."""
        ...


@dataclass(frozen=True)
class RoundResult:
    """The result of a round.

    Attributes:
        round: The round.
        val_score: Score on the validation nodes; NaN if they are not used for selection.
        val_loss: Loss on the validation nodes; NaN likewise.
        predict: Predicts with the chosen weights.
        weights: The chosen weights by name.
        best_epoch: The epoch of the chosen weights, counted from 1 within the round.
    """

    round: Round
    val_score: float
    val_loss: float
    predict: Predict
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    best_epoch: int = 0

    def improves_on(self, earlier: RoundResult) -> bool:
        """Whether it replaces an earlier round: by validation score, then by loss.

        Without selection by validation, the later round counts, as the last epoch does.
        """
        if math.isnan(self.val_score):
            return True
        return (self.val_score, -self.val_loss) > (earlier.val_score, -earlier.val_loss)


class AugmentedRun:
    """One run of a method; this base class trains once on the original graph.

    Args:
        visible: What the method may see.
        generator: Source of all randomness of the method in this run.

    Attributes:
        warning: What users should know about this run, for instance that no edge was changed.
        rate_setting: The setting to lower if the method's loss is not finite.
        own_model: What trains in rounds of the method alone, for messages.
    """

    warning: str | None = None
    rate_setting: str = "learning rate of the method"
    own_model: str = "method"

    def __init__(self, visible: Visible, generator: torch.Generator) -> None:
        self.visible = visible
        self.generator = generator

    def next_round(self, previous: RoundResult | None) -> Round | None:
        """The next round, or None when training is over."""
        return Round(self.visible.adjacency) if previous is None else None

    def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
        """The graph to train on in this step, between the nodes of the batch."""
        return batch.adjacency

    def extra_loss(self) -> Tensor | None:
        """A term that is added to the classification loss of this step."""
        return None

    def parameters(self) -> Iterable[nn.Parameter]:
        """What the method itself trains in `after_step`; ranks have the same, with one gradient."""
        return ()

    def after_step(self) -> None:
        """Called after the backward pass and the classifier's step."""

    def on_best(self) -> None:
        """Called when the epoch is the best of its round so far."""

    def log(self) -> dict[str, float]:
        """What to add to this epoch's history besides losses and scores."""
        return {}

    def state(self) -> dict[str, Any] | None:
        """What a checkpoint must hold to go on with this run later, besides the random stream.

        A dictionary of numbers, strings, tensors, lists and dictionaries. None means that this run
        cannot be saved: after an interruption it starts from the beginning. A subclass that has no
        more to tell returns an empty dictionary.
        """
        return {} if type(self) is AugmentedRun else None

    def restore(self, state: dict[str, Any], results: Sequence[RoundResult]) -> None:
        """Go on from what `state` returned.

        Args:
            state: The state.
            results: The rounds that were finished by then.
        """

    @property
    def known_graphs(self) -> dict[str, Adjacency]:
        """Graphs that every start of this run has, which a checkpoint need not hold, by name."""
        return {"original": self.visible.adjacency}

    def combine(self, results: Sequence[RoundResult]) -> Tensor:
        """Class probabilities of the run: by default those of the best round.  [N, C]"""
        best = best_round(results)
        return best.predict(best.round.adjacency)

    def graphs_of_student(self, results: Sequence[RoundResult]) -> Round:
        """A round on the graphs that a student trains and predicts on: those of the best round."""
        best = best_round(results).round
        return Round(best.adjacency, best.trained_on, student=True)


def best_round(results: Sequence[RoundResult]) -> RoundResult:
    """The last round of a student, or else the best; see `RoundResult.improves_on`.

    Pretraining does not count, and preliminary rounds only if there is no other.
    """
    students = [result for result in results if result.round.student]
    if students:
        return students[-1]
    trained = [result for result in results if not result.round.pretraining]
    chosen = [result for result in trained if not result.round.preliminary] or trained
    return functools.reduce(lambda a, b: b if b.improves_on(a) else a, chosen)


class Augmentation(ABC):
    """A method with its settings; prepared once per graph, started once per run."""

    config: MethodConfig

    @property
    def looks_at_labels(self) -> bool:
        """Whether it sees the labels of all nodes, which makes it a control, not a method."""
        return False

    @property
    def knows_its_graph(self) -> bool:
        """Whether its changed graph, that of its first round, is known without training.

        A stack takes it then without training that round.
        """
        return False

    def max_epochs(self, training_epochs: int) -> int:
        """Maximum number of epochs in all rounds of a run but those done anew, to show progress."""
        return training_epochs

    def prepare(
        self, visible: Visible, seed: int, *, on_share: OnShare | None = None
    ) -> Augmentation:
        """Learn what all runs share, and return self.

        Args:
            visible: What the method may see.
            seed: Seed of everything that is random.
            on_share: Called with the share of the work done so far, if it takes long.
        """
        return self

    @abstractmethod
    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
