"""BGCN: train on graphs drawn from a block model and average the predictions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gaug.classifier.stored_predictions import StoredPredictionsClassifier
from gaug.graph.adjacency import Adjacency
from gaug.methods.bgcn.block_model import BlockModel, fit_block_model
from gaug.methods.bgcn.block_sampler import sample_graph
from gaug.methods.bgcn.config import BGCNConfig
from gaug.methods.method import Method
from gaug.methods.trained import Trained
from gaug.pairs.ranking import OnShare
from gaug.training.hooks import AugmentedRun, Round, RoundResult, Visible


class BGCN(Method[BGCNConfig, StoredPredictionsClassifier]):
    r"""BGCN (Zhang, Pal, Coates and Ustebay, AAAI 2019): a GNN for each of several likely graphs.

    The observed graph is treated as a draw from a random graph whose communities are the classes.

    1. A first GNN is trained on the observed graph.
    2. The block model of `gaug.methods.bgcn.block_model` is fitted to the graph and to the
       predictions of that GNN.
    3. ``graphs`` graphs are drawn from it, where each pair is an edge with its exact probability.
    4. A GNN is trained on each of them and predicts ``dropout_samples`` times with dropout. The
       class probabilities are the mean over GNNs and samples, without the first GNN.

    A drawn graph keeps about the number of edges and the classes, but none of the observed edges as
    such. It takes the time of ``graphs + 1`` plain runs and the memory of the largest graph,
    because no step holds all pairs of nodes. Edge weights are not modeled. A fitted classifier
    predicts only on the graph of its fit, because the GNNs belong to graphs drawn for that one.

    Differs from the paper:

    - Memberships follow the predicted class (``prediction=probabilities``: its softmax). A GNN is
      right more often than it is confident (a GCN on Cora is right on 81 % of the validation nodes
      with a mean confidence of 39 to 68 % in four runs), and graphs drawn by such probabilities
      have few edges within a class. In multi-label graphs, memberships follow the label
      probabilities, scaled to sum to 1.
    - The prediction is also the prior of a node's memberships (``anchor``), not only their start:
      otherwise the fit drifts from classes to other communities of the graph. ``anchor=0`` is the
      paper's.
    - The background probability is fitted, too. All parameters are fitted by Adam on edges and
      random pairs, where the paper takes preconditioned steps on batches of nodes.
    - One fit of the block model, and new random weights for each GNN, for any GNN.

    Arguments are those of every method; see `gaug.methods.method.Method`.
    """

    config_type = BGCNConfig
    classifier_type = StoredPredictionsClassifier

    def max_epochs(self, training_epochs: int) -> int:
        """Maximum epochs of all rounds: one on the original graph and one per drawn graph."""
        return (self.config.graphs + 1) * training_epochs

    def prepare(self, visible: Visible, seed: int, *, on_share: OnShare | None = None) -> BGCN:
        """Check the number of communities, and return self; everything is learned within a run."""
        self.config.num_communities(visible.num_classes)
        return self

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        return _BGCNRun(visible, generator, self.config)

    def _classifier(self, trained: Trained) -> StoredPredictionsClassifier:
        fitted = trained.fitted(with_network=False)
        return StoredPredictionsClassifier(fitted, trained.result.probabilities)


class _BGCNRun(AugmentedRun):
    def __init__(self, visible: Visible, generator: torch.Generator, config: BGCNConfig) -> None:
        super().__init__(visible, generator)
        self.config = config
        self.edges = visible.adjacency.pairs.cpu()
        if visible.adjacency.weight is not None:
            self.warning = (
                "BGCN left out the edge weights of this graph, because drawn graphs have none."
            )
        self.model: BlockModel | None = None
        self.num_drawn = 0

    def next_round(self, previous: RoundResult | None) -> Round | None:
        if previous is None:
            return Round(self.visible.adjacency)
        if self.model is None:
            self.model = self.visible.ranks.of_first(lambda: self._fitted(previous))
        if self.num_drawn == self.config.graphs:
            return None
        self.num_drawn += 1
        return Round(self._draw(self.model))

    def combine(self, results: Sequence[RoundResult]) -> Tensor:
        samples = self.config.dropout_samples
        # If the loss of the first GNN was not finite, training ended and there is no other.
        gnns = results[1:] or results
        parts = (
            gnn.predict(gnn.round.adjacency, dropout=samples > 0)
            for gnn in gnns
            for _ in range(max(samples, 1))
        )
        total: Tensor = functools.reduce(torch.add, parts)
        return total / (len(gnns) * max(samples, 1))

    def graphs_of_student(self, results: Sequence[RoundResult]) -> Round:
        """The original graph: drawn ones are for the GNNs that are averaged."""
        return Round(self.visible.adjacency, student=True)

    def state(self) -> dict[str, Any]:
        model = self.model
        parts = None if model is None else [model.memberships, model.strengths, model.background]
        return {"model": parts, "num_drawn": self.num_drawn}

    def restore(self, state: dict[str, Any], results: Sequence[RoundResult]) -> None:
        self.model = None if state["model"] is None else BlockModel(*state["model"])
        self.num_drawn = state["num_drawn"]

    def _fitted(self, first: RoundResult) -> BlockModel:
        predictions = self._followed(first.predict(self.visible.adjacency).cpu())
        return fit_block_model(self.edges, predictions, self.config, self.generator)

    def _followed(self, probabilities: Tensor) -> Tensor:
        """The predictions that the memberships follow.  [N, C]"""
        if self.visible.labels.dim() == 2 or self.config.prediction == "probabilities":
            return probabilities
        return functional.one_hot(probabilities.argmax(dim=1), probabilities.size(1))

    def _draw(self, model: BlockModel) -> Adjacency:
        pairs = self.visible.ranks.of_first(lambda: sample_graph(model, self.generator))
        if pairs.numel() == 0:
            self.warning = "BGCN drew a graph without edges, so its GNN only saw features."
        elif torch.equal(pairs, self.edges):
            self.warning = "BGCN drew the original graph again, which changed nothing."
        return Adjacency.of_pairs(pairs, model.num_nodes).to(self.visible.labels.device)
