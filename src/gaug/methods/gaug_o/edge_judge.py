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
        most: Most edges to compare, chosen at random; None for all.
    """

    def __init__(self, adjacency: Adjacency, most: int | None = None) -> None:
        self._adjacency = adjacency
        self._most = most

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
        """The edges, and as many random non-edges, if there are enough.  [2, E], [2, E]"""
        adjacency = self._adjacency.to("cpu")
        pairs = adjacency.num_nodes * (adjacency.num_nodes - 1) // 2
        count = min(adjacency.num_pairs, pairs - adjacency.num_pairs)
        edges, generator = adjacency.pairs, torch.Generator().manual_seed(0)
        if self._most is not None and self._most < edges.size(1):
            edges = edges[:, torch.randint(edges.size(1), (self._most,), generator=generator)]
            count = min(count, self._most)
        return edges, random_change(adjacency.to_data(), count, 0, generator).added
