"""GAug-O's edge predictor: embeddings of nodes whose inner products score pairs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gaug.adjacency import Adjacency
from gaug.augment.gaug_o.config import GAugOConfig
from gaug.edge_predictors.edge_loss import edge_loss
from gaug.edge_predictors.gae import kl_divergence
from gaug.models.base import Features, Linear


class EdgeEncoder(nn.Module):
    r"""A graph auto-encoder in GAug-O's form, $Z = f(\tilde A \tilde A X W_0 W_1)$.

    There is no bias and no activation between the layers; f is ReLU where scores are divided by
    their maximum, which needs them not negative, and the identity where a sigmoid reads them. As
    all before f is linear, the weights are multiplied first, and what is aggregated is narrow.

    Args:
        in_features: Width of the features.
        hidden: Width of the hidden layer.
        embedding: Width of the embeddings.
        rectified: Whether f is ReLU.
        variational: Whether embeddings are drawn around their means in training (VGAE).
        loss_form: One of `gaug.edge_predictors.edge_loss.FORMS`.
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
    ) -> None:
        super().__init__()
        self.first = Linear(in_features, hidden)
        self.mean = Linear(hidden, embedding)
        self.log_deviation = Linear(hidden, embedding) if variational else None
        for layer in (self.first, self.mean, self.log_deviation):
            if layer is not None:
                layer.bias.requires_grad_(False)
        self.rectified = rectified
        self.loss_form = loss_form
        self.penalty = torch.zeros(())

    @classmethod
    def of(cls, config: GAugOConfig, in_features: int) -> EdgeEncoder:
        """That of settings of GAug-O."""
        return cls(
            in_features,
            config.edge_hidden,
            config.edge_embedding,
            rectified=config.edge_probability == "max-normalised",
            variational=config.edge_model == "vgae",
            loss_form="dense" if config.engine == "dense" else "exact",
        )

    def forward(
        self, x: Features, adjacency: Adjacency, generator: torch.Generator | None = None
    ) -> Tensor:
        """Embeddings; in training, their divergence from the prior is left in ``penalty``.  [N, d]

        Args:
            x: Features.  [N, F]
            adjacency: The graph.
            generator: Source of what a VGAE draws, on the CPU; by default PyTorch's own.
        """
        z = self._twice_aggregated(self.mean, x, adjacency)
        if self.log_deviation is not None and self.training:
            log_deviation = self._twice_aggregated(self.log_deviation, x, adjacency)
            self.penalty = kl_divergence(z, log_deviation) / z.size(0) ** 2
            noise = torch.randn(z.shape, generator=generator, dtype=z.dtype).to(z.device)
            z = z + noise * log_deviation.exp()
        return z.relu() if self.rectified else z

    def __getstate__(self) -> dict[str, Any]:
        """Without what the last call computed, which cannot be copied."""
        return {**self.__dict__, "penalty": torch.zeros(())}

    def _twice_aggregated(self, last: Linear, x: Features, adjacency: Adjacency) -> Tensor:
        h: Tensor = x @ last(self.first.weight)
        return adjacency.symmetric(adjacency.symmetric(h))

    def loss(self, z: Tensor, adjacency: Adjacency) -> Tensor:
        """How badly the embeddings tell the entries of A + I from all other pairs.

        In training the divergence of a VGAE's last embeddings from their prior counts, too.
        """
        loss = edge_loss(z, adjacency, self.loss_form)
        return loss + self.penalty if self.training else loss
