"""How often `auto` is right: on graphs where nothing helps, and on graphs where something does.

Run as ``python -m benchmarks.verdicts KIND GRAPHS [FIRST]``, where KIND is ``nothing`` or
``something`` with ``-many`` or ``-few`` training nodes. Each graph is another draw of the same
kind, with 500 validation nodes. To save time, GAug-O, AdaEdge, auto-encoders and second rounds do
not take part. Prints one line of JSON per graph: whether a method was chosen, how sure it was, its
gain on the validation nodes, and the gain of the best finalist on at least 1,000 test nodes.
``python -m benchmarks.verdicts summary FILE`` counts the lines of a file by kind, with Wilson's
intervals.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from gaug.choosing.candidates import CANDIDATES, Candidate, built_upon
from gaug.choosing.engine import TrialRunner, resampling_of
from gaug.choosing.limits import TRIAL_RUNS
from gaug.choosing.race import race
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.runs.execute import execute
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan

#: Degree, homophily, signal of the features, and number of training nodes. Where nothing helps, the
#: classes show neither in the edges, a quarter of which are within a class by chance, nor in the
#: features.
KINDS = {
    "nothing-many": (6.0, 0.25, 0.0, 1500),
    "something-many": (6.0, 0.6, 0.4, 1500),
    "nothing-few": (6.0, 0.25, 0.0, 120),
    "something-few": (6.0, 0.7, 0.27, 120),
}
_NODES, _VALIDATION = 3000, 500
_SLOW = ("gae", "adaedge", "gaug-o", "rounds=2")
_RUNS = 5


def main() -> None:
    if sys.argv[1] == "summary":
        print(summary(Path(sys.argv[2])))
        return
    kind, graphs = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    for seed in range(first, first + graphs):
        print(json.dumps({"kind": kind, "seed": seed, **judged(kind, seed)}), flush=True)


def judged(kind: str, seed: int) -> dict[str, Any]:
    """What the race says of a graph, and what the test nodes say."""
    begun = time.process_time()
    degree, homophily, signal, train = KINDS[kind]
    data = planted_graph(
        SyntheticConfig(
            num_nodes=_NODES,
            num_classes=4,
            num_features=200,
            feature_density=0.05,
            degree=degree,
            homophily=homophily,
            feature_signal=signal,
            seed=seed,
        )
    )
    fractions = SplitConfig(
        train_fraction=train / _NODES, val_fraction=_VALIDATION / _NODES, split_seed=seed
    )
    split = make_split(data, "random", fractions)
    plan = Plan.of(data, split=split, settings=["epochs=60", "hidden=32"], seed=seed)
    graphs = Graphs()
    resampling = resampling_of(graphs, plan, final=TRIAL_RUNS)
    found = race(
        plan,
        graphs.place(plan).task,
        TrialRunner(graphs, resampling=resampling),
        candidates=_quick(CANDIDATES),
        upon=lambda leader: _quick(built_upon(leader)),
    )
    best = found.best_change
    assert best is not None
    gain = found.gain_of(best)
    assert gain is not None
    scores = []
    for tested in (best.plan, found.plain.plan):
        records = execute(tested, runs=_RUNS, graphs=graphs)
        scores.append(statistics.fmean(record.test_score or 0.0 for record in records))
    return {
        "chosen": found.helps,
        "confidence": round(gain.confidence, 4),
        "val_gain": round(gain.points, 2),
        "error": round(gain.error, 2),
        "test_gain": round(scores[0] - scores[1], 2),
        "plain": round(scores[1], 1),
        "best": best.name,
        "tried": len(found.trials) - 1,
        "cpu_seconds": round(time.process_time() - begun, 1),
    }


def _quick(candidates: Any) -> list[Candidate]:
    """Those that do not take part of a minute each."""
    return [one for one in candidates if not any(slow in str(one) for slow in _SLOW)]


def summary(lines: Path) -> str:
    """One line per kind: graphs, the share that was changed, and the true and measured gains."""
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    texts = []
    for kind in KINDS:
        of_kind = [row for row in rows if row["kind"] == kind]
        if not of_kind:
            continue
        changed = sum(row["chosen"] for row in of_kind)
        interval = binomtest(changed, len(of_kind)).proportion_ci(method="wilson")
        tested = [row["test_gain"] for row in of_kind]
        judged_by = statistics.fmean(row["error"] for row in of_kind)
        texts.append(
            f"{kind}: {changed} of {len(of_kind)} changed ({changed / len(of_kind):.1%},"
            f" {interval.low:.1%} to {interval.high:.1%}); test gain of the best"
            f" {statistics.fmean(tested):+.2f} ({min(tested):+.1f} to {max(tested):+.1f});"
            f" standard error {judged_by:.2f}"
        )
    return "\n".join(texts)


if __name__ == "__main__":
    main()
