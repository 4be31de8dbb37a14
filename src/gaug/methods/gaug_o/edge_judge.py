"""How well an edge predictor's embeddings separate its training edges from other pairs."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from gaug.edge_predictors.evaluation import roc_auc
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import random_change
from gaug.pairs.inner_product import InnerProductScores


class EdgeJudge:
    """Compares the edges of a graph with as many other pairs, the same ones each time.

    Args:
        adjacency: The graph.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        self._adjacency = adjacency

    def auc(self, z: Tensor) -> float | None:
        """How often an edge outscores a non-edge; None if there are no non-edges.

        Args:
            z: Embeddings whose inner products score pairs.  [N, d]
        """
        edges, others = self._judged
        if others.size(1) == 0:
            return None
        scores = InnerProductScores(z.detach().cpu())
        return roc_auc(scores.edge_logits(edges), scores.edge_logits(others))

    @functools.cached_property
    def _judged(self) -> tuple[Tensor, Tensor]:
        """All edges, and as many random non-edges, if there are enough.  [2, E], [2, E]"""
        adjacency = self._adjacency.to("cpu")
        pairs = adjacency.num_nodes * (adjacency.num_nodes - 1) // 2
        count = min(adjacency.num_pairs, pairs - adjacency.num_pairs)
        generator = torch.Generator().manual_seed(0)
        return adjacency.pairs, random_change(adjacency.to_data(), count, 0, generator).added
