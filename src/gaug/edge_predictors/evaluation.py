"""The quality of an edge predictor on held-out edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.stats
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.errors import DataError
from gaug.graph.change import GraphChange, random_change
from gaug.graph.edges import undirected_pairs

# A predictor trained to separate edges from other pairs has learned nothing up to this AUC.
_CHANCE = 0.55


class _Predictor(Protocol):
    def fit(self, data: Data) -> object: ...

    def edge_logits(self, pairs: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class LinkScores:
    """Scores of a predictor on held-out edges.

    Attributes:
        auc: Area under the ROC curve: how often an edge outscores a random pair.
        average_precision: Area under the precision-recall curve.
    """

    auc: float
    average_precision: float


def evaluate_links(
    predictor: _Predictor, data: Data, holdout_fraction: float = 0.1, seed: int = 0
) -> LinkScores:
    """Fit on part of the edges and score the rest against as many random non-edges.

    Args:
        predictor: Any predictor; it is fitted to the graph without the held-out edges.
        data: A valid graph.
        holdout_fraction: Share of edges to hold out, in (0, 0.5].
        seed: Seed of the held-out edges and the non-edges.
    """
    if not 0 < holdout_fraction <= 0.5:
        raise DataError(f"holdout_fraction must be in (0, 0.5], got {holdout_fraction:g}.")
    generator = torch.Generator().manual_seed(seed)
    kept, held_out = hold_out_edges(data, holdout_fraction, generator)
    negatives = random_change(data, held_out.size(1), 0, generator).added
    predictor.fit(kept)
    positive, negative = predictor.edge_logits(held_out), predictor.edge_logits(negatives)
    return LinkScores(roc_auc(positive, negative), average_precision(positive, negative))


def roc_auc(positive: Tensor, negative: Tensor) -> float:
    """Probability that a positive outscores a negative; ties count half.

    >>> roc_auc(torch.tensor([2.0, 1.0]), torch.tensor([0.0, 1.0]))
    0.875
    """
    p, n = positive.numel(), negative.numel()
    ranks = scipy.stats.rankdata(torch.cat([positive, negative]).double().numpy())
    return float((ranks[:p].sum() - p * (p + 1) / 2) / (p * n))


def has_learned(auc: float, density: float = 0.0, least: float = _CHANCE) -> bool:
    """Whether a predictor separates its training edges from other pairs better than chance.

    Args:
        auc: Its area under the ROC curve.
        density: The share of edges among the other pairs, which no predictor can tell apart.
        least: The AUC that is asked for, if none of the other pairs is an edge.
    """
    return auc >= 0.5 + (least - 0.5) * (1 - density)


def average_precision(positive: Tensor, negative: Tensor) -> float:
    """Mean of the precision at each positive, over decreasing thresholds."""
    scores = torch.cat([positive, negative]).double().numpy()
    is_positive = np.arange(scores.size) < positive.numel()
    order = np.argsort(-scores, kind="stable")
    scores, is_positive = scores[order], is_positive[order]
    last_of_tie = np.append(scores[1:] != scores[:-1], True)
    found = np.cumsum(is_positive)[last_of_tie]
    taken = np.flatnonzero(last_of_tie) + 1
    gained = np.diff(found, prepend=0)
    return float((gained * found / taken).sum() / positive.numel())


def hold_out_edges(data: Data, fraction: float, generator: torch.Generator) -> tuple[Data, Tensor]:
    """The graph without a random share of its edges, and these edges.  [2, h]"""
    edges = undirected_pairs(data.edge_index)
    order = torch.randperm(edges.size(1), generator=generator)
    held_out = edges[:, order[: math.floor(fraction * edges.size(1))]]
    if held_out.size(1) == 0:
        return data, held_out
    nothing = torch.empty(2, 0, dtype=torch.long)
    return GraphChange(added=nothing, removed=held_out).apply(data), held_out


def random_pairs(num_nodes: int, count: int, generator: torch.Generator) -> Tensor:
    """Pairs of distinct nodes, drawn with replacement.  [2, count]"""
    u = torch.randint(num_nodes, (count,), generator=generator)
    v = (u + torch.randint(1, num_nodes, (count,), generator=generator)) % num_nodes
    return torch.stack([torch.minimum(u, v), torch.maximum(u, v)])
