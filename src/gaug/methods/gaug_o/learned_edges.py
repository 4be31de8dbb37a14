"""The edge probabilities that GAug-O has learned, and graphs drawn from them."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.errors import DataError
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.config import GAugOConfig, resolved_engine
from gaug.methods.gaug_o.drawn_pairs import edge_products
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.edge_sampling import sample_blocked, sample_dense, sample_sparse
from gaug.methods.gaug_o.memory import SUMMED_EDGE, SampleRoom
from gaug.methods.gaug_o.sampled_adjacency import Interpolated
from gaug.methods.gaug_o.sampling_cap import (
    DEFAULT_LIMIT,
    added_limit,
    capped_scale,
    score_sums,
)

# Pairs whose probabilities are computed at a time, to bound memory.
_PAIRS_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class LearnedEdges:
    """The probability of each pair of nodes of one graph.

    Attributes:
        prepared: Embeddings from `EdgeDistribution.prepare`.  [N, d]
        original: The original graph.
        distribution: How embeddings become probabilities.
        weigh_all: Whether a graph has all pairs, weighted by their probabilities, instead of a draw
            (``variant=no-sampling``).
        engine: How a graph is drawn: ``blocked``, ``sparse`` or ``dense``.
        limit: Most edges that ``sparse`` adds to a graph on average.
        limit_is_given: Whether that is a setting, and no multiple of the edges of the graph.
        columns: Random pairs per node of the gradient of ``sparse``.
        edge_bytes: Memory per edge of a drawn graph; graphs that do not fit are refused.
    """

    prepared: Tensor
    original: Adjacency
    distribution: EdgeDistribution
    weigh_all: bool = False
    engine: str = "blocked"
    limit: int = 0
    limit_is_given: bool = False
    columns: int = 128
    edge_bytes: int = SUMMED_EDGE

    @classmethod
    def of(
        cls,
        config: GAugOConfig,
        prepared: Tensor,
        original: Adjacency,
        edge_bytes: int = SUMMED_EDGE,
    ) -> LearnedEdges:
        """The learned edges for settings of GAug-O."""
        return cls(
            prepared,
            original,
            EdgeDistribution.of(config),
            weigh_all=config.variant == "no-sampling",
            engine=resolved_engine(config, original.num_nodes),
            limit=added_limit(config.max_sampled_edges, original.num_pairs),
            limit_is_given=config.max_sampled_edges is not None,
            columns=config.sampled_pairs,
            edge_bytes=edge_bytes,
        )

    @torch.no_grad()
    def probabilities(self, pairs: Tensor) -> Tensor:
        """P of each pair, the probability that a sample joins it.  [2, n] → [n]

        With ``variant=rounding``, a sample joins exactly the pairs above one half.
        """
        pairs = torch.as_tensor(pairs)
        if pairs.dim() != 2 or pairs.size(0) != 2:
            raise DataError(f"pairs must have shape [2, n], got {list(pairs.shape)}.")
        if pairs.is_floating_point():
            raise DataError(f"pairs must hold whole numbers, got {pairs.dtype}.")
        num_nodes = self.original.num_nodes
        outside = pairs[(pairs < 0) | (pairs >= num_nodes)]
        if outside.numel():
            raise DataError(
                f"pairs must hold node ids from 0 to {num_nodes - 1}, got {int(outside[0])}."
            )
        ordered = pairs.long().to(self.prepared.device).sort(dim=0).values
        p = torch.cat(
            [
                self.distribution.of_pairs(self.prepared, part, self.original.pairs, self.scale)
                for part in torch.split(ordered, _PAIRS_AT_A_TIME, dim=1)
            ]
        )
        return torch.where(ordered[0] == ordered[1], 0.0, p.clamp(0, 1))

    def sample(self, seed: int, room: SampleRoom | None = None) -> Adjacency:
        """A graph that is differentiable in the embeddings.

        Args:
            seed: Seed of the draw.
            room: The memory for it and for those before it; by default what is free.
        """
        if self.weigh_all:
            return Interpolated(self.prepared, self.original, self.distribution)
        expected = self._expected_edges()
        if expected is not None:
            (room or SampleRoom()).check(
                expected, self.original.num_nodes, self.edge_bytes, self.engine
            )
        drawn_from = self.prepared, self.original, self.distribution, seed
        if self.engine == "sparse":
            return sample_sparse(
                *drawn_from, scale=self.scale, columns=self.columns, products=self._products
            )
        return (sample_dense if self.engine == "dense" else sample_blocked)(*drawn_from)

    @functools.cached_property
    def scale(self) -> float:
        """What the probabilities of pairs that are not edges are multiplied by, at most 1."""
        if self.engine != "sparse":
            return 1.0
        return capped_scale(self.distribution.alpha * self._sums[1], self.limit)

    @property
    def note(self) -> str | None:
        """What users should know about graphs drawn from this: that they are limited."""
        if self.scale == 1:
            return None
        # Without what differs from batch to batch and from run to run: these are told once.
        limit = f"{self.limit:,} added edges" if self.limit_is_given else DEFAULT_LIMIT
        return (
            f"GAug-O's graphs were limited to {limit} on average, fewer than its probabilities ask"
            " for. Raise max_sampled_edges to add more, or lower alpha."
        )

    @functools.cached_property
    def _sums(self) -> tuple[float, float]:
        return score_sums(self.prepared, self._products)

    @functools.cached_property
    def _products(self) -> Tensor:
        return edge_products(self.prepared, self.original)

    def _expected_edges(self) -> float | None:
        """The expected number of edges of a draw, if there is a closed form."""
        num_edges, alpha = self.original.num_pairs, self.distribution.alpha
        if self.engine != "sparse":
            return self.distribution.expected_edges(self.prepared, num_edges)
        on_edges, elsewhere = self._sums
        return alpha * (on_edges + self.scale * elsewhere) + (1 - alpha) * num_edges

    @torch.no_grad()
    def sample_graph(self, seed: int) -> Data:
        """A graph as a list of edges, without features and labels."""
        data = self.sample(seed).to_data()
        if not self.weigh_all:
            del data.edge_weight  # ones
        return data
