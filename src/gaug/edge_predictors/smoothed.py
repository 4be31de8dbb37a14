"""Features smoothed over the graph as an edge predictor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.config import SmoothedFeaturesConfig
from gaug.edge_predictors.embedding import EmbeddingPredictor
from gaug.edge_predictors.features import rarity, unit_rows
from gaug.graph.matrices import to_scipy, to_scipy_features
from gaug.pairs.ranking import OnShare

# Smoothing stops when the remaining weight of the start is at most this.
_REMAINDER = 1e-4


class SmoothedFeatures(EmbeddingPredictor):
    r"""Cosine of features spread over the graph by personalized PageRank.

    $$
    Z = \alpha \bigl(I - (1 - \alpha) \tilde D^{-1/2} (A + I) \tilde D^{-1/2}\bigr)^{-1} L, \qquad
    s(u, v) = \cos(z_u - \bar z, z_v - \bar z)
    $$

    L has the TF-IDF features of each node (see `FeatureSimilarity`) in their first principal
    directions (latent semantic analysis, Deerwester et al., 1990), which merges words with the same
    meaning and limits memory to N times ``components``. The smoothing is that of APPNP (Klicpera
    et al., ICLR 2019). Nothing is trained.

    Args:
        config: Its settings.

    Attributes:
        embeddings_: Centered smoothed features of length 1.  [N, d]
        weights_: The weight of each feature.  [F]
        directions_: The principal directions; None if there are few features.  [d, F]
        centre_: The mean of the smoothed features.  [d]
    """

    config_type = SmoothedFeaturesConfig
    config: SmoothedFeaturesConfig

    weights_: np.ndarray
    directions_: np.ndarray | None
    centre_: np.ndarray

    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        x = _as_scipy(data.x)
        self.weights_ = rarity(x)
        rows = unit_rows(x, self.weights_)
        latent, self.directions_ = principal_coordinates(rows, self.config.components)
        smooth = spread(latent, to_scipy(data.edge_index, self.num_nodes_), self.config.restart)
        self.centre_ = smooth.mean(axis=0)
        return _unit_length(smooth - self.centre_)

    def _embed_again(self, data: Data) -> Tensor:
        rows = unit_rows(_as_scipy(data.x), self.weights_)
        latent = rows.toarray() if self.directions_ is None else rows @ self.directions_.T
        smooth = spread(latent, to_scipy(data.edge_index, self.num_nodes_), self.config.restart)
        return _unit_length(smooth - self.centre_)

    def learned(self) -> dict[str, Tensor]:
        """Weights of the features, principal directions and the mean."""
        found = {"weights": self.weights_, "center": self.centre_}
        if self.directions_ is not None:
            found["directions"] = np.ascontiguousarray(self.directions_)
        return {name: torch.from_numpy(value) for name, value in found.items()}

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load weights, directions and mean."""
        self.weights_, self.centre_ = learned["weights"].numpy(), learned["center"].numpy()
        self.directions_ = learned["directions"].numpy() if "directions" in learned else None


def _as_scipy(x: Tensor) -> csr_matrix:
    if x.layout != torch.strided:
        return to_scipy_features(x)
    return csr_matrix(x.double().cpu().numpy())


def _unit_length(centered: np.ndarray) -> Tensor:
    rows = torch.from_numpy(centered)
    norms = rows.norm(dim=1, keepdim=True)
    return (rows / torch.where(norms > 0, norms, 1.0)).float()


def principal_coordinates(rows: csr_matrix, count: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Coordinates along the first right singular vectors, and these vectors.  [N, d], [d, F]

    If there are few columns, they are the coordinates themselves, and there are no vectors.
    """
    if rows.nnz == 0:
        return np.zeros((rows.shape[0], 1)), np.zeros((1, rows.shape[1]))
    if rows.shape[1] <= count + 1:
        return np.asarray(rows.toarray()), None
    if rows.shape[0] <= count + 1:
        _, _, right = np.linalg.svd(rows.toarray(), full_matrices=False)
        return np.asarray(rows @ right.T), right
    # A fixed start makes the result reproducible.
    left, values, right = svds(rows, k=count, v0=np.ones(min(rows.shape)))
    return np.asarray(left * values), right


def spread(start: np.ndarray, adjacency: csr_matrix, restart: float) -> np.ndarray:
    """Personalized PageRank of each column over the symmetrically normalized graph.  [N, d]"""
    looped = adjacency + scipy.sparse.eye(adjacency.shape[0], format="csr")
    scale = scipy.sparse.diags(1 / np.sqrt(np.asarray(looped.sum(axis=1)).ravel()))
    step = csr_matrix(scale @ looped @ scale)
    result = start
    remainder = 1.0 - restart
    while remainder > _REMAINDER:
        result = (1 - restart) * (step @ result) + restart * start
        remainder *= 1 - restart
    return np.asarray(result)
