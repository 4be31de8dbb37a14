"""The density of features from which a dense product is faster than a sparse one.

Run as ``python -m benchmarks.density THREADS``. Times the first layer of a GCN, ``X W`` forward and
the gradient of W backward, with the sparse product of `gaug.graph.sparse` and with a dense matrix
(BLAS), alternately, and prints a row per size of X with the density at which both take the same
time, interpolated between the measured ones, for each hidden width. ``--input-dropout`` drops
entries of X before the product, as a GAT does.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable

import torch
from torch import Tensor

from gaug.graph.dropout import dropout
from gaug.graph.sparse import SparseMatrix, to_csr
from gaug.models.base import Features

_SIZES = (
    *((1000, 200), (1000, 1000), (1000, 10000), (3000, 200), (3000, 1000), (3000, 5000)),
    *((20000, 200), (20000, 1000)),
)
_WIDTHS = (16, 64, 128, 256)
_DENSITIES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.55, 0.75)
_REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("threads", type=int)
    parser.add_argument("--input-dropout", type=float, default=0.0)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(f"| nodes | features | {' | '.join(f'hidden {width}' for width in _WIDTHS)} |")
    print(f"|{' --- |' * (2 + len(_WIDTHS))}")
    for nodes, features in _SIZES:
        cells = [_equal(nodes, features, width, given.input_dropout) for width in _WIDTHS]
        print(f"| {nodes:,} | {features:,} | {' | '.join(cells)} |", flush=True)


def _equal(nodes: int, features: int, width: int, share: float) -> str:
    """The density at which sparse and dense take the same time."""
    ratios = []
    for density in _DENSITIES:
        ratios.append(_ratio(nodes, features, width, density, share))
        if ratios[-1] > 1.5:
            break
    if ratios[0] > 1:
        return f"below {_DENSITIES[0]:.1%}"
    for (low, high), (before, after) in zip(
        itertools.pairwise(_DENSITIES), itertools.pairwise(ratios), strict=False
    ):
        if before <= 1 < after:
            step = math.log(1 / before) / math.log(after / before)
            return f"{low * (high / low) ** step:.0%}"
    return f"above {_DENSITIES[-1]:.0%}"


def _ratio(nodes: int, features: int, width: int, density: float, share: float) -> float:
    """Time of sparse over time of dense, each the least of some that alternate."""
    dense = torch.rand(nodes, features) * (torch.rand(nodes, features) < density)
    sparse = SparseMatrix.from_torch(to_csr(dense.to_sparse()))
    weight = torch.randn(features, width, requires_grad=True)
    steps = [_step(x, weight, share) for x in (sparse, dense)]
    for step in steps:
        step()
    pairs = [[_seconds(step) for step in steps] for _ in range(_REPEATS)]
    ours, theirs = map(min, zip(*pairs, strict=True))
    return ours / theirs


def _step(x: Features, weight: Tensor, share: float) -> Callable[[], None]:
    gradient = torch.randn(x.shape[0], weight.size(1))

    def step() -> None:
        weight.grad = None
        (dropout(x, share, training=True) @ weight).backward(gradient)

    return step


def _seconds(step: Callable[[], None]) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
