"""GAug-O's graph sampler for custom training loops."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gaug.config import assign_settings
from gaug.errors import ConfigError, DataError
from gaug.graph.adjacency import Adjacency
from gaug.graph.valid import standardize
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.edge_encoder import EdgeEncoder, Embedding
from gaug.methods.gaug_o.learned_edges import LearnedEdges
from gaug.methods.gaug_o.memory import check_settings
from gaug.models.base import as_features
from gaug.seeding import draw_seed, seeded
from gaug.telling import warn

_OF_THE_LOOP = (
    "beta",
    "warmup",
    "pretrain_predictor_epochs",
    "pretrain_classifier_epochs",
    "pretrain_weights",
    "edge_learning_rate",
)


class EdgeSampler(nn.Module):
    """A module that returns a new, differentiable sampled graph at each call.

    It is the edge half of `gaug.GAugO`: an auto-encoder of the nodes, whose probabilities are mixed
    with the graph (``alpha``) and sampled. Pass its parameters to your optimizer and add
    `edge_loss` to your loss. It computes on the device of the graph.

    Args:
        data: The graph, with features.
        config: Settings; those of the loop itself (pretraining, warm-up, learning rate, ``beta``)
            are up to your loop.
        seed: Seed of weights and samples.
        settings: Single settings by name, for instance ``alpha=0.3``.

    Examples:
        >>> from gaug.data.catalog.loading import load_graph
        >>> sampler = EdgeSampler(load_graph("karate"), alpha=0.3)
        >>> graph = sampler()
        >>> graph.edge_index.shape[0], bool(graph.weight.requires_grad)
        (2, True)
    """

    def __init__(
        self, data: Data, config: GAugOConfig | None = None, *, seed: int = 0, **settings: Any
    ) -> None:
        super().__init__()
        changed = assign_settings({"method": config or GAugOConfig()}, settings)["method"]
        assert isinstance(changed, GAugOConfig)
        if changed.variant == "random":
            raise ConfigError(
                "variant='random' learns no edges. Use drop_edges or another variant."
            )
        if changed.variant == "no-edge-loss":
            raise ConfigError(
                "variant='no-edge-loss' is up to your loop: leave edge_loss() out of your loss."
            )
        plain = GAugOConfig()
        for name in _OF_THE_LOOP:
            if name in settings or getattr(changed, name) != getattr(plain, name):
                raise ConfigError(
                    f"{name} is a setting of GAug-O's own loop. Implement it in your loop."
                )
        valid, notes = standardize(copy.copy(data).cpu())  # not every device has sparse matrices
        device = data.edge_index.device
        if notes:
            warn(" ".join(notes))
        if valid.get("edge_weight") is not None:
            raise DataError(
                "GAug-O samples edges that are there or not, but this graph has edge weights."
                " Drop them (data.edge_weight = None)."
            )
        changed = changed.resolved(int(valid.num_nodes))
        check_settings(changed, int(valid.num_nodes))
        self.config = changed
        self.features = as_features(valid.x).to(device)
        self.adjacency = Adjacency.of(valid).to(device)
        with seeded(seed):
            encoder = EdgeEncoder.of(changed, int(valid.x.size(1)), int(valid.num_nodes))
            self.encoder = encoder.to(device)
        self._limit_told = False
        self._generator = torch.Generator().manual_seed(seed)

    def forward(self) -> Adjacency:
        """A new graph, both in training and in evaluation mode.

        Models of this package take it instead of ``edge_index``; with GCN, GraphSAGE and JK-Net,
        gradients reach every pair of nodes. Other modules take its ``edge_index`` and ``weight``,
        ones that carry the gradient of the sampled edges only, as with GAT.
        """
        learned = self._learned()
        if learned.note is not None and not self._limit_told:
            self._limit_told = True
            warn(learned.note)
        return learned.sample(draw_seed(self._generator))

    def edge_loss(self) -> Tensor:
        """The predictor's current loss of separating the edges from all other pairs."""
        return self.encoder.loss(self._embed(), self.adjacency, self._generator)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> EdgeSampler:
        """Move the graph along when ``to(device)`` moves the module."""
        dtype = fn(torch.empty(0)).dtype
        if dtype != torch.float32:
            raise ConfigError(f"EdgeSampler needs float32. Do not convert it to {dtype}.")
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        device = self.encoder.first.device
        self.features, self.adjacency = self.features.to(device), self.adjacency.to(device)
        return self

    @torch.no_grad()
    def edge_probabilities(self, pairs: Tensor) -> Tensor:
        """The probability that each pair is an edge of a sampled graph.  [2, n] → [n]"""
        was_training = self.training
        self.eval()
        learned = self._learned()
        self.train(was_training)
        return learned.probabilities(pairs)

    def _embed(self) -> Embedding:
        embedding: Embedding = self.encoder(self.features, self.adjacency, self._generator)
        return embedding

    def _learned(self) -> LearnedEdges:
        prepared = EdgeDistribution.of(self.config).prepare(self._embed().z)
        return LearnedEdges.of(self.config, prepared, self.adjacency)
