r"""A random graph with communities: the assortative mixed-membership stochastic block model.

Each node a has memberships $\pi_a$ on the simplex of K communities, each community has a strength
$\beta_k$, and pairs across communities are joined with the background probability $\delta$. Every
pair of nodes is an edge independently of the others, with probability

$$
p_{ab} = \sum_k \pi_{ak} \pi_{bk} \beta_k + \Bigl(1 - \sum_k \pi_{ak} \pi_{bk}\Bigr) \delta
$$

Nothing here needs memory for all pairs: sums over them have a closed form or are estimated from a
sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from gaug.edge_predictors.evaluation import random_pairs
from gaug.methods.bgcn.config import BlockModelConfig

# Probabilities keep this distance from 0 and 1, where one pair can make the likelihood infinite.
_MARGIN = 1e-9
# Random share of the initial memberships, because at exactly 0 there is no gradient.
_RANDOM_SHARE = 0.01
# Edges whose memberships are looked up at a time, to bound memory.
_EDGES_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class BlockModel:
    """The block model with its parameters.

    Attributes:
        memberships: How much each node belongs to each community; rows sum to 1.  [N, K]
        strengths: Edge probability within each community, in [0, 1).  [K]
        background: Edge probability across communities, in [0, 1).  []

    Examples:
        >>> model = BlockModel(
        ...     memberships=torch.tensor([[1.0, 0.0], [0.5, 0.5]]),
        ...     strengths=torch.tensor([0.9, 0.3]),
        ...     background=torch.tensor(0.1),
        ... )
        >>> model.edge_probabilities(torch.tensor([[0], [1]]))  # 0.5 * 0.9 + 0.5 * 0.1
        tensor([0.5000])
    """

    memberships: Tensor
    strengths: Tensor
    background: Tensor

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.memberships.size(0)

    @property
    def num_pairs(self) -> int:
        """Number of pairs of nodes."""
        return self.num_nodes * (self.num_nodes - 1) // 2

    def edge_probabilities(self, pairs: Tensor) -> Tensor:
        """The probability that each pair is an edge.  [2, n] → [n]"""
        # An embedding lookup has a faster backward pass than indexing.
        left, right = (functional.embedding(ends, self.memberships) for ends in pairs)  # [n, K]
        return self.background + (left * right) @ (self.strengths - self.background)

    def expected_edges(self) -> Tensor:
        """The sum of the edge probabilities of all pairs.  []"""
        shared = _shared_by_all_pairs(self.memberships)
        return self.background * self.num_pairs + shared @ (self.strengths - self.background)


def log_posterior(
    model: BlockModel,
    num_edges: int,
    edges: Tensor,
    pairs: Tensor,
    membership_counts: Tensor,
    strength_count: float,
) -> Tensor:
    r"""The log-posterior density of the parameters up to a constant, or an estimate of it.

    $$
    \sum_{(a,b) \in E} \log \frac{p_{ab}}{1 - p_{ab}} - \sum_{a<b} p_{ab}
    + \sum_{a<b} \bigl[\log(1 - p_{ab}) + p_{ab}\bigr]
    + \sum_{a,k} c_{ak} \log \pi_{ak}
    + c \sum_{\theta \in \{\beta_1, \dots, \beta_K, \delta\}} \log \theta (1 - \theta)
    $$

    The first three sums are the log-likelihood, arranged for a low sampling variance: the second
    has a closed form, and each term of the third, which needs all pairs, is only about
    $-p_{ab}^2 / 2$. With all edges and all pairs the value is exact; with uniform samples of them,
    value and gradient are unbiased.

    Args:
        model: The parameters; may require gradients.
        num_edges: Number of edges of the graph.
        edges: All edges, or a sample.  [2, n]
        pairs: All pairs of nodes, or a sample.  [2, m]
        membership_counts: The Dirichlet prior of each node's memberships, minus 1.  [N, K]
        strength_count: The Beta prior of strengths and background, minus 1.
    """
    on_edges = model.edge_probabilities(edges)
    on_pairs = model.edge_probabilities(pairs)
    likelihood = (
        on_edges.logit().sum() * (num_edges / edges.size(1))
        - model.expected_edges()
        + (torch.log1p(-on_pairs) + on_pairs).sum() * (model.num_pairs / pairs.size(1))
    )
    tiny = torch.finfo(model.memberships.dtype).tiny
    prior = (membership_counts * model.memberships.clamp(min=tiny).log()).sum()
    probabilities = torch.cat([model.strengths, model.background.reshape(1)])
    return likelihood + prior + strength_count * (probabilities * (1 - probabilities)).log().sum()


def initial_model(memberships: Tensor, edges: Tensor) -> BlockModel:
    """The model with these memberships whose probabilities match the densities of the graph.

    The strength of a community is the share of edges among all pairs, weighted by the product of
    their two memberships. The background is the same share with the remaining weight of each pair.

    Args:
        memberships: Rows sum to 1.  [N, K]
        edges: All edges of the graph, each once.  [2, E]
    """
    num_nodes, num_edges = memberships.size(0), edges.size(1)
    num_pairs = num_nodes * (num_nodes - 1) // 2
    joined = memberships.new_zeros(memberships.size(1))
    for u, v in torch.split(edges, _EDGES_AT_A_TIME, dim=1):
        joined += (memberships[u] * memberships[v]).sum(dim=0)
    possible = _shared_by_all_pairs(memberships)
    # One extra pair with the density of the graph covers communities without pairs.
    density = num_edges / num_pairs
    strengths = (joined + density) / (possible + 1)
    background = (num_edges - joined.sum() + density) / (num_pairs - possible.sum() + 1)
    return BlockModel(memberships, _within_margin(strengths), _within_margin(background))


def fit_block_model(
    edges: Tensor, predictions: Tensor, config: BlockModelConfig, generator: torch.Generator
) -> BlockModel:
    r"""The most probable block model of a graph whose nodes have predicted classes.

    Memberships start at the predictions $\hat y_a$, strengths and background at the corresponding
    densities. The prediction is also the prior of a node's memberships, so that communities remain
    classes: with the mean degree $\bar d$ of the graph,

    $$
    \pi_a \sim \mathrm{Dirichlet}(\alpha + \text{anchor} \cdot \bar d\, \hat y_a)
    $$

    as if the node had that many additional edges to nodes of the predicted class. Adam maximizes
    the log-posterior in unbounded coordinates, a softmax for memberships and logits for the rest,
    on samples of edges and pairs. Communities beyond the classes start at random.

    The background is weakly determined: an edge across communities can also be explained by a small
    second membership of its ends, and mostly is unless the anchor is large.

    Args:
        edges: All edges of the graph, each once.  [2, E]
        predictions: Class probabilities; rows need not sum to 1.  [N, C]
        config: Its settings.
        generator: Source of randomness.
    """
    num_communities = config.num_communities(predictions.size(1))
    predicted = predictions.double() + _MARGIN
    predicted = functional.normalize(predicted, p=1.0, dim=1)
    predicted = functional.pad(predicted, (0, num_communities - predictions.size(1)))  # [N, K]
    chance = torch.rand(predicted.shape, generator=generator, dtype=predicted.dtype) + _MARGIN
    chance = functional.normalize(chance, p=1.0, dim=1)
    start = initial_model((1 - _RANDOM_SHARE) * predicted + _RANDOM_SHARE * chance, edges)
    coordinates = [
        start.memberships.log().requires_grad_(),
        start.strengths.logit().requires_grad_(),
        start.background.logit().requires_grad_(),
    ]
    mean_degree = 2 * edges.size(1) / start.num_nodes
    counts = config.membership_prior - 1 + config.anchor * mean_degree * predicted
    optimizer = torch.optim.Adam(coordinates, lr=config.block_learning_rate, maximize=True)
    for _ in range(config.block_steps):
        optimizer.zero_grad()
        some_edges = _sample_edges(edges, config.block_pairs, generator)
        some_pairs = random_pairs(start.num_nodes, some_edges.size(1), generator)
        log_posterior(
            _from_coordinates(*coordinates),
            edges.size(1),
            some_edges,
            some_pairs,
            counts,
            config.strength_prior - 1,
        ).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        return _from_coordinates(*coordinates)


def _from_coordinates(memberships: Tensor, strengths: Tensor, background: Tensor) -> BlockModel:
    return BlockModel(
        memberships.softmax(dim=1),
        _within_margin(strengths.sigmoid()),
        _within_margin(background.sigmoid()),
    )


def _sample_edges(edges: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """All edges, or this many drawn with replacement if there are more.  [2, n]"""
    if edges.size(1) <= count:
        return edges
    return edges[:, torch.randint(edges.size(1), (count,), generator=generator)]


def _shared_by_all_pairs(memberships: Tensor) -> Tensor:
    """The sum over all pairs of the product of their memberships in each community.  [K]"""
    return (memberships.sum(dim=0).square() - memberships.square().sum(dim=0)) / 2


def _within_margin(probabilities: Tensor) -> Tensor:
    return probabilities.clamp(_MARGIN, 1 - _MARGIN)
