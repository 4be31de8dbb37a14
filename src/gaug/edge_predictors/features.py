"""Feature similarity as an edge predictor: on social graphs features say more than edges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.config import FeatureSimilarityConfig
from gaug.graph.matrices import to_scipy_features
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.ranking import OnShare

# Pairs scored at a time, to bound memory.
_PAIRS_AT_A_TIME = 1 << 16
# Of wide rows, a product of fewer than this many at a time is slow.
_ROWS_AT_A_TIME = 64
_MOST_AT_A_TIME = 1 << 22


class FeatureSimilarity(EdgePredictor):
    r"""Cosine of the features of two nodes, by default with rare features weighted up.

    $$
    s(u, v) = \frac{\langle \hat x_u, \hat x_v \rangle}{\|\hat x_u\| \, \|\hat x_v\|}, \qquad
    \hat x_{uf} = x_{uf} \Bigl(1 + \log \frac{1 + N}{1 + n_f}\Bigr)
    $$

    with $n_f$ the number of nodes that have feature f (the smoothed inverse document frequency of
    Manning, Raghavan and Schütze, 2008, section 6.2, as in scikit-learn). A node without features
    is similar to no other node. Sparse features stay sparse; edges are ignored.

    Args:
        config: Its settings.

    Attributes:
        weights_: The weight of each feature; None if unweighted.  [F]
    """

    config_type = FeatureSimilarityConfig
    config: FeatureSimilarityConfig

    looks_at_features = True
    weights_: np.ndarray | None

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self.weights_ = rarity(data.x) if self.config.weighting == "tfidf" else None
        self._adapt(data)

    def _adapt(self, data: Data) -> None:
        self._dense: InnerProductScores | None = None
        if data.x.layout == torch.strided:
            x = data.x.double().cpu()
            if self.weights_ is not None:
                x = x * torch.from_numpy(self.weights_)
            norms = x.norm(dim=1, keepdim=True)
            self._dense = InnerProductScores(x / torch.where(norms > 0, norms, 1.0))
            self.slack = self._dense.slack
            self.block_elements = min(_ROWS_AT_A_TIME * self.num_nodes_, _MOST_AT_A_TIME)
        else:
            self._rows = unit_rows(to_scipy_features(data.x), self.weights_)
            self.slack, self.block_elements = 0.0, None

    def learned(self) -> dict[str, Tensor]:
        """The weight of each feature, if weighted."""
        return {} if self.weights_ is None else {"weights": torch.from_numpy(self.weights_)}

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load the weights of the features."""
        self.weights_ = learned["weights"].numpy() if "weights" in learned else None

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The cosine of each pair.  [2, n] → [n]"""
        self.check_pairs(pairs)
        if self._dense is not None:
            return self._dense.edge_logits(pairs)
        first, second = pairs.cpu().numpy()
        ones = np.ones(self._rows.shape[1])
        result = np.empty(first.size, dtype=np.float32)
        for start in range(0, first.size, _PAIRS_AT_A_TIME):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            # The sum runs over the shared features in ascending order, as in a row of the product.
            result[part] = self._rows[first[part]].multiply(self._rows[second[part]]).tocsr() @ ones
        return torch.from_numpy(result)

    def score_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """Scores of nodes start to stop with all nodes from first_column.  [stop - start, …]"""
        if self._dense is not None:
            return self._dense.score_rows(start, stop, first_column)
        block = self._rows[start:stop] @ self._rows[first_column:].T.tocsr()
        return torch.from_numpy(block.toarray().astype(np.float32))

    def exact_rows(self, start: int, stop: int, first_column: int) -> Tensor:
        """The same, equal to the scores of `edge_logits`.  [stop - start, …]"""
        if self._dense is not None:
            return self._dense.exact_rows(start, stop, first_column)
        return self.score_rows(start, stop, first_column)


def rarity(x: Tensor | csr_matrix) -> np.ndarray:
    """The weight of each feature, from the number of nodes that have it.  [F]"""
    if isinstance(x, Tensor) and x.layout == torch.strided:
        counts = (x != 0).sum(dim=0).cpu().numpy()
    else:
        rows = to_scipy_features(x) if isinstance(x, Tensor) else x
        counts = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])
    return np.asarray(1 + np.log((1 + x.shape[0]) / (1 + counts)))


def unit_rows(x: csr_matrix, weights: np.ndarray | None) -> csr_matrix:
    """Rows scaled to length 1, optionally with weighted features; zero rows stay zero."""
    rows = x.astype(np.float64)
    rows.sort_indices()
    if weights is not None:
        rows.data = rows.data * weights[rows.indices]
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = scipy.sparse.diags(1 / np.where(norms > 0, norms, 1.0))
    return csr_matrix(scale @ rows)
