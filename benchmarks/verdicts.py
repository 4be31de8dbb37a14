"""How often `auto` is right: on graphs where nothing helps, and on graphs where something does.

Run as ``python -m benchmarks.verdicts KIND GRAPHS [FIRST]``, where KIND is ``nothing`` or
``something``. Each graph is another draw of the same kind, with 500 validation nodes. Prints one
line of JSON per graph: whether a method was chosen, how sure it was, its gain on the validation
nodes, and the gain of the best finalist on the many test nodes, over the same runs.
"""

from __future__ import annotations

import json
import sys
import time

from gaug.choosing.auto import choose_method
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.runs.execute import execute
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan

#: Edges that know the classes and features that do not, and the other way round.
KINDS = {
    "nothing": {"degree": 8.0, "homophily": 0.8, "feature_signal": 0.35},
    "something": {"degree": 6.0, "homophily": 0.55, "feature_signal": 0.45},
}
_RUNS = 10


def main() -> None:
    kind, graphs = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    for seed in range(first, first + graphs):
        print(json.dumps({"kind": kind, "seed": seed, **judged(kind, seed)}), flush=True)


def judged(kind: str, seed: int) -> dict[str, object]:
    """What `auto` says of a graph, and what the test nodes say."""
    begun = time.perf_counter()
    data = planted_graph(
        SyntheticConfig(
            num_nodes=3000, num_classes=4, num_features=200, feature_density=0.05, seed=seed,
            **KINDS[kind],  # type: ignore[arg-type]
        )
    )  # fmt: skip
    split = make_split(
        data, "random", SplitConfig(train_fraction=0.04, val_fraction=1 / 6, split_seed=seed)
    )
    plan = Plan.of(data, split=split, settings=["epochs=60", "hidden=32"], seed=seed)
    held = Graphs()
    found = choose_method(plan, graphs=held, time_budget=1e6)
    best = found.best_change
    assert best is not None
    gain = found.gain_of(best)
    assert gain is not None
    scores = []
    for chosen in (best.plan, found.plain.plan):
        records = execute(chosen, runs=_RUNS, graphs=held)
        scores.append(sum(record.test_score or 0.0 for record in records) / len(records))
    return {
        "chosen": found.helps,
        "confidence": round(gain.confidence, 4),
        "val_gain": round(gain.points, 2),
        "error": round(gain.error, 2),
        "test_gain": round(scores[0] - scores[1], 2),
        "plain": round(scores[1], 1),
        "best": best.name,
        "tried": len(found.trials) - 1,
        "seconds": round(time.perf_counter() - begun, 1),
    }


if __name__ == "__main__":
    main()
