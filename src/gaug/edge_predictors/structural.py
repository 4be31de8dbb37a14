"""Structural similarity as an edge predictor: a hub is like a hub, wherever it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.common_neighbors import num_triangles
from gaug.edge_predictors.config import StructuralSimilarityConfig
from gaug.edge_predictors.embedding import EmbeddingPredictor
from gaug.graph.matrices import to_scipy
from gaug.pairs.ranking import OnShare


class StructuralSimilarity(EmbeddingPredictor):
    r"""How similar the positions of two nodes in the graph are, close together or not.

    $$
    s(u, v) = -\|z_u - z_v\|^2, \qquad
    Z = \bigl[F, \bar A F, \dots, \bar A^{k} F\bigr], \qquad
    F_u = \bigl(\log(1 + d_u), \log(1 + t_u)\bigr)
    $$

    with the degree d, the number of triangles t at a node, $\bar A$ the mean over the neighbors
    and k the ``depth``; every column of Z has mean 0 and standard deviation 1. Such numbers,
    averaged over the neighbors repeatedly, are the recursive features of Henderson et al. (KDD
    2011). Meant for graphs whose classes are roles, such as airports by their traffic, where
    neighbors differ and nodes far apart are alike. Features are ignored; nothing is trained.

    Args:
        config: Its settings.

    Attributes:
        embeddings_: The standardized columns.  [N, 2 (k + 1)]
        centre_: The mean of each column before standardizing.  [2 (k + 1)]
        scale_: Its standard deviation, or 1 if that is 0.  [2 (k + 1)]
    """

    config_type = StructuralSimilarityConfig
    config: StructuralSimilarityConfig

    looks_at_features = False
    scoring = "distance"
    centre_: np.ndarray
    scale_: np.ndarray

    def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
        places = recursive_features(to_scipy(data.edge_index, self.num_nodes_), self.config.depth)
        self.centre_, deviation = places.mean(axis=0), places.std(axis=0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        return torch.from_numpy((places - self.centre_) / self.scale_)

    def _embed_again(self, data: Data) -> Tensor:
        places = recursive_features(to_scipy(data.edge_index, self.num_nodes_), self.config.depth)
        return torch.from_numpy((places - self.centre_) / self.scale_)

    def learned(self) -> dict[str, Tensor]:
        """Mean and standard deviation of each column."""
        return {"center": torch.from_numpy(self.centre_), "scale": torch.from_numpy(self.scale_)}

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load means and standard deviations."""
        self.centre_, self.scale_ = learned["center"].numpy(), learned["scale"].numpy()


def recursive_features(adjacency: csr_matrix, depth: int) -> np.ndarray:
    """Logarithms of degree and triangles, and their repeated means over the neighbors.

    The means of a node without neighbors are 0.  [N, 2 (depth + 1)]
    """
    degrees = np.diff(adjacency.indptr)
    own = np.log1p(np.stack([degrees, num_triangles(adjacency)], axis=1))
    parts = [own]
    for _ in range(depth):
        parts.append((adjacency @ parts[-1]) / np.maximum(degrees, 1)[:, None])
    return np.concatenate(parts, axis=1)
