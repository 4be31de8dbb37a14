"""GAug-O's engines ``sparse`` and ``blocked`` on real graphs: draws, gradients, time and memory.

With a GCN and the published settings, after pretraining and one epoch of joint training:

- how often pairs of all sizes of M are drawn, against their exact probability;
- the gradient of the predictor's weights (`benchmarks.engine_gradients`);
- seconds and memory of a joint epoch, each engine in a process of its own, in turn, one thread.

``sparse`` draws without its limit of added edges, so that both draw from the same probabilities.

Run as ``python -m benchmarks.engines GRAPH … [--draws N] [--gradients N] [--pairs N]``; a number of
0 leaves that part out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.stats
import torch
from torch import Tensor

from benchmarks.engine_gradients import COLUMNS, Trained, compare_gradients
from benchmarks.graphs import benchmark_graph
from benchmarks.joint import joint_epoch
from gaug import GAugOConfig
from gaug.config import assign_settings
from gaug.graph.edges import keys_to_pairs, pair_keys
from gaug.methods.gaug_o.learned_edges import LearnedEdges
from gaug.studies.paper import published_settings
from gaug.training.task import Task

# Chosen pairs of each kind: edges; others by the rank of M, as many between 10 and 100 as between
# 100 and 1,000; others at random.
_CHOSEN = 700
_OUTSIDE = 0.001
# Variance of a count from which it takes part in the chi-square.
_ENOUGH = 5
_EPOCHS = 8


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.engines")
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--gradients", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--epoch", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for graph in asked.graphs:
        if asked.epoch is not None:
            task, config = _task_and_config(graph, asked.epoch)
            print(json.dumps(joint_epoch(task, config, _EPOCHS)))
            return
        for line in _lines(graph, asked):
            print(line, flush=True)


def _lines(graph: str, asked: argparse.Namespace) -> Iterator[str]:
    """What is found for a graph, part by part."""
    task, config = _task_and_config(graph, "blocked")
    if asked.draws or asked.gradients:
        trained = Trained.of(task, config)
        for engine in ("blocked", "sparse") if asked.draws else ():
            yield f"{graph}, {engine}: {_frequencies(trained, config, engine, asked.draws)}"
    if asked.gradients:
        found = compare_gradients(trained, asked.gradients)
        yield (
            f"{graph}: means of {asked.gradients} gradients {found['distance']:.2f} standard errors"
            f" apart (p = {found['p']:.2f}), an error is {found['error']:.1%} of the mean"
        )
        yield f"{graph}: standard deviations, all columns {found['all']:.2f}; " + ", ".join(
            f"{name} {found[name]:.2f} (columns alone {found[f'{name} alone']:.3f})"
            for name in COLUMNS
        )
    costs: dict[str, list[dict[str, Any]]] = {"blocked": [], "sparse": []}
    for _ in range(asked.pairs):
        for engine, seen in costs.items():
            seen.append(_epoch(graph, engine))
    for engine, seen in costs.items():
        if seen:
            seconds = ", ".join(f"{cost['seconds']:.3f}" for cost in seen)
            memory = statistics.median(cost["memory_mb"] for cost in seen)
            yield f"{graph}, {engine}: a joint epoch {seconds} s, {memory:,.0f} MB"


def _task_and_config(graph: str, engine: str) -> tuple[Task, GAugOConfig]:
    settings = published_settings(graph, "gcn", "gaug-o")
    del settings["patience"]  # that of the loop
    changed = assign_settings({"method": GAugOConfig(engine=engine)}, settings)["method"]
    assert isinstance(changed, GAugOConfig)
    data, _ = benchmark_graph(graph)
    limit = int(data.num_nodes) ** 2 if engine == "sparse" else None
    return Task.of(data), dataclasses.replace(changed, max_sampled_edges=limit)


def _frequencies(trained: Trained, config: GAugOConfig, engine: str, draws: int) -> str:
    """How often chosen pairs were drawn, against their probabilities."""
    adjacency = trained.task.adjacency
    limit = adjacency.num_nodes**2 if engine == "sparse" else None
    config = dataclasses.replace(config, engine=engine, max_sampled_edges=limit)
    with torch.no_grad():
        learned = LearnedEdges.of(config, trained.prepared(), adjacency)
        keys = _chosen(learned)
        counts, sizes = torch.zeros(keys.numel(), dtype=torch.long), []
        for seed in range(draws):
            drawn = pair_keys(learned.sample(seed).pairs, adjacency.num_nodes)
            counts += torch.isin(keys, drawn)
            sizes.append(drawn.numel())
        exact = learned.probabilities(keys_to_pairs(keys, adjacency.num_nodes))
    p, seen = exact.double().numpy(), counts.numpy()
    low, high = (scipy.stats.binom.ppf(q, draws, p) for q in (_OUTSIDE / 2, 1 - _OUTSIDE / 2))
    outside = float(np.mean((seen < low) | (seen > high)))
    by_chance = scipy.stats.binom.cdf(low - 1, draws, p) + scipy.stats.binom.sf(high, draws, p)
    # Of the pairs for which a normal distribution is near enough, each with mean 1.
    variance = draws * p * (1 - p)
    inner = variance >= _ENOUGH
    squares = np.square(seen[inner] - draws * p[inner]) / variance[inner]
    spread = math.sqrt(float(np.sum(2 + 1 / variance[inner] - 6 / draws)))
    return (
        f"{draws} draws of {statistics.mean(sizes):,.0f} edges, {p.size:,} pairs with P from"
        f" {p.min():.1e} to {p.max():.2g}: {outside:.2%} outside 99.9 % bounds"
        f" ({np.mean(by_chance):.2%} by chance), chi-square of {squares.size} pairs"
        f" {np.sum(squares):.0f} ({(np.sum(squares) - squares.size) / spread:+.1f} standard"
        " deviations from their number)"
    )


def _chosen(learned: LearnedEdges) -> Tensor:
    """Keys of edges, of other pairs by the rank of their score, and of others at random.  [n]"""
    num_nodes, generator = learned.original.num_nodes, torch.Generator().manual_seed(0)
    edges = pair_keys(learned.original.pairs, num_nodes)
    known = edges[torch.randperm(edges.numel(), generator=generator)[:_CHOSEN]]
    scores = (learned.prepared @ learned.prepared.t()).triu(1).flatten()
    scores[edges] = 0
    order = scores.argsort(descending=True)[: int((scores > 0).sum())]
    ranks = np.unique(np.geomspace(1, order.numel(), _CHOSEN).astype(np.int64)) - 1
    random = torch.randint(num_nodes, (2, _CHOSEN), generator=generator).sort(dim=0).values
    random = pair_keys(random[:, random[0] < random[1]], num_nodes)
    return torch.cat([known, order[torch.from_numpy(ranks)], random]).unique()


def _epoch(graph: str, engine: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.engines", graph, "--epoch", engine]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    cost: dict[str, Any] = json.loads(done.stdout)
    return cost


if __name__ == "__main__":
    main()
