"""All-pairs work: time, and memory above the inputs.

Run as ``python -m benchmarks.ranking WHAT``, with WHAT one of ``blocked``, ``dense``, ``large``, an
index such as ``jaccard``, or ``gae``; prints seconds and megabytes as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import torch
from torch import Tensor

from benchmarks.graphs import benchmark_graph
from gaug import build_predictor
from gaug.data.folders import data_root
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.config import GAEConfig
from gaug.edge_predictors.gae import GAE
from gaug.graph.edges import undirected_pairs
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.ranking import top_non_edges
from gaug.runs.cost import measured

INDICES = ("jaccard", "ra", "llhn", "lnb", "car")
_WIDTH = 32
_LARGE_SHARE = 0.8  # of the edges, added to the large graph
_GAE_EPOCHS = 10


def main() -> None:
    what = sys.argv[1]
    title, work = _prepare(what)
    before = psutil.Process().memory_info().rss
    with measured() as cost:
        work()
    memory = cost.peak_memory_mb - before / 1e6
    print(json.dumps({"graph": title, "seconds": cost.seconds, "memory_mb": memory}))


def _prepare(what: str) -> tuple[str, Callable[[], object]]:
    if what in INDICES:
        data, title = benchmark_graph("flickr")
        predictor = build_predictor(what).fit(data)
        return title, lambda: predictor.top_non_edges(data.num_edges // 2)
    if what == "gae":
        data, title = benchmark_graph("pubmed")
        config = GAEConfig(edge_loss="exact", predictor_epochs=_GAE_EPOCHS)
        return title, lambda: GAE(config).fit(data)
    if what == "large":
        edges, num_nodes, title = _large_graph()
        scores = InnerProductScores(_embeddings(edges, num_nodes))
        count = int(_LARGE_SHARE * edges.size(1))
        return title, lambda: top_non_edges(scores, edges, num_nodes, count)
    data, title = benchmark_graph("flickr")
    edges, num_nodes = undirected_pairs(data.edge_index), int(data.num_nodes)
    z = _embeddings(edges, num_nodes)
    if what == "dense":
        return title, lambda: _dense_top_non_edges(z, edges, edges.size(1))
    scores = InnerProductScores(z)
    return title, lambda: top_non_edges(scores, edges, num_nodes, edges.size(1))


def _dense_top_non_edges(z: Tensor, edges: Tensor, count: int) -> np.ndarray:
    """The plain way: all scores, edges and one triangle masked, argpartition."""
    scores = (z @ z.t()).numpy()
    scores[np.tril_indices(scores.shape[0])] = -np.inf
    scores[edges[0], edges[1]] = -np.inf
    flat = scores.ravel()
    best = np.argpartition(flat, flat.size - count)[flat.size - count :]
    return best[np.argsort(-flat[best])]


def _embeddings(edges: Tensor, num_nodes: int) -> Tensor:
    """Random vectors smoothed over the graph: neighbors are alike, as in a GAE's.  [N, d]"""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(num_nodes, _WIDTH, generator=generator)
    both = torch.cat([edges, edges.flip(0)], dim=1)
    degree = torch.bincount(both[0], minlength=num_nodes).clamp(min=1).unsqueeze(1)
    for _ in range(2):
        z = z + z.new_zeros(z.shape).index_add(0, both[0], z[both[1]]) / degree
    return z


def _large_graph() -> tuple[Tensor, int, str]:
    path = Path(data_root()) / "ogbn-arxiv-structure" / "graph.npz"
    if path.is_file():
        with np.load(path) as arrays:
            edges = torch.from_numpy(arrays["edge_index"].astype(np.int64))
            num_nodes = arrays["y"].size
        edges = edges.sort(dim=0).values
        keys = torch.unique(edges[0] * num_nodes + edges[1])
        return torch.stack([keys // num_nodes, keys % num_nodes]), num_nodes, "ogbn-arxiv"
    data = planted_graph(SyntheticConfig(num_nodes=169_343, degree=13.7, num_features=8))
    return undirected_pairs(data.edge_index), 169_343, "synthetic graph of ogbn-arxiv's size"


if __name__ == "__main__":
    main()
