"""GAug-O's edge predictor: embeddings of nodes whose inner products score pairs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from gaug.edge_predictors.autoencoder import kl_divergence
from gaug.edge_predictors.edge_loss import COLUMNS, edge_loss
from gaug.edge_predictors.input_scale import InputScale
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.config import GAugOConfig, resolved_engine
from gaug.models.base import Features, new_weight

# With rectified embeddings, a VGAE's standard deviations start at e^-2, not at 1: that much noise
# scores every pair, so all means would be driven below 0, from where a ReLU has no gradient.
_NARROWER = -2.0

_LOSS_FORMS = {"dense": "dense", "blocked": "exact", "sparse": "sampled"}


class Embedding(NamedTuple):
    """The predictor's embeddings of the nodes.

    Attributes:
        z: Embeddings.  [N, d]
        divergence: The KL term that a VGAE adds to its loss in training; otherwise 0.
    """

    z: Tensor
    divergence: Tensor


class EdgeEncoder(nn.Module):
    r"""A graph auto-encoder in GAug-O's form, $Z = f(\tilde A \tilde A X W_0 W_1)$.

    There is no bias and no activation between the layers. f is ReLU if scores are divided by their
    maximum, because they must not be negative, and the identity if a sigmoid follows. Since
    everything before f is linear, the weights are multiplied first, so aggregation is narrow.

    Args:
        in_features: Width of the features.
        hidden: Width of the hidden layer.
        embedding: Width of the embeddings.
        rectified: Whether f is ReLU.
        variational: Whether embeddings are drawn around their means in training (VGAE).
        loss_form: One of `gaug.edge_predictors.edge_loss.FORMS`.
        loss_columns: Random pairs per node of the form ``sampled``.
        input_scale: How features are scaled; None: they are taken as they are.
    """

    def __init__(
        self,
        in_features: int,
        hidden: int,
        embedding: int,
        *,
        rectified: bool,
        variational: bool,
        loss_form: str = "exact",
        loss_columns: int = COLUMNS,
        input_scale: InputScale | None = None,
    ) -> None:
        super().__init__()
        self.input_scale = input_scale
        self.first = new_weight(in_features, hidden)
        self.mean = new_weight(hidden, embedding)
        self.log_deviation = new_weight(hidden, embedding) if variational else None
        self.rectified = rectified
        self.loss_form, self.loss_columns = loss_form, loss_columns

    @classmethod
    def of(
        cls,
        config: GAugOConfig,
        in_features: int,
        num_nodes: int,
        input_scale: InputScale | None = None,
    ) -> EdgeEncoder:
        """The encoder for settings of GAug-O and a graph of this size."""
        return cls(
            in_features,
            config.edge_hidden,
            config.edge_embedding,
            rectified=config.edge_probability == "max-normalized",
            variational=config.edge_model == "vgae",
            loss_form=_LOSS_FORMS[resolved_engine(config, num_nodes)],
            loss_columns=config.sampled_pairs,
            input_scale=input_scale,
        )

    def forward(
        self, x: Features, adjacency: Adjacency, generator: torch.Generator | None = None
    ) -> Embedding:
        """Embeddings of the nodes.

        Args:
            x: Features.  [N, F]
            adjacency: The graph.
            generator: Source of a VGAE's noise, on the CPU; by default PyTorch's own.
        """
        z = self._twice_aggregated(self.mean, x, adjacency)
        divergence = z.new_zeros(())
        if self.log_deviation is not None and self.training:
            log_deviation = self._twice_aggregated(self.log_deviation, x, adjacency)
            if self.rectified:
                log_deviation = log_deviation + _NARROWER
            divergence = kl_divergence(z, log_deviation) / z.size(0) ** 2
            noise = torch.randn(z.shape, generator=generator, dtype=z.dtype).to(z.device)
            z = z + noise * log_deviation.exp()
        return Embedding(z.relu() if self.rectified else z, divergence)

    def loss(
        self, embedding: Embedding, adjacency: Adjacency, generator: torch.Generator | None = None
    ) -> Tensor:
        """The loss of separating the entries of A + I from all other pairs by embeddings.

        Args:
            embedding: From `forward`.
            adjacency: The graph.
            generator: Source of the random pairs of a sampled loss; by default PyTorch's own.
        """
        loss = edge_loss(
            embedding.z, adjacency, self.loss_form, generator, columns=self.loss_columns
        )
        return loss + embedding.divergence

    def _twice_aggregated(self, last: Tensor, x: Features, adjacency: Adjacency) -> Tensor:
        weight = self.first @ last
        h = x @ weight if self.input_scale is None else self.input_scale.product(x, weight)
        return adjacency.symmetric(adjacency.symmetric(h))
