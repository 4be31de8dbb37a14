r"""The graphs that GAug-O samples: an independent edge for each pair of nodes.

$$
P_{ij} = \alpha M_{ij} + (1 - \alpha) A_{ij}, \qquad
\tilde A_{ij} = \sigma\Bigl(\tfrac{1}{\tau} \bigl(\operatorname{logit} P_{ij}
+ \operatorname{logit} u_{ij}\bigr)\Bigr), \qquad A'_{ij} = [\tilde A_{ij} > \tfrac12]
$$

with u uniform, so that $A'_{ij}$ is 1 with probability exactly $P_{ij}$ (the binary concrete
distribution of Maddison et al., ICLR 2017). The forward pass uses $A'$, the backward pass the
gradient of $\tilde A$ (the straight-through estimator). One triangle is sampled and mirrored; there
are no self-loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gaug.errors import unknown_name
from gaug.graph.edges import pair_keys
from gaug.graph.sparse import Pattern
from gaug.methods.gaug_o.config import READINGS, GAugOConfig
from gaug.pairs.tile_work import PROBABILITY_MARGIN


@dataclass(frozen=True)
class EdgeDistribution:
    """Everything that determines a sample except the embeddings and the noise.

    Attributes:
        alpha: Influence of the edge predictor, in [0, 1].
        temperature: Temperature of the relaxation, above 0; does not change what is sampled.
        reading: ``max-normalized`` or ``sigmoid``.
        sampling: ``bernoulli``, or ``rounding``: the noise is fixed at one half, and a pair is
            joined if its probability is above that.
    """

    alpha: float
    temperature: float
    reading: str = "max-normalized"
    sampling: str = "bernoulli"

    @classmethod
    def of(cls, config: GAugOConfig) -> EdgeDistribution:
        """The distribution for settings of GAug-O."""
        return cls(
            config.alpha,
            config.temperature,
            "max-normalized" if config.variant == "random" else config.edge_probability,
            "rounding" if config.variant == "rounding" else "bernoulli",
        )

    def prepare(self, z: Tensor) -> Tensor:
        """Embeddings whose inner products are the scores that `probabilities` reads.  [N, d]

        For ``max-normalized`` they are divided by their largest norm. By the Cauchy-Schwarz
        inequality, the largest inner product is its square.
        """
        if self.reading == "sigmoid":
            return z
        if self.reading != "max-normalized":
            raise unknown_name("reading of edge scores", self.reading, READINGS)
        # Scale close to 1 first, so that squares of short or long embeddings do not under- or
        # overflow; this changes neither the result nor its gradient.
        longest = z.detach().abs().max()
        z = z / torch.where(longest > 0, longest, 1.0)
        largest = z.square().sum(dim=1).max()
        # If all embeddings are 0, so are all probabilities.
        return z * torch.where(largest > 0, largest, 1.0).rsqrt()

    def of_scores(self, scores: Tensor) -> Tensor:
        """M from inner products of prepared embeddings, elementwise."""
        return scores.sigmoid() if self.reading == "sigmoid" else scores

    def of_all(self, z: Tensor, edges: Pattern) -> Tensor:
        """P of all pairs from prepared embeddings; the diagonal has no meaning.  [N, N]

        Args:
            z: Embeddings from `prepare`.  [N, d]
            edges: The edges of the graph.
        """
        known = z.new_zeros(edges.num_rows, edges.num_rows)
        known[edges.row, edges.col] = 1
        return self.alpha * self.of_scores(z @ z.t()) + (1 - self.alpha) * known

    def of_pairs(self, z: Tensor, pairs: Tensor, edges: Tensor, scale: float = 1.0) -> Tensor:
        """P of single pairs from prepared embeddings.  [n]

        Args:
            z: Embeddings from `prepare`.  [N, d]
            pairs: Pairs of nodes, each as (smaller id, larger id).  [2, n]
            edges: The edges of the graph in the same form, in ascending order.  [2, E]
            scale: What the probabilities of other pairs are multiplied by.
        """
        num_nodes = z.size(0)
        scores = self.of_scores((z[pairs[0]] * z[pairs[1]]).sum(dim=1))
        known = _contained(pair_keys(pairs, num_nodes), pair_keys(edges, num_nodes))
        if scale != 1:
            scores = torch.where(known, scores, scale * scores)
        return self.alpha * scores + (1 - self.alpha) * known.to(z.dtype)

    @torch.no_grad()
    def expected_edges(self, z: Tensor, num_edges: int) -> float | None:
        """Sum of P over all pairs: the expected number of edges of a draw.

        None if there is no closed form: for sigmoid probabilities, and with rounding.

        Args:
            z: Embeddings from `prepare`.  [N, d]
            num_edges: Number of edges of the graph.
        """
        if self.reading == "sigmoid" or self.sampling == "rounding":
            return None
        # The sum over all i ≠ j counts each pair twice.
        learned = (z.sum(dim=0).square().sum() - z.square().sum()) / 2
        return self.alpha * float(learned) + (1 - self.alpha) * num_edges

    def relaxed(self, p: Tensor, noise: Tensor) -> Tensor:
        """The relaxed sample, differentiable in the probability; noise is 1 - u."""
        logit = torch.logit(p, PROBABILITY_MARGIN)
        return torch.sigmoid((logit - torch.logit(noise.to(p.dtype))) / self.temperature)


def _contained(values: Tensor, ascending: Tensor) -> Tensor:
    """Which values occur in an ascending list."""
    if ascending.numel() == 0:
        return torch.zeros_like(values, dtype=torch.bool)
    place = torch.searchsorted(ascending, values).clamp_(max=ascending.numel() - 1)
    return ascending[place] == values
