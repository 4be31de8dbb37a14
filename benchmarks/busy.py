"""Commands beside other busy processes: how long they take by how their threads wait.

``python -m benchmarks.busy GRAPH`` times ``gaug augment``, ``fit`` and ``train`` (plain and GAug-O)
with the waiting of GNU OpenMP's default and with that of our commands, in turn, quiet and beside
one and two loops in Python. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

_LOOP = [sys.executable, "-c", "while True: pass"]
# What OpenMP does by itself with as many threads as cores, in turns of its waiting loop.
_BEFORE = {"GOMP_SPINCOUNT": "300000"}
_COMMANDS = {
    "augment": ["augment", "GRAPH", "--out", "OUT/better", "--force"],
    "fit, two threads": ["fit", "GRAPH", "--out", "OUT/fit", "--force", "--threads", "2"],
    "train": ["train", "GRAPH", "--runs", "2", "--store", "sqlite:///OUT/runs.sqlite"],
    "GAug-O, two threads": [
        *("train", "GRAPH", "--method", "gaug-o", "--runs", "1", "--threads", "2"),
        *("--store", "sqlite:///OUT/runs.sqlite"),
    ],
}


def main() -> None:
    """Print a row per command and number of other processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="A graph of the catalog, or a folder or file.")
    parser.add_argument("--times", type=int, default=3, help="Measurements of each.")
    given = parser.parse_args()
    print("| command | others | before | after | after / before |")
    print("| --- | --- | --- | --- | --- |")
    for name, words in _COMMANDS.items():
        for others in (0, 1, 2):
            loops = [subprocess.Popen(_LOOP) for _ in range(others)]
            try:
                pairs = [
                    (_seconds(words, given.graph, _BEFORE), _seconds(words, given.graph, {}))
                    for _ in range(given.times)
                ]
            finally:
                for loop in loops:
                    loop.kill()
                    loop.wait()
            before, after = (statistics.median(side) for side in zip(*pairs, strict=True))
            ratios = [new / old for old, new in pairs]
            print(
                f"| {name} | {others} | {before:.1f} s | {after:.1f} s |"
                f" {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
                flush=True,
            )


def _seconds(words: list[str], graph: str, waiting: dict[str, str]) -> float:
    with tempfile.TemporaryDirectory() as out:
        command = [word.replace("GRAPH", graph).replace("OUT", out) for word in words]
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "gaug", *command, "--quiet"],
            env={**os.environ, **waiting},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - begun


if __name__ == "__main__":
    main()
