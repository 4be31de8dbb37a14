"""Features smoothed over the graph as an edge predictor: what a node and its surroundings are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds
from torch import Tensor
from torch_geometric.data import Data

from gaug.config import Range, setting
from gaug.edge_predictors.base import PredictorConfig
from gaug.edge_predictors.embedded import EmbeddingPredictor
from gaug.edge_predictors.features import unit_rows
from gaug.graph import to_scipy, to_scipy_features
from gaug.pairs.ranking import OnShare

# What is left of the start after the last step is not above this.
_REMAINDER = 1e-4


@dataclass(frozen=True)
class SmoothedFeaturesConfig(PredictorConfig):
    """Settings of `SmoothedFeatures`."""

    name: ClassVar[str] = "smoothed"

    components: int = setting(
        64, "Principal directions of the features that are kept.", within=Range(1)
    )
    restart: float = setting(
        0.1,
        "Share of a node's own features at each step of smoothing; 1 smooths nothing.",
        within=Range(0, 1, low_open=True),
    )


class SmoothedFeatures(EmbeddingPredictor):
    r"""Cosine of features that personalised PageRank has spread over the graph.

    $$
    Z = \alpha \bigl(I - (1 - \alpha) \tilde D^{-1/2} (A + I) \tilde D^{-1/2}\bigr)^{-1} L, \qquad
    s(u, v) = \cos(z_u - \bar z, z_v - \bar z)
    $$

    L has the TF-IDF features of each node (see `FeatureSimilarity`) in their first principal
    directions (latent semantic analysis, Deerwester et al., 1990), which joins words that mean the
    same and bounds memory by N times ``components``. The smoothing is that of APPNP (Klicpera et
    al., ICLR 2019). Nothing is trained.

    Args:
        config: Its settings.

    Attributes:
        embeddings_: Centred smoothed features of length 1.  [N, d]
    """

    def __init__(self, config: SmoothedFeaturesConfig | None = None) -> None:
        self.config = config or SmoothedFeaturesConfig()

    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        sparse = data.x.layout != torch.strided
        x = to_scipy_features(data.x) if sparse else csr_matrix(data.x.double().cpu().numpy())
        latent = principal_coordinates(unit_rows(x, weighted=True), self.config.components)
        smooth = spread(latent, to_scipy(data.edge_index, self.num_nodes_), self.config.restart)
        centred = torch.from_numpy(smooth - smooth.mean(axis=0))
        norms = centred.norm(dim=1, keepdim=True)
        return (centred / torch.where(norms > 0, norms, 1.0)).float()


def principal_coordinates(rows: csr_matrix, count: int) -> np.ndarray:
    """Coordinates along the first right singular vectors; all columns if there are few.  [N, d]"""
    if rows.nnz == 0:
        return np.zeros((rows.shape[0], 1))
    if min(rows.shape) <= count + 1:
        return np.asarray(rows.toarray())  # few nodes or few features: small either way
    # A fixed start makes the result the same each time.
    left, values, _ = svds(rows, k=count, v0=np.ones(min(rows.shape)))
    return np.asarray(left * values)


def spread(start: np.ndarray, adjacency: csr_matrix, restart: float) -> np.ndarray:
    """Personalised PageRank of each column over the symmetrically normalised graph.  [N, d]"""
    looped = adjacency + scipy.sparse.eye(adjacency.shape[0], format="csr")
    scale = scipy.sparse.diags(1 / np.sqrt(np.asarray(looped.sum(axis=1)).ravel()))
    step = csr_matrix(scale @ looped @ scale)
    result = start
    remainder = 1.0 - restart
    while remainder > _REMAINDER:
        result = (1 - restart) * (step @ result) + restart * start
        remainder *= 1 - restart
    return np.asarray(result)
