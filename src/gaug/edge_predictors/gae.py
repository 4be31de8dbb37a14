"""Graph auto-encoders as edge predictors: GAE and VGAE."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.autoencoder import Encoder, train_autoencoder
from gaug.edge_predictors.config import GAEConfig, VGAEConfig
from gaug.edge_predictors.embedding import EmbeddingPredictor
from gaug.edge_predictors.input_scale import InputScale
from gaug.graph.adjacency import Adjacency
from gaug.models.base import as_features
from gaug.pairs.ranking import OnShare


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

    Features are taken as they are. If the encoder learns next to nothing from them, it is trained
    again on standardized columns (see `gaug.edge_predictors.input_scale`).

    Args:
        config: Its settings.

    Attributes:
        embeddings_: Embeddings of the nodes.  [N, d]
        encoder_: What was learned.
    """

    config_type = GAEConfig
    config: GAEConfig

    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        trained = train_autoencoder(data, self.config, seed, on_share)
        self.encoder_ = trained.encoder
        self.flaw_ = None
        if not trained.has_learned:
            self.flaw_ = (
                f"The edge predictor {self.config.name} has learned nothing: it separates edges"
                " from other pairs no better than chance, also with scaled features and at a lower"
                " learning rate. Use another one, such as features or ra."
            )
        return trained.embeddings

    @torch.no_grad()
    def _embed_again(self, data: Data) -> Tensor:
        means: Tensor = self.encoder_(as_features(data.x), Adjacency.of(data))[0]
        return means

    def learned(self) -> dict[str, Tensor]:
        """The weights of the encoder, and the scale of its input if it has one."""
        return dict(self.encoder_.state_dict())

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load the weights of an encoder."""
        width = learned["first.weight"].size(0)
        with torch.device("meta"):
            scaled = "input_scale.center" in learned
            scale = InputScale(torch.empty(width), torch.empty(width)) if scaled else None
            self.encoder_ = Encoder(width, self.config, scale)
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
