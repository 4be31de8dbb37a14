"""Graphs with planted classes, for tests, benchmarks and figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.config import Config, Range, setting
from gaug.errors import ConfigError
from gaug.graph.edges import keys_to_pairs, pair_keys
from gaug.graph.matrices import SPARSE_BELOW, compact_features, sparse_features

_SHARE = Range(0, 1)


@dataclass(frozen=True)
class SyntheticConfig(Config):
    """Settings of `planted_graph`."""

    num_nodes: int = setting(1000, "Nodes.", within=Range(4))
    num_classes: int = setting(4, "Classes, of equal size.", within=Range(2))
    degree: float = setting(8.0, "Mean degree.", within=Range(0, low_open=True))
    homophily: float = setting(0.8, "Share of edges within a class.", within=_SHARE)
    heavy_tailed: bool = setting(False, "Whether degrees follow a power law.")
    num_features: int = setting(100, "Width of the features.", within=Range(1))
    feature_density: float = setting(
        0.05, "Share of the features that are not zero, about.", within=Range(0, 1, low_open=True)
    )
    feature_signal: float = setting(
        0.5, "Share of a node's features that are drawn from those of its class.", within=_SHARE
    )
    seed: int = setting(0, "Seed.", within=Range(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_classes * 2 > self.num_nodes:
            raise ConfigError(
                f"num_nodes must be at least twice num_classes ({2 * self.num_classes}),"
                f" got {self.num_nodes}."
            )
        if int(self.num_nodes * self.degree / 2) < 1:
            raise ConfigError(
                f"degree must give the graph at least one edge ({2 / self.num_nodes:g}),"
                f" got {self.degree:g}."
            )
        smallest = self.num_nodes // self.num_classes
        if self.degree > (smallest - 1) / 2:
            raise ConfigError(
                f"degree must be at most half of what a class allows ({(smallest - 1) / 2:g}),"
                f" got {self.degree:g}."
            )


def planted_graph(config: SyntheticConfig | None = None) -> Data:
    """A graph with known classes and a known ideal graph.

    First the ideal graph is drawn: ``num_nodes * degree / 2`` edges, all within a class. The
    observed graph keeps a share ``homophily`` of them and replaces the rest by the same number of
    edges between classes, so that its edge homophily is exactly the one asked for. Features are
    binary: a node draws about ``feature_density * num_features`` of them, a share
    ``feature_signal`` from the columns of its own class and the rest from all. Time and memory are
    proportional to the edges and the non-zero features.

    Returns:
        A valid graph with the ideal graph's edges in ``ideal_edge_index``.
    """
    config = config or SyntheticConfig()
    generator = np.random.default_rng(config.seed)
    labels = generator.permutation(np.arange(config.num_nodes) % config.num_classes)
    weights = np.ones(config.num_nodes)
    if config.heavy_tailed:
        weights = generator.pareto(2.0, config.num_nodes) + 1.0
        weights = np.minimum(weights, np.sqrt(config.num_nodes))  # keeps hubs drawable
    num_edges = int(config.num_nodes * config.degree / 2)
    ideal = _draw_pairs(num_edges, labels, weights, generator, within=True)
    num_kept = round(config.homophily * num_edges)
    kept = generator.permutation(num_edges)[:num_kept]
    noise = _draw_pairs(num_edges - num_kept, labels, weights, generator, within=False)
    observed = np.concatenate([ideal[kept], noise])
    return Data(
        x=_draw_features(labels, config, generator),
        edge_index=_both_directions(observed, config.num_nodes),
        y=torch.from_numpy(labels.astype(np.int64)),
        ideal_edge_index=_both_directions(ideal, config.num_nodes),
        num_nodes=config.num_nodes,
    )


def _draw_pairs(
    count: int,
    labels: np.ndarray,
    weights: np.ndarray,
    generator: np.random.Generator,
    *,
    within: bool,
) -> np.ndarray:
    """Distinct pairs as u * N + v with u < v, ends drawn by weight, in one class or in two."""
    num_nodes = labels.size
    order = np.argsort(labels, kind="stable")  # nodes class by class
    ends = np.cumsum(weights[order])
    class_start = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    below = np.concatenate([[0.0], ends])[class_start]  # weight before each class
    keys = np.empty(0, dtype=np.int64)
    while keys.size < count:
        size = int((count - keys.size) * 1.1) + 16
        u = _pick(ends, generator.random(size) * ends[-1])
        label = labels[order[u]]
        low, span = below[label], below[label + 1] - below[label]
        draw = generator.random(size)
        if within:
            v = _pick(ends, low + draw * span)
        else:  # the weight outside u's class, laid end to end
            position = draw * (ends[-1] - span)
            v = _pick(ends, np.where(position < low, position, position + span))
        a, b = order[u], order[v]
        valid = (a != b) & ((labels[a] == labels[b]) == within)
        a, b = np.minimum(a, b)[valid], np.maximum(a, b)[valid]
        fresh = np.concatenate([keys, a * num_nodes + b])
        _, first = np.unique(fresh, return_index=True)
        keys = fresh[np.sort(first)]  # in the order drawn, so that a cut is not biased
    return keys[:count]


def _pick(ends: np.ndarray, position: np.ndarray) -> np.ndarray:
    found = np.searchsorted(ends, position, side="right")
    return np.minimum(found, ends.size - 1)


def _both_directions(keys: np.ndarray, num_nodes: int) -> Tensor:
    once = torch.from_numpy(keys)
    reverse = pair_keys(keys_to_pairs(once, num_nodes).flip(0), num_nodes)
    return keys_to_pairs(torch.cat([once, reverse]).sort().values, num_nodes)


def _draw_features(
    labels: np.ndarray, config: SyntheticConfig, generator: np.random.Generator
) -> Tensor:
    per_node = max(1, round(config.feature_density * config.num_features))
    own = np.array_split(np.arange(config.num_features), config.num_classes)
    start = np.array([columns[0] if columns.size else 0 for columns in own])
    width = np.array([max(1, columns.size) for columns in own])
    shape = (config.num_nodes, per_node)
    from_class = start[labels, None] + generator.integers(0, width[labels, None], size=shape)
    from_all = generator.integers(0, config.num_features, size=shape)
    column = np.where(generator.random(shape) < config.feature_signal, from_class, from_all)
    column.sort(axis=1)
    distinct = np.ones(shape, dtype=bool)
    distinct[:, 1:] = column[:, 1:] != column[:, :-1]
    crow = np.concatenate([[0], np.cumsum(distinct.sum(axis=1))])
    col = column[distinct].astype(np.int64)
    x = sparse_features(
        torch.from_numpy(crow.astype(np.int64)),
        torch.from_numpy(col),
        torch.ones(col.size),
        (config.num_nodes, config.num_features),
    )
    # Wide enough to be stored sparse in general; a dense request is honored where it is small.
    return compact_features(x.to_dense()) if config.feature_density >= SPARSE_BELOW else x
