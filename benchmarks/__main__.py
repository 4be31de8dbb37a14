"""``make bench``: every benchmark in one run, each side in a process of its own."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

from benchmarks.epoch import epoch_breakdown
from benchmarks.joint import DEGREE
from benchmarks.methods import METHODS
from benchmarks.ranking import INDICES
from gaug.data.folders import data_root

_EPOCHS = 200
_LARGEST_DENSE = 12_000


def main() -> None:
    print("One run of 200 epochs with validation, against a plain PyTorch Geometric script.")
    print("The script has all cores; our single runs have one thread.\n")
    # A few epochs of the peer are timed and scaled: all 200 on Flickr take a quarter of an hour.
    peers = {"cora": _measure("peer", "cora", 40), "flickr": _measure("peer", "flickr", 4)}
    print(f"{'':34} {'peer s':>9} {'ours s':>9} {'faster':>7} {'peer MB':>9} {'ours MB':>9}")
    for name, runs, workers in (("cora", 1, 1), ("flickr", 1, 1), ("cora", 30, 2)):
        peer, ours = peers[name], _measure("ours", name, runs, workers)
        peer_seconds = runs * _EPOCHS * peer["seconds_per_epoch"]
        label = f"{ours['graph']}, {runs} run(s), {workers} worker(s)"
        print(
            f"{label:34} {peer_seconds:9.1f} {ours['seconds']:9.1f}"
            f" {peer_seconds / ours['seconds']:6.1f}x"
            f" {peer['peak_memory_mb']:9,.0f} {ours['peak_memory_mb']:9,.0f}",
            flush=True,
        )
    print()
    for name in ("cora", "flickr"):
        print("\n".join(epoch_breakdown(name)), flush=True)
    print()
    _rankings()
    print()
    _joint_epochs()
    print()
    _batches()
    print()
    _methods()


def _joint_epochs() -> None:
    print("An epoch of GAug-O's joint training by its engines, with two threads unless a number is")
    print("given; memory above the inputs.\n")
    previous: dict[str, Any] | None = None
    for num_nodes in (2708, 7575, 12000, 19717):
        ours = _joint("blocked", num_nodes, 2)
        line = f"{num_nodes:6,} nodes: blocked {ours['seconds']:.2f} s, {ours['memory_mb']:,.0f} MB"
        if previous is not None:
            line += f", grows as N^{_growth(previous, ours, 'seconds'):.1f} in time"
            line += f" and N^{_growth(previous, ours, 'memory_mb'):.1f} in memory"
        if num_nodes <= _LARGEST_DENSE:
            dense = _joint("dense", num_nodes, 2)
            line += (
                f"; dense {dense['seconds']:.2f} s, {dense['memory_mb']:,.0f} MB:"
                f" {dense['seconds'] / ours['seconds']:.1f}x as fast,"
                f" 1/{dense['memory_mb'] / ours['memory_mb']:.0f} of the memory"
            )
        # A run has one thread unless told otherwise.
        alone, sparse = _joint("blocked", num_nodes, 1), _joint("sparse", num_nodes, 1)
        together = _joint("sparse", num_nodes, 2)
        line += (
            f"; sparse with one thread {sparse['seconds']:.2f} s, {sparse['memory_mb']:,.0f} MB:"
            f" {alone['seconds'] / sparse['seconds']:.1f}x as fast as blocked with one thread"
            f" ({alone['seconds']:.2f} s), with two {ours['seconds'] / together['seconds']:.1f}x"
        )
        print(line, flush=True)
        previous = ours
    for num_nodes in (100_000, 1_000_000):
        sparse = _joint("sparse", num_nodes, 2, degree=10)
        print(
            f"{num_nodes:,} nodes of degree 10: sparse {sparse['seconds']:.2f} s,"
            f" {sparse['memory_mb']:,.0f} MB",
            flush=True,
        )


def _joint(engine: str, num_nodes: int, threads: int, degree: float = DEGREE) -> dict[str, Any]:
    return _measure("joint", engine, num_nodes, degree, threads)


def _batches() -> None:
    structure = data_root() / "ogbn-arxiv-structure" / "graph.npz"
    known = [structure] if structure.is_file() else []
    graph = "the structure of ogbn-arxiv" if known else "a synthetic graph of ogbn-arxiv's size"
    print(f"A mini-batch on {graph}, against k_hop_subgraph and GCNConv, two threads.\n")
    peer, ours = _measure("batches", "peer", *known), _measure("batches", "ours", *known)
    print(
        f"peer {peer['seconds']:.2f} s, {peer['memory_mb']:,.0f} MB; ours {ours['seconds']:.2f} s,"
        f" {ours['memory_mb']:,.0f} MB: {peer['seconds'] / ours['seconds']:.1f}x as fast",
        flush=True,
    )


def _growth(small: dict[str, Any], large: dict[str, Any], what: str) -> float:
    nodes = large["num_nodes"] / small["num_nodes"]
    return math.log(large[what] / small[what]) / math.log(nodes)


def _methods() -> None:
    print("One run of 200 epochs of a GCN with each method, default settings.\n")
    for name in ("cora", "flickr"):
        costs = {method: _measure("methods", name, method) for method in METHODS}
        for method, cost in costs.items():
            times = cost["seconds"] / costs["none"]["seconds"]
            print(
                f"{cost['graph']}, {method:9} {cost['seconds']:7.1f} s ({times:.1f}x plain),"
                f" {cost['peak_memory_mb']:6,.0f} MB at its peak",
                flush=True,
            )


def _rankings() -> None:
    print("All-pairs work, memory above the inputs.\n")
    dense, ours = _measure("ranking", "dense"), _measure("ranking", "blocked")
    print(
        f"top |E| non-edges of {ours['graph']}, 32 dimensions: dense {dense['seconds']:.2f} s,"
        f" {dense['memory_mb']:,.0f} MB; ours {ours['seconds']:.2f} s, {ours['memory_mb']:,.0f} MB:"
        f" {dense['seconds'] / ours['seconds']:.1f}x as fast,"
        f" 1/{dense['memory_mb'] / max(1.0, ours['memory_mb']):.0f} of the memory",
        flush=True,
    )
    for what in INDICES:
        _print_cost(f"{what}, top |E| non-edges", _measure("ranking", what))
    _print_cost("GAE, exact loss, 10 epochs", _measure("ranking", "gae"))
    _print_cost("top 0.8 |E| non-edges, 32 dimensions", _measure("ranking", "large"))


def _print_cost(what: str, cost: dict[str, Any]) -> None:
    line = f"{cost['graph']}, {what}: {cost['seconds']:.1f} s, {cost['memory_mb']:,.0f} MB"
    print(line, flush=True)


def _measure(module: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: dict[str, Any] = json.loads(result.stdout)
    return measured


if __name__ == "__main__":
    main()
