"""Graphs drawn from a block model, in time and memory proportional to the drawn edges."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gaug.errors import DataError
from gaug.graph.edges import keys_to_pairs, pair_keys
from gaug.methods.bgcn.block_model import BlockModel

# Pairs whose memberships are looked up at a time, to bound memory.
_PAIRS_AT_A_TIME = 1 << 16


def sample_graph(model: BlockModel, generator: torch.Generator) -> Tensor:
    r"""A graph from a block model: every pair is an edge independently, with its exact probability.

    A pair is an edge if at least one event of a Poisson process falls on it. At the rate
    $\lambda = -\log(1 - p)$ that happens with probability p. The rate is convex in p, so it is at
    most $c\,p$ with $c = -\log(1 - p_{\max}) / p_{\max}$, and p is at most

    $$
    q_{ab} = \delta + \sum_k \pi_{ak} \pi_{bk} \max(\beta_k - \delta, 0)
    $$

    Events of rate $c\,q$ are drawn term by term, the two ends independently: uniformly for the
    background, in proportion to $\pi_{\cdot k}$ for community k. Each is kept with probability
    $\lambda / (c\,q)$. That is about $c$ events per edge, and c is 1.4 if no probability exceeds
    one half.

    Args:
        model: The block model.
        generator: Source of randomness.

    Returns:
        The edges, each once as (smaller id, larger id), in ascending order.  [2, E]
    """
    model = BlockModel(
        model.memberships.double(), model.strengths.double(), model.background.double()
    )
    num_nodes = model.num_nodes
    excess = (model.strengths - model.background).clamp(min=0)  # [K]
    bound = BlockModel(model.memberships, model.background + excess, model.background)
    largest = float(bound.strengths.max())
    if largest >= 1:
        raise DataError(f"Strengths and background must be below 1, got {largest:g}.")
    factor = -math.log1p(-largest) / largest if largest > 0 else 1.0
    keys = []
    events = _draw_events(bound, excess, factor, generator)
    for pairs in torch.split(events, _PAIRS_AT_A_TIME, dim=1):
        rate = -torch.log1p(-model.edge_probabilities(pairs))
        drawn_rate = factor * bound.edge_probabilities(pairs)
        chance = torch.rand(pairs.size(1), generator=generator, dtype=torch.float64)
        hit = pairs[:, chance * drawn_rate < rate].sort(dim=0).values
        keys.append(pair_keys(hit[:, hit[0] < hit[1]], num_nodes))
    return keys_to_pairs(torch.unique(torch.cat(keys)), num_nodes)


def _draw_events(
    bound: BlockModel, excess: Tensor, factor: float, generator: torch.Generator
) -> Tensor:
    """Ends of the events of all terms, including self-loops.  [2, n]"""
    num_nodes = bound.num_nodes
    # The background is an extra community with every node as a full member.
    members = torch.cat([bound.memberships.new_ones(1, num_nodes), bound.memberships.t()])
    intensity = torch.cat([bound.background.reshape(1), excess])  # [1 + K]
    below = torch.cat([members.new_zeros(1), members.flatten().cumsum(0)])
    start = below[::num_nodes]  # where each community begins on a line of all memberships
    mass = start.diff()
    # Divided by two, because a pair is hit in either order of its ends.
    counts = torch.poisson(factor / 2 * intensity * mass.square(), generator=generator).long()
    term = torch.repeat_interleave(counts)
    position = torch.rand((2, term.numel()), generator=generator, dtype=torch.float64)
    place = torch.searchsorted(below[1:], start[term] + position * mass[term], right=True)
    return (place - term * num_nodes).clamp(0, num_nodes - 1)
