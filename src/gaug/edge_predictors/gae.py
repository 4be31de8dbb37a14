"""Graph auto-encoders as edge predictors: GAE and VGAE."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gaug.edge_predictors.config import GAEConfig, VGAEConfig
from gaug.edge_predictors.edge_loss import edge_loss
from gaug.edge_predictors.embedding import EmbeddingPredictor
from gaug.edge_predictors.evaluation import hold_out_edges, random_pairs, roc_auc
from gaug.errors import ConfigError, TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.graph.edges import undirected_pairs
from gaug.graph.neighborhood import Neighborhoods
from gaug.graph.neighborhood_batches import neighborhood_batches
from gaug.models.base import Features, Linear, aggregate_linear, as_features, rows_of
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.ranking import OnShare
from gaug.seeding import seeded

# Use the exact loss over all pairs up to this many nodes, and the sampled one beyond.
EXACT_UP_TO = 25_000
_EPOCHS_BETWEEN_CHECKS = 10
_LAYERS = 2


class GAE(EmbeddingPredictor):
    r"""Graph auto-encoder (Kipf and Welling, 2016; the paper's section 4.1).

    $$
    Z = \tilde A\, \mathrm{ReLU}(\tilde A X W_0)\, W_1, \qquad M = \sigma(Z Z^\top)
    $$

    with $\tilde A$ the GCN's normalized adjacency, trained on the weighted cross-entropy of
    `gaug.edge_predictors.edge_loss`. Pairs are ranked by their logit, not by the probability: the
    sigmoid saturates in float32 at about 17, and thousands of pairs would tie.

    With ``predictor_batch_size``, a step trains on some nodes and those within two hops of them,
    with the loss of the edges between all of these; an epoch goes through all nodes. The
    embeddings are computed on the whole graph, layer by layer.

    Args:
        config: Its settings.

    Attributes:
        embeddings_: Embeddings of the nodes.  [N, d]
        encoder_: What was learned.
    """

    config_type = GAEConfig
    config: GAEConfig

    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        embeddings, self.encoder_ = train_autoencoder(data, self.config, seed, on_share)
        return embeddings

    @torch.no_grad()
    def _embed_again(self, data: Data) -> Tensor:
        means: Tensor = self.encoder_(as_features(data.x), Adjacency.of(data))[0]
        return means

    def learned(self) -> dict[str, Tensor]:
        """The weights of the encoder."""
        return dict(self.encoder_.state_dict())

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load the weights of an encoder."""
        with torch.device("meta"):
            self.encoder_ = Encoder(learned["first.weight"].size(0), self.config)
        self.encoder_.load_state_dict(dict(learned), assign=True)


class VGAE(GAE):
    r"""Variational graph auto-encoder (Kipf and Welling, 2016).

    $$
    q(z_i) = \mathcal N(\mu_i, \operatorname{diag} \sigma_i^2), \quad
    L = L_{\text{edges}}(Z) + \tfrac{1}{N^2} \sum_i \mathrm{KL}\bigl(q(z_i) \,\Vert\,
    \mathcal N(0, I)\bigr)
    $$

    with $\mu$ and $\log \sigma$ from two heads over a shared first layer. Pairs are scored by the
    means $\mu$.

    Args:
        config: Its settings.
    """

    config_type = VGAEConfig


class Encoder(nn.Module):
    """Two graph convolutions, with a second head for the standard deviation if variational."""

    def __init__(self, in_features: int, config: GAEConfig) -> None:
        super().__init__()
        self.first = Linear(in_features, config.predictor_hidden)
        self.mean = Linear(config.predictor_hidden, config.embedding)
        variational = isinstance(config, VGAEConfig)
        self.log_deviation = (
            Linear(config.predictor_hidden, config.embedding) if variational else None
        )

    def forward(self, x: Features, adjacency: Adjacency) -> tuple[Tensor, Tensor | None]:
        """Means, and log standard deviations if variational.  [N, d] each"""
        h = aggregate_linear(self.first, x, adjacency.symmetric).relu()
        mean = aggregate_linear(self.mean, h, adjacency.symmetric)
        if self.log_deviation is None:
            return mean, None
        return mean, aggregate_linear(self.log_deviation, h, adjacency.symmetric)


def train_autoencoder(
    data: Data, config: GAEConfig, seed: int, on_share: OnShare | None = None
) -> tuple[Tensor, Encoder]:
    """Embeddings [N, d] and encoder of the epoch with the best AUC on the selection edges."""
    num_nodes = int(data.num_nodes)
    if (config.predictor_batch_size or 0) > num_nodes:
        raise ConfigError(
            f"predictor_batch_size must be at most the number of nodes, {num_nodes:,}, got"
            f" {config.predictor_batch_size:,}. Without it, a step trains on the whole graph."
        )
    generator = torch.Generator().manual_seed(seed)
    kept, chosen_by = hold_out_edges(data, config.holdout_fraction, generator)
    if config.holdout_fraction == 0:
        chosen_by = undirected_pairs(data.edge_index)
    negatives = random_pairs(num_nodes, chosen_by.size(1), generator)
    form = config.edge_loss
    if form == "auto":
        form = "exact" if num_nodes <= EXACT_UP_TO else "sampled"
    features, adjacency = as_features(data.x), Adjacency.of(kept)
    with seeded(seed):
        encoder = Encoder(int(features.shape[1]), config)
    optimizer = torch.optim.Adam(
        encoder.parameters(), lr=config.predictor_learning_rate, fused=True
    )
    parts = _Parts(features, adjacency, config, seed)
    best_auc, best, weights = -1.0, torch.empty(0), encoder.state_dict()
    for epoch in range(1, config.predictor_epochs + 1):
        for place, (x, graph) in enumerate(parts.of_epoch(epoch), start=1):
            optimizer.zero_grad()
            loss = _loss(encoder, x, graph, form, generator)
            if not bool(torch.isfinite(loss)):
                raise TrainingError(
                    f"The edge predictor's loss became {loss.item()} in epoch {epoch}."
                    " Try a lower predictor_learning_rate."
                )
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if on_share is not None:
                on_share((epoch - 1 + place / len(parts)) / config.predictor_epochs)
        checked = epoch % _EPOCHS_BETWEEN_CHECKS == 0 or len(parts) > 1
        if checked or epoch == config.predictor_epochs:
            with torch.no_grad():
                embeddings, _ = encoder(features, adjacency)
            scores = InnerProductScores(embeddings)
            auc = roc_auc(scores.edge_logits(chosen_by), scores.edge_logits(negatives))
            if auc > best_auc:
                best_auc, best = auc, embeddings
                weights = copy.deepcopy(encoder.state_dict())
    encoder.load_state_dict(weights)
    return best, encoder


class _Parts:
    """What the steps of an epoch train on: the whole graph, or mini-batches of it."""

    def __init__(
        self, features: Features, adjacency: Adjacency, config: GAEConfig, seed: int
    ) -> None:
        self._features = features
        self._adjacency = adjacency
        self._config = config
        self._seed = seed
        batched = config.predictor_batch_size is not None
        self._neighborhoods = Neighborhoods(adjacency) if batched else None

    def __len__(self) -> int:
        return -(-self._adjacency.num_nodes // (self._config.predictor_batch_size or sys.maxsize))

    def of_epoch(self, epoch: int) -> Iterator[tuple[Features, Adjacency]]:
        """Features and edges of each step."""
        if self._neighborhoods is None or self._config.predictor_batch_size is None:
            yield self._features, self._adjacency
            return
        yield from neighborhood_batches(
            self._neighborhoods,
            torch.arange(self._adjacency.num_nodes),
            lambda found: (rows_of(self._features, found.nodes), found.adjacency),
            batch_size=self._config.predictor_batch_size,
            hops=_LAYERS,
            fanout=self._config.predictor_fanout,
            seed=(self._seed, epoch),
        )


def _loss(
    encoder: Encoder, x: Features, adjacency: Adjacency, form: str, generator: torch.Generator
) -> Tensor:
    mean, log_deviation = encoder(x, adjacency)
    if log_deviation is None:
        return edge_loss(mean, adjacency, form, generator)
    noise = torch.randn(mean.shape, generator=generator)
    z = mean + noise * log_deviation.exp()
    penalty = kl_divergence(mean, log_deviation) / adjacency.num_nodes**2
    return edge_loss(z, adjacency, form, generator) + penalty


def kl_divergence(mean: Tensor, log_deviation: Tensor) -> Tensor:
    """Sum over nodes of KL(N(mean, deviation²) ‖ N(0, 1))."""
    return 0.5 * (mean.square() + (2 * log_deviation).exp() - 1 - 2 * log_deviation).sum()
