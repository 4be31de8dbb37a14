"""One run of GAug-O: pretraining, joint training on sampled graphs, and the result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gaug.edge_predictors.evaluation import has_learned
from gaug.edge_predictors.input_scale import InputScale
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.config import GAugOConfig, resolved_engine
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.edge_encoder import EdgeEncoder, Embedding
from gaug.methods.gaug_o.edge_judge import EdgeJudge
from gaug.methods.gaug_o.learned_edges import LearnedEdges
from gaug.methods.gaug_o.memory import SampleRoom
from gaug.methods.gaug_o.warmup import warmed_up
from gaug.models.base import Features
from gaug.seeding import draw_seed
from gaug.training.batch import Batch
from gaug.training.best_epoch import finite_weights
from gaug.training.hooks import AugmentedRun, Round, RoundResult, Visible

# Edges by which the predictor of a large graph is judged; the AUC is right to about 0.002.
_JUDGED_EDGES = 20_000


class GAugORun(AugmentedRun):
    """One run of GAug-O; after training it provides edge probabilities and sampled graphs.

    Args:
        visible: What the method may see.
        generator: Source of the noise.
        config: The settings.
        edge_bytes: Memory per edge of a sampled graph with the current model.
    """

    rate_setting = "edge_learning_rate"
    own_model = "edge predictor"

    def __init__(
        self,
        visible: Visible,
        generator: torch.Generator,
        config: GAugOConfig,
        edge_bytes: int,
    ) -> None:
        super().__init__(visible, generator)
        self.config = config
        self.edge_bytes = edge_bytes
        self.learns = config.variant != "random"
        self.beta = 0.0 if config.variant == "no-edge-loss" else config.beta
        self.distribution = EdgeDistribution.of(config)
        if config.alpha == 0:
            self.warning = (
                "GAug-O changed no edge: with alpha=0 it samples the original graph. Raise alpha."
            )
        elif config.variant == "rounding" and config.alpha < 0.5:
            self.warning = (
                f"GAug-O changed no edge: with alpha={config.alpha:g} the probabilities of edges"
                " stay above one half, and those of other pairs below. Raise alpha above 0.5, or"
                " use another variant."
            )
        num_nodes = visible.adjacency.num_nodes
        self.encoder = self._new_encoder(scaled=False)
        self._capped: str | None = None
        self._room = SampleRoom()
        sparse = resolved_engine(config, num_nodes) == "sparse"
        self.judge = EdgeJudge(visible.adjacency, _JUDGED_EDGES if sparse else None)
        self._batch: Batch | None = None
        self._embedding: Embedding | None = None
        self._edge_loss = 0.0
        self._weight = 0.0  # of the edge loss in this step
        self._reached = False
        self._best: dict[str, Tensor] | None = None

    def next_round(self, previous: RoundResult | None) -> Round | None:
        """Pretraining of the predictor and of the classifier, if any, then joint training."""
        config, original = self.config, self.visible.adjacency
        alone = previous is None and self.learns and config.pretrain_predictor_epochs > 0
        ranks = self.visible.ranks
        if (
            previous is not None
            and previous.round.method_alone
            and ranks.of_first(self._learns_better_scaled)
        ):
            self.encoder, alone = self._new_encoder(scaled=True), True
        # Adam starts afresh in each of them.
        self.optimizer = self._new_optimizer()
        if alone:
            return Round(
                original,
                epochs=config.pretrain_predictor_epochs,
                method_alone=True,
                anew=previous is not None,
            )
        if previous is None or previous.round.method_alone:
            if config.pretrain_classifier_epochs:
                return Round(
                    original,
                    epochs=config.pretrain_classifier_epochs,
                    pretraining=True,
                    keep_best=config.pretrain_weights == "best",
                )
            return Round(original)
        return Round(original, keep_weights=True) if previous.round.pretraining else None

    def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
        """The original graph in pretraining, then a new sample in each step."""
        self._batch, self._embedding = batch, None
        if current.pretraining:
            return batch.adjacency
        if current.method_alone:
            self.encoder.train()
            self._embedding = self._embed(batch.features, batch.adjacency)
            self._weight = 1.0
            return batch.adjacency
        assert current.epochs is not None, "the loop sets the number of epochs"
        rate = warmed_up(epoch, current.epochs, self.config.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * self.config.edge_learning_rate
        if not self.learns:
            return self._sample(self._by_chance(batch.adjacency), batch.adjacency)
        self.encoder.train()
        self._embedding = self._embed(batch.features, batch.adjacency)
        self._weight = self.beta
        # A separate tensor that the edge loss does not use.
        z = self._embedding.z
        prepared = self.distribution.prepare(z).view_as(z)
        prepared.register_hook(self._note_gradient)  # type: ignore[no-untyped-call]
        return self._sample(prepared, batch.adjacency)

    def extra_loss(self) -> Tensor | None:
        """The edge loss, weighted in joint training."""
        if self._embedding is None or self._batch is None:
            return None
        z = self._embedding.z
        if not bool(torch.isfinite(z).all()):
            # The sample would hide it: every comparison with NaN is false, so no pair is joined.
            return z.new_tensor(math.nan)
        if self._weight == 0:
            return None
        loss = self.encoder.loss(self._embedding, self._batch.adjacency, self.generator)
        self._edge_loss = loss.item()
        return self._weight * loss

    def parameters(self) -> Iterable[nn.Parameter]:
        """Those of the edge predictor."""
        return self.encoder.parameters()

    def after_step(self) -> None:
        """The step of the edge predictor."""
        if self._embedding is not None:
            self.optimizer.step()
            self.optimizer.zero_grad()

    def on_best(self) -> None:
        """Keep the predictor of the best epoch unless it is broken, which validation cannot see."""
        self._best = finite_weights(self.encoder) or self._best

    def combine(self, results: Sequence[RoundResult]) -> Tensor:
        """Class probabilities of joint training; restores the predictor of the best epoch."""
        self._embedding = self._batch = None
        if self._best is not None:
            self.encoder.load_state_dict(self._best)
        self.warning = self.warning or self._flaw() or self._capped
        return super().combine(results)

    def log(self) -> dict[str, float]:
        """The edge loss, whether it is used or not, the edge AUC, and the predictor's rate.

        In mini-batches, those of the last batch.
        """
        if self._embedding is None or self._batch is None:
            return {}
        if self.beta == 0:
            # From its own random pairs: a history must not change what is trained on.
            drawn = torch.Generator().manual_seed(0)
            with torch.no_grad():
                loss = self.encoder.loss(self._embedding, self._batch.adjacency, drawn)
            self._edge_loss = loss.item()
        row = {
            "edge_learning_rate": self.optimizer.param_groups[0]["lr"],
            "edge_loss": self._edge_loss,
        }
        judge = self.judge if self._batch.nodes is None else EdgeJudge(self._batch.adjacency)
        auc = judge.auc(self._embedding.z)
        if auc is not None:
            row["edge_auc"] = auc
        return row

    def state(self) -> dict[str, Any]:
        """The predictor, its optimizer, and the predictor of the best epoch."""
        return {
            "encoder": self.encoder.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "best": self._best,
            "reached": self._reached,
            "capped": self._capped,
        }

    def restore(self, state: dict[str, Any], results: Sequence[RoundResult]) -> None:
        """Go on from a saved state."""
        self.encoder = self._new_encoder(scaled="input_scale.center" in state["encoder"])
        self.encoder.load_state_dict(state["encoder"])
        self.optimizer = self._new_optimizer()
        self.optimizer.load_state_dict(state["optimizer"])
        self._best, self._reached = state["best"], state["reached"]
        self._capped = state["capped"]

    def edge_probabilities(self, pairs: Tensor) -> Tensor:
        """P of each pair, the probability that a sample joins it.  [2, n] → [n]"""
        return self.learned_edges().probabilities(pairs)

    def sample_graph(self) -> Data:
        """A new graph from the probabilities: its edges, without features and labels.

        With ``variant=no-sampling`` it has all pairs, with their probabilities as ``edge_weight``.
        """
        return self.learned_edges().sample_graph(draw_seed(self.generator))

    @torch.no_grad()
    def learned_edges(self) -> LearnedEdges:
        """What the predictor has learned about the edges so far."""
        return LearnedEdges.of(self.config, self._prepared(), self.visible.adjacency)

    def _flaw(self) -> str | None:
        """What is wrong with the trained predictor."""
        if not self.learns:
            return None
        prepared = self._prepared()
        if not bool(torch.isfinite(prepared).all()):
            return (
                "GAug-O's edge predictor is broken: it gives probabilities that are not numbers."
                " Try a lower edge_learning_rate."
            )
        if (self.beta > 0 and self._is_blind(prepared)) or not bool(prepared.any()):
            return (
                "GAug-O's edge predictor has learned nothing: it separates edges from other pairs"
                " no better than chance. Scale features by column, if not done already"
                " (feature_scaling=columns), or lower edge_learning_rate."
            )
        if not self._reached:
            return (
                "The classification loss did not reach GAug-O's edge predictor: the model does not"
                " use edge_weight. Multiply messages by it, as GraphConv does and SAGEConv does"
                " not."
            )
        return None

    def _is_blind(self, prepared: Tensor) -> bool:
        auc = self.judge.auc(prepared)
        return auc is not None and not has_learned(auc)

    @torch.no_grad()
    def _learns_better_scaled(self) -> bool:
        """Whether pretraining came to nothing, and has not been tried with an input scale yet."""
        if self.encoder.input_scale is not None:
            return False
        prepared = self._prepared()
        return not bool(torch.isfinite(prepared).all()) or self._is_blind(prepared)

    def _new_encoder(self, *, scaled: bool) -> EdgeEncoder:
        visible = self.visible
        scale = InputScale.of(visible.features) if scaled else None
        width, num_nodes = int(visible.features.shape[1]), visible.adjacency.num_nodes
        return EdgeEncoder.of(self.config, width, num_nodes, scale).to(visible.labels.device)

    def _note_gradient(self, _: Tensor) -> None:
        self._reached = True

    def _embed(self, features: Features, adjacency: Adjacency) -> Embedding:
        embedding: Embedding = self.encoder(features, adjacency, self.generator)
        return embedding

    def _prepared(self) -> Tensor:
        """Current embeddings of the predictor, without the noise of training."""
        if not self.learns:
            return self._by_chance(self.visible.adjacency)
        self.encoder.eval()
        embedding = self._embed(self.visible.features, self.visible.adjacency)
        return self.distribution.prepare(embedding.z)

    @staticmethod
    def _by_chance(adjacency: Adjacency) -> Tensor:
        """Embeddings that give every pair the edge density of a graph.  [N, 1]"""
        num_nodes = adjacency.num_nodes
        share = adjacency.num_pairs / max(1, num_nodes * (num_nodes - 1) / 2)
        return torch.full((num_nodes, 1), share**0.5, device=adjacency.pattern.col.device)

    def _sample(self, prepared: Tensor, adjacency: Adjacency) -> Adjacency:
        # If every pair is weighted, nothing is drawn.
        seed = 0 if self.config.variant == "no-sampling" else draw_seed(self.generator)
        learned = LearnedEdges.of(self.config, prepared, adjacency, self.edge_bytes)
        self._capped = self._capped or learned.note
        return learned.sample(seed, self._room)

    def _new_optimizer(self) -> torch.optim.Adam:
        return torch.optim.Adam(
            self.encoder.parameters(), lr=self.config.edge_learning_rate, fused=True
        )
