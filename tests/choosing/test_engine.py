"""Trials are run side by side, on record, within a time, with test labels hidden."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from torch_geometric.data import Data

from gaug import load_graph, make_split
from gaug.choosing.engine import TrialRunner, check_validation, resampling_of
from gaug.choosing.proposer import Proposer
from gaug.choosing.trial import Trial
from gaug.data.config import SplitConfig
from gaug.data.splits import Split
from gaug.errors import ConfigError, DataError, TrainingError
from gaug.runs.execute import execute
from gaug.runs.executor import Executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.runs.worker_processes import WorkerProcesses
from tests.choosing.conftest import karate
from tests.known import known


class Batches(Proposer):
    """Proposes what it is given, batch by batch; gives up trials by name."""

    prunes = True

    def __init__(self, *batches: list[Trial], hopeless: tuple[str, ...] = ()) -> None:
        self.batches = list(batches)
        self.hopeless = hopeless
        self.learned: list[Trial] = []
        self.released: list[Trial] = []
        self.judged: list[tuple[str, float]] = []

    def propose(self) -> list[Trial]:
        return self.batches.pop(0) if self.batches else []

    def is_hopeless(self, trial: Trial, merit: float) -> bool:
        self.judged.append((trial.name, merit))
        return trial.name in self.hopeless

    def learn(self, trial: Trial) -> None:
        self.learned.append(trial)

    def release(self, trial: Trial) -> None:
        self.released.append(trial)


def dropping(fraction: float) -> Trial:
    return Trial(f"drop {fraction}", karate("dropedge", f"drop_fraction={fraction}"))


def by_fraction(prepared, run) -> float:
    return 100 * prepared.method.config.drop_fraction + run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "runs.sqlite"))) as opened:
        yield opened


@pytest.mark.parametrize(
    ("method", "settings"), [("dropedge", []), ("gaug-m", ["predictor=ra"]), ("none", [])]
)
def test_the_runs_of_a_trial_are_those_of_its_plan(method, settings):
    plan = karate(method, "epochs=5", *settings, seed=3)
    trial = TrialRunner(Graphs(), runs=2).run_one(Trial("it", plan))
    expected = execute(plan, runs=2)
    assert trial.scores is not None
    assert list(trial.scores.values) == [record.val_score for record in expected]
    assert trial.scores.num_nodes == Graphs().split(plan).val.numel()
    assert trial.seconds > 0


def test_trials_come_back_in_the_order_of_the_proposals_whatever_the_workers():
    def run(executor: Executor | None) -> list[Trial]:
        batches = Batches([dropping(0.1), dropping(0.9)], [dropping(0.5)])
        return TrialRunner(Graphs(), runs=2, executor=executor).run_all(batches)

    alone = run(None)
    with WorkerProcesses(2) as executor:
        spread = run(executor)
    assert [trial.name for trial in alone] == ["drop 0.1", "drop 0.9", "drop 0.5"]
    assert [(t.name, t.scores) for t in alone] == [(t.name, t.scores) for t in spread]


def test_a_hopeless_trial_is_given_up_after_its_first_run(scored):
    found = scored(by_fraction)
    proposer = Batches([dropping(0.1), dropping(0.2)], hopeless=("drop 0.1",))
    given_up, whole = TrialRunner(Graphs(), runs=3).run_all(proposer)
    assert (given_up.pruned, given_up.counts) == (True, False)
    assert known(given_up.scores).values == (10.0,)
    assert (whole.pruned, known(whole.scores).values) == (False, (20.0, 21.0, 22.0))
    assert found.settings("drop_fraction") == [0.1, 0.2, 0.2, 0.2]
    assert [name for name, _ in proposer.judged] == ["drop 0.1", "drop 0.2"]
    assert proposer.judged[0][1] == pytest.approx(given_up.merit)
    assert proposer.learned == [given_up, whole]


def test_the_same_settings_proposed_twice_are_run_once_and_count_for_both(scored):
    found = scored(by_fraction)
    one, two = Trial("a", dropping(0.3).plan), Trial("b", dropping(0.3).plan)
    first, second = TrialRunner(Graphs(), runs=2).run_all(Batches([one, two]))
    assert first.scores == second.scores
    assert (first.name, second.name) == ("a", "b")
    assert len(found.asked) == 2


def test_a_trial_that_fails_says_why_and_the_others_go_on(scored):
    def score(prepared, run) -> float:
        if prepared.method.config.drop_fraction == 0.2:
            raise TrainingError("too much")
        return 1.0

    scored(score)
    proposer = Batches([dropping(0.1), dropping(0.2), dropping(0.3)])
    fine, failed, also = TrialRunner(Graphs(), runs=2).run_all(proposer)
    assert (failed.failure, failed.scores) == ("too much", None)
    assert fine.counts
    assert also.counts
    assert proposer.learned == [fine, failed, also]
    with pytest.raises(TrainingError, match="too much"):
        TrialRunner(Graphs(), runs=1).run_one(dropping(0.2))


def test_runs_on_record_are_taken_over(store, scored):
    found = scored(by_fraction)
    for _ in range(2):
        (trial,) = TrialRunner(Graphs(), runs=2, store=store).run_all(Batches([dropping(0.4)]))
        assert known(trial.scores).values == (40.0, 41.0)
    assert len(found.asked) == 2
    assert len(store.all()) == 2


def test_when_the_time_is_over_what_is_under_way_is_released_and_no_more_is_proposed(
    scored, monkeypatch
):
    seconds = itertools.count()  # a clock that moves a second each time somebody looks
    monkeypatch.setattr(time, "monotonic", lambda: float(next(seconds)))
    scored(by_fraction)
    proposer = Batches([dropping(0.1)], [dropping(0.2)], [dropping(0.3)])
    done = TrialRunner(Graphs(), runs=3, deadline=8.0).run_all(proposer)
    last = done[-1]
    assert len(done) < 3
    assert last.failure == "the time was up before it finished"
    assert [trial.name for trial in proposer.released] == [last.name]
    assert proposer.learned == done[:-1]


def test_a_single_trial_runs_to_its_end_whatever_the_time(scored):
    scored(by_fraction)
    trial = TrialRunner(Graphs(), runs=2, deadline=-1.0).run_one(dropping(0.1))
    assert known(trial.scores).values == (10.0, 11.0)


def test_an_interruption_releases_what_was_proposed(scored):
    def score(prepared, run) -> float:
        if prepared.method.config.drop_fraction == 0.2:
            raise KeyboardInterrupt
        return 1.0

    scored(score)
    proposer = Batches([dropping(0.1)], [dropping(0.2), dropping(0.3)])
    with pytest.raises(KeyboardInterrupt):
        TrialRunner(Graphs(), runs=1).run_all(proposer)
    assert [trial.name for trial in proposer.learned] == ["drop 0.1"]
    assert [trial.name for trial in proposer.released] == ["drop 0.2", "drop 0.3"]


def test_progress_counts_trials_with_the_parts_of_those_under_way(scored):
    scored(by_fraction)
    moves: list[float] = []
    proposer = Batches([dropping(0.1)], [dropping(0.2), dropping(0.3)], hopeless=("drop 0.2",))
    TrialRunner(Graphs(), runs=2).run_all(proposer, moves.append)
    assert moves == sorted(moves)
    assert {0.0, 0.5, 1.0, 1.5, 2.0, 3.0} <= set(moves)
    assert moves[-1] == 3


@pytest.fixture
def data() -> Data:
    graph = load_graph("karate")
    split = make_split(graph, "stratified", SplitConfig(train_fraction=0.1))
    return split.apply(graph)


def test_labels_of_test_nodes_make_no_difference(data: Data):
    other = data.clone()
    other.y[data.test_mask] = 1 - data.y[data.test_mask]
    one, two = (
        TrialRunner(Graphs(), runs=2).run_one(
            Trial("it", Plan.of(graph, method="dropedge", settings=["epochs=5"]))
        )
        for graph in (data, other)
    )
    assert one.scores == two.scores


def test_without_validation_nodes_nothing_is_compared(data: Data):
    data.val_mask[:] = False
    trial = Trial("it", Plan.of(data, split=Split.of_masks(data, "masks")))
    with pytest.raises(DataError, match="validation nodes"):
        check_validation(Graphs(), trial)


def test_no_runs_are_refused():
    with pytest.raises(ConfigError, match="trial_runs must be at least 1, got 0"):
        TrialRunner(Graphs(), runs=0)


def test_scores_and_probabilities_are_in_the_place_of_the_nodes_that_validated():
    """Where each run draws its nodes, both are NaN for the same others."""
    plan = karate("none", "epochs=20")
    graphs = Graphs()
    resampling = known(resampling_of(graphs, plan, final=1))
    runner = TrialRunner(graphs, runs=3, resampling=resampling)
    outcomes = known(runner.run_one(Trial("it", plan)).outcomes)
    probabilities = known(outcomes.probabilities)
    for run, scores, probable in zip(outcomes.runs, outcomes.nodes, probabilities, strict=True):
        val = resampling.split_of(run).val
        validated = np.isin(resampling.nodes.numpy(), val.numpy())
        assert (~np.isnan(scores) == validated).all()
        assert (~np.isnan(probable) == validated).all()
        # With two classes, the right one is predicted where it is the more probable.
        assert ((probable > 50) == (scores == 100))[validated].all()
