"""Settings of GAug-O compared with no augmentation on validation nodes, over many graphs.

Its defaults were chosen by this: ``python -m benchmarks.gaug_o_defaults STORE`` trains a GCN with
each of the `SETTINGS` on each of the `GRAPHS` and prints the gains on validation nodes, node by
node, with test labels hidden. ``--graphs`` and ``--settings`` restrict it, runs on record are not
repeated, and ``--test`` prints test scores instead, for settings that are chosen already. Graphs of
the catalog have the splits of the paper's authors where these are at hand.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gaug.choosing.engine import TrialRunner
from gaug.choosing.gains import Gain, gains_over
from gaug.choosing.trial import Trial
from gaug.data.catalog.entries import CATALOG
from gaug.data.folders import data_root
from gaug.runs.execute import execute
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.runs.summary import mean_and_spread
from gaug.studies.scope import StudyOptions
from gaug.studies.study import paper_plan

#: Names in the catalog, or folders in the data folder; cheap ones first.
GRAPHS = (
    *("air-usa", "own/polblogs", "cora", "citeseer", "own/acm", "blogcatalog"),
    *("flickr", "pubmed", "own/dblp"),
)

_OLD = {
    "alpha": 0.2,
    "beta": 1.0,
    "temperature": 1.0,
    "pretrain_predictor_epochs": 100,
    "pretrain_classifier_epochs": 30,
    "pretrain_weights": "last",
    "warmup": 0.0,
}
_CENTER = {**_OLD, "alpha": 0.5, "pretrain_weights": "best"}

#: The settings that are compared, complete, so that they do not depend on the defaults.
SETTINGS: dict[str, Mapping[str, Any]] = {
    "old": _OLD,
    "old, best": {**_OLD, "pretrain_weights": "best"},
    "center": _CENTER,
    "alpha 0.1": {**_CENTER, "alpha": 0.1},
    "alpha 0.8": {**_CENTER, "alpha": 0.8},
    "alpha 1": {**_CENTER, "alpha": 1.0},
    "classifier 100": {**_CENTER, "pretrain_classifier_epochs": 100},
    "predictor 200": {**_CENTER, "pretrain_predictor_epochs": 200},
    "temperature 1.6": {**_CENTER, "temperature": 1.6},
    "temperature 0.5": {**_CENTER, "temperature": 0.5},
    "beta 0.2": {**_CENTER, "beta": 0.2},
    "warmup 5": {**_CENTER, "warmup": 5.0},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", help="URL of the store, such as sqlite:///defaults.sqlite.")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--test", action="store_true", help="Print test scores.")
    given = parser.parse_args()
    titles = ["plain", *given.settings]
    print(f"| graph | {' | '.join(titles)} |\n|{' --- |' * (len(titles) + 1)}", flush=True)
    gains = []
    for graph in given.graphs:
        plans = [_plan(graph), *(_plan(graph, SETTINGS[name]) for name in given.settings)]
        store = Store(given.store)
        if given.test:
            cells = [_test_score(plan, given.runs, store) for plan in plans]
        else:
            plain, of_graph = _gains(plans, given.runs, store)
            gains.append([gain.points for gain in of_graph])
            cells = [plain, *map(str, of_graph)]
        print(f"| {graph} | {' | '.join(cells)} |", flush=True)
    if gains:
        means = [f"{statistics.fmean(points):+.2f}" for points in zip(*gains, strict=True)]
        harmed = [str(sum(p < 0 for p in points)) for points in zip(*gains, strict=True)]
        print(f"| mean gain |  | {' | '.join(means)} |")
        print(f"| graphs with a loss |  | {' | '.join(harmed)} |")


def _plan(graph: str, settings: Mapping[str, Any] | None = None) -> Plan:
    method = "none" if settings is None else "gaug-o"
    if graph in CATALOG:
        return paper_plan(graph, "gcn", method, settings or {}, StudyOptions())
    return Plan.of(data_root(None) / graph, model="gcn", method=method, settings=settings or {})


def _gains(plans: Sequence[Plan], runs: int, store: Store) -> tuple[str, list[Gain]]:
    """The validation score of the first plan, and the gains of the others over it."""
    runner = TrialRunner(Graphs(), runs, store=store)
    outcomes = []
    for plan in plans:
        found = runner.run_one(Trial(str(plan), plan)).outcomes
        assert found is not None, "all runs of a trial have scores"
        outcomes.append(found)
    plain, *others = outcomes
    return mean_and_spread(plain.values), gains_over(plain, others)


def _test_score(plan: Plan, runs: int, store: Store) -> str:
    records = execute(plan, runs=runs, store=store, resume=True)
    scores = [record.test_score for record in records if record.test_score is not None]
    return mean_and_spread(scores)


if __name__ == "__main__":
    main()
