"""How often a race finds what helps, by simulation: no training, many races.

Run as ``python -m benchmarks.power CANDIDATES GAIN TRAIN [RACES]``, with 500 validation nodes and
TRAIN training nodes, which validate in the final, too, if they are 200 or more. The differences to
no augmentation are drawn: 15 points of spread between nodes, half of its variance shared by all
candidates, half a point between runs, and 20 points of both together. One candidate gains GAIN
points, the others nothing. All get three runs, where the real race stops some earlier, and the best
three run again ten times. Prints the share of races in which a finalist was sure to gain.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import torch
from numpy.typing import NDArray

from gaug.choosing.comparison import SURE
from gaug.choosing.gains import gains_of_finalists, gains_over
from gaug.choosing.race import CONFIRMING, FINALISTS, MORE
from gaug.choosing.resampling import Resampling
from gaug.choosing.run_scores import RunScores
from gaug.data.splits import Split

_VALIDATION, _RACED, _CONFIRMED = 500, 3, CONFIRMING + MORE


def main() -> None:
    candidates, gain, train = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    races = int(sys.argv[4]) if len(sys.argv) > 4 else 300
    rng = np.random.default_rng(candidates + 100)
    sure = sum(is_sure(rng, candidates, gain, train) for _ in range(races))
    print(
        f"{candidates} candidates, {gain:g} points, {train} training nodes:"
        f" sure in {sure / races:.1%} of {races} races"
    )


def is_sure(rng: np.random.Generator, candidates: int, gain: float, train: int) -> bool:
    """Whether a race finds a finalist that is sure to gain."""
    nodes = torch.arange(_VALIDATION + train)
    split = Split("drawn", nodes[_VALIDATION:], nodes[:_VALIDATION], nodes[:0])
    seed = int(rng.integers(2**31))
    drawing = Resampling.of(split, torch.zeros(len(nodes), dtype=torch.long), seed, _RACED)
    validating = [
        (split if drawing is None else drawing.split_of(run)).val.numpy()
        for run in range(_RACED + _CONFIRMED)
    ]
    shared = rng.normal(size=len(nodes))
    effects = [
        15 * (shared + rng.normal(size=len(nodes))) / math.sqrt(2) for _ in range(candidates)
    ]
    effects[0] += gain
    race = [_runs(rng, one, range(_RACED), validating) for one in effects]
    order = sorted(range(candidates), key=lambda k: race[k].mean, reverse=True)
    again = range(_RACED, _RACED + _CONFIRMED)
    final = [_runs(rng, effects[k], again, validating) for k in order[:FINALISTS]]
    numbers = range(_RACED + _CONFIRMED)
    zeros = np.zeros((len(numbers), len(nodes)))
    plain = RunScores(tuple(numbers), (0.0,) * len(numbers), zeros)
    if drawing is not None and drawing.fresh:
        found = gains_over(plain, final)
    else:
        found = gains_of_finalists(plain, race, dict(zip(order, final, strict=False)))
    return any(one.confidence >= SURE for one in found)


def _runs(
    rng: np.random.Generator,
    of_nodes: NDArray[np.float64],
    numbers: range,
    validating: list[NDArray[np.int64]],
) -> RunScores:
    rows = np.full((len(numbers), len(of_nodes)), np.nan)
    for row, number in zip(rows, numbers, strict=True):
        seen = validating[number]
        row[seen] = of_nodes[seen] + 0.5 * rng.normal() + 20 * rng.normal(size=len(seen))
    return RunScores(tuple(numbers), tuple(np.nanmean(rows, axis=1)), rows)


if __name__ == "__main__":
    main()
