"""The encoder of a graph auto-encoder, and its training."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gaug.edge_predictors.config import GAEConfig, VGAEConfig
from gaug.edge_predictors.edge_loss import edge_loss
from gaug.edge_predictors.evaluation import has_learned, hold_out_edges, random_pairs, roc_auc
from gaug.edge_predictors.input_scale import InputScale
from gaug.errors import ConfigError, TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.graph.edges import undirected_pairs
from gaug.graph.neighborhood import Neighborhoods
from gaug.graph.neighborhood_batches import neighborhood_batches
from gaug.models.base import Features, Linear, aggregate_linear, as_features, rows_of
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.ranking import OnShare
from gaug.seeding import seeded

#: Use the exact loss over all pairs up to this many nodes, and the sampled one beyond.
EXACT_UP_TO = 25_000
_EPOCHS_BETWEEN_CHECKS = 10
_LAYERS = 2
# Below this AUC on its own training edges, another way to train is tried. With features on a usual
# scale it is 0.75 and more; where it is lower, most of the encoder's units are dead.
_WEAK = 0.65


class _Attempt(NamedTuple):
    """One way to train: whether the input is scaled, and a factor of the learning rate."""

    scaled: bool
    rate: float


_ATTEMPTS = (_Attempt(False, 1.0), _Attempt(True, 1.0), _Attempt(True, 0.1))


class Encoder(nn.Module):
    """Two graph convolutions, with a second head for the standard deviation if variational.

    Args:
        in_features: Width of the features.
        config: The settings.
        input_scale: How features are scaled; None: they are taken as they are.
    """

    def __init__(
        self, in_features: int, config: GAEConfig, input_scale: InputScale | None = None
    ) -> None:
        super().__init__()
        self.input_scale = input_scale
        self.first = Linear(in_features, config.predictor_hidden)
        self.mean = Linear(config.predictor_hidden, config.embedding)
        variational = isinstance(config, VGAEConfig)
        self.log_deviation = (
            Linear(config.predictor_hidden, config.embedding) if variational else None
        )

    def forward(self, x: Features, adjacency: Adjacency) -> tuple[Tensor, Tensor | None]:
        """Means, and log standard deviations if variational.  [N, d] each"""
        h = self._hidden(x, adjacency).relu()
        mean = aggregate_linear(self.mean, h, adjacency.symmetric)
        if self.log_deviation is None:
            return mean, None
        return mean, aggregate_linear(self.log_deviation, h, adjacency.symmetric)

    def _hidden(self, x: Features, adjacency: Adjacency) -> Tensor:
        if self.input_scale is None:
            return aggregate_linear(self.first, x, adjacency.symmetric)
        return adjacency.symmetric(self.input_scale.product(x, self.first.weight)) + self.first.bias


class TrainedEncoder(NamedTuple):
    """What training came to.

    Attributes:
        embeddings: Embeddings of the nodes.  [N, d]
        encoder: The encoder of the same epoch.
        auc: How often an edge outscores a random pair.
        density: The share of edges among random pairs.
    """

    embeddings: Tensor
    encoder: Encoder
    auc: float
    density: float

    @property
    def has_learned(self) -> bool:
        """Whether edges outscore random pairs more often than by chance."""
        return has_learned(self.auc, self.density)

    @property
    def is_weak(self) -> bool:
        """Whether that is so seldom that another way to train may do better."""
        return not has_learned(self.auc, self.density, _WEAK)


def train_autoencoder(
    data: Data, config: GAEConfig, seed: int, on_share: OnShare | None = None
) -> TrainedEncoder:
    """The encoder of the epoch with the best AUC on the selection edges.

    If it has learned next to nothing, as from features of a large mean that make all embeddings
    equal, it is trained again with an input scale, and then at a lower learning rate. The best
    counts.
    """
    if (config.predictor_batch_size or 0) > int(data.num_nodes):
        raise ConfigError(
            f"predictor_batch_size must be at most the number of nodes, {data.num_nodes:,}, got"
            f" {config.predictor_batch_size:,}. Without it, a step trains on the whole graph."
        )
    best: TrainedEncoder | None = None
    problem: TrainingError | None = None
    for attempt in _ATTEMPTS:
        try:
            found = _train(data, config, seed, attempt, on_share)
        except TrainingError as error:
            problem = problem or error
            continue
        if best is None or found.auc > best.auc:
            best = found
        if not best.is_weak:
            break
    if best is None:
        assert problem is not None
        raise problem
    return best


def _train(
    data: Data, config: GAEConfig, seed: int, attempt: _Attempt, on_share: OnShare | None
) -> TrainedEncoder:
    num_nodes = int(data.num_nodes)
    generator = torch.Generator().manual_seed(seed)
    kept, chosen_by = hold_out_edges(data, config.holdout_fraction, generator)
    if config.holdout_fraction == 0:
        chosen_by = undirected_pairs(data.edge_index)
    negatives = random_pairs(num_nodes, chosen_by.size(1), generator)
    form = config.edge_loss
    if form == "auto":
        form = "exact" if num_nodes <= EXACT_UP_TO else "sampled"
    features, adjacency = as_features(data.x), Adjacency.of(kept)
    scale = InputScale.of(features) if attempt.scaled else None
    with seeded(seed):
        encoder = Encoder(int(features.shape[1]), config, scale)
    optimizer = torch.optim.Adam(
        encoder.parameters(), lr=config.predictor_learning_rate * attempt.rate, fused=True
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
    density = data.num_edges / (num_nodes * (num_nodes - 1))
    return TrainedEncoder(best, encoder, best_auc, density)


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
