"""How often the verdict of a race is right, by simulation.

Run as ``python -m benchmarks.power CANDIDATES GAIN [RACES]``. The differences to no augmentation
on 500 validation nodes are drawn: 15 points of spread between nodes, half of its variance shared
by all candidates, half a point between runs, and 20 points of both together. One candidate gains
GAIN points, the others nothing. All get three runs, where the real race stops some earlier, and the
best three run again ten times. Prints the share of races in which a finalist was sure to gain.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from gaug.choosing.comparison import SURE
from gaug.choosing.gains import RunScores, gains_over
from gaug.choosing.race import CONFIRMING, FINALISTS, MORE

_NODES, _RACED, _CONFIRMED = 500, 3, CONFIRMING + MORE


def main() -> None:
    candidates, gain = int(sys.argv[1]), float(sys.argv[2])
    races = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    rng = np.random.default_rng(candidates + 100)
    sure = sum(is_sure(rng, candidates, gain) for _ in range(races))
    print(f"{candidates} candidates, {gain:g} points: sure in {sure / races:.1%} of {races} races")


def is_sure(rng: np.random.Generator, candidates: int, gain: float) -> bool:
    """Whether a race finds a finalist that is sure to gain."""
    zeros = np.zeros((_RACED + _CONFIRMED, _NODES))
    plain = RunScores(tuple(range(len(zeros))), (0.0,) * len(zeros), zeros)
    shared = rng.normal(size=_NODES)
    effects = [15 * (shared + rng.normal(size=_NODES)) / math.sqrt(2) for _ in range(candidates)]
    gains = [gain] + [0.0] * (candidates - 1)
    race = [_runs(rng, effects[k] + gains[k], range(_RACED)) for k in range(candidates)]
    order = sorted(range(candidates), key=lambda k: race[k].mean, reverse=True)
    again = range(_RACED, _RACED + _CONFIRMED)
    final = [_runs(rng, effects[k] + gains[k], again) for k in order[:FINALISTS]]
    found = gains_over(plain, [*final, *(race[k] for k in order[FINALISTS:])])
    return any(one.confidence >= SURE for one in found[: len(final)])


def _runs(rng: np.random.Generator, of_nodes: NDArray[np.float64], numbers: range) -> RunScores:
    size = len(numbers)
    of_runs = 0.5 * rng.normal(size=(size, 1))
    nodes = of_nodes + of_runs + 20 * rng.normal(size=(size, _NODES))
    return RunScores(tuple(numbers), tuple(nodes.mean(axis=1)), nodes)


if __name__ == "__main__":
    main()
