"""What the probabilities of the right classes add when candidates are compared.

Run as ``python -m benchmarks.evidence STORE``: on each graph, a GCN with GAug-M by many predictors
and shares of edges, and with DropEdge, each in five runs. Prints the largest ratio of a gain on
validation nodes to its error, by the score alone and by the probabilities, and the test scores of
no augmentation and of what each rule ranks first. ``--graphs`` restricts it, and runs on record are
not repeated. It reads test scores to examine the rule: no setting is chosen by them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gaug.choosing.candidates import CANDIDATES, FEATURES, SMOOTHED, STRUCTURE, Candidate, variants
from gaug.choosing.differences import differences_to
from gaug.choosing.engine import TrialRunner
from gaug.choosing.run_scores import RunScores
from gaug.data.catalog.entries import CATALOG
from gaug.data.folders import data_root
from gaug.runs.execute import execute
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.runs.summary import mean_and_spread
from gaug.studies.choices import OWN_SPLIT
from gaug.studies.scope import StudyOptions
from gaug.studies.study import paper_plan

#: Names in the catalog, or folders in the data folder; a tenth of the latter trains.
GRAPHS = ("own/polblogs", "air-usa", "own/acm", "cora", "citeseer")
# They take longer than all others together.
_SLOW = ("adaedge", "gaug-o", "gae")
_RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", help="URL of the store, such as sqlite:///evidence.sqlite.")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS)
    given = parser.parse_args()
    titles = "graph | candidates | by score | by probability | plain | first by score | by both"
    print(f"| {titles} |\n|{' --- |' * 7}", flush=True)
    for graph in given.graphs:
        print(f"| {' | '.join(_row(graph, Store(given.store)))} |", flush=True)


def _row(graph: str, store: Store) -> list[str]:
    plan, graphs = _plan(graph), Graphs()
    runner = TrialRunner(graphs, _RUNS, store=store)
    plain = _outcomes(runner.run_one(Candidate(plan.method.config).trial(plan)).outcomes)
    trials = [runner.run_one(candidate.trial(plan)) for candidate in candidates()]
    outcomes = [_outcomes(trial.outcomes) for trial in trials]
    (by_score,) = differences_to(plain, outcomes)
    (by_both,) = differences_to(plain.by_probability, [one.by_probability for one in outcomes])
    first = [
        max(trials, key=lambda trial: trial.mean).plan,
        max(trials, key=lambda trial: trial.merit).plan,
    ]
    return [
        graph,
        str(len(trials)),
        f"{max(one.ratio for one in by_score):.1f}",
        f"{max(one.ratio for one in by_both):.1f}",
        *(_test_score(one, store, graphs) for one in (plan, *first)),
    ]


def candidates() -> Sequence[Candidate]:
    """GAug-M by all cheap predictors, with other shares around six of them, and DropEdge."""
    quick = [one for one in CANDIDATES if not any(slow in str(one) for slow in _SLOW)]
    named = ("predictor=ra ", "predictor=lnb ", "predictor=jaccard ")
    around = [FEATURES, SMOOTHED, STRUCTURE]
    around += [one for one in quick if any(name in str(one) for name in named)]
    found = [*quick, *(variant for leader in around for variant in variants(leader))]
    return list({str(one): one for one in found}.values())


def _plan(graph: str) -> Plan:
    if graph in CATALOG:
        return paper_plan(graph, "gcn", "none", {}, StudyOptions())
    return Plan.of(data_root(None) / graph, model="gcn", split="stratified", split_config=OWN_SPLIT)


def _outcomes(found: RunScores | None) -> RunScores:
    assert found is not None, "all runs of a trial have scores"
    return found


def _test_score(plan: Plan, store: Store, graphs: Graphs) -> str:
    records = execute(plan, runs=_RUNS, store=store, graphs=graphs, resume=True)
    return mean_and_spread([one.test_score for one in records if one.test_score is not None])


if __name__ == "__main__":
    main()
