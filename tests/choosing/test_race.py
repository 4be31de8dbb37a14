"""A race by formulas in the place of training: who goes on, who is confirmed, when it ends."""

from __future__ import annotations

import itertools
import math
import time
from contextlib import closing
from typing import Any

import pytest
from torch_geometric.data import Data

from gaug import SplitConfig, SyntheticConfig, make_split, planted_graph
from gaug.choosing import candidates as candidates_module
from gaug.choosing.candidates import CANDIDATES, CONSISTENT, DROPEDGE, STUDENT, Candidate
from gaug.choosing.comparison import Comparison
from gaug.choosing.engine import TrialRunner
from gaug.choosing.race import CONFIRMING, FINALISTS, MORE, race
from gaug.errors import TrainingError
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.training.config import TrainingConfig
from gaug.training.run import PreparedRuns
from tests.known import known

RUNS = 3
DROPS = tuple(Candidate(DropEdgeConfig(drop_fraction=share / 20)) for share in range(1, 17))


@pytest.fixture(scope="module")
def data() -> Data:
    """A thousand validation nodes, so that a point is ten of them."""
    data = planted_graph(SyntheticConfig(num_nodes=1100, num_classes=2, degree=2.0))
    split = make_split(data, "random", SplitConfig(train_fraction=0.05, val_fraction=0.92))
    return split.apply(data)


def run_race(
    data: Data,
    *candidates: Candidate,
    epochs: int = 2,
    store: Store | None = None,
    **options: Any,
) -> Comparison:
    plan, graphs = Plan.of(data, settings=[f"epochs={epochs}"]), Graphs()
    runner = TrialRunner(graphs, RUNS, store=store)
    return race(plan, graphs.place(plan).task, runner, candidates=candidates, **options)


def by_share(gain: float) -> Any:
    """The more is dropped, the better; at most by so many points."""

    def score(prepared: PreparedRuns, run: int) -> float:
        config = prepared.method.config
        share = config.drop_fraction if isinstance(config, DropEdgeConfig) else 0.0
        return 70 + gain * share / 0.8

    return score


def test_the_better_half_goes_on_until_the_finalists_run_with_new_seeds(data, scored):
    found = scored(by_share(20.0))
    comparison = run_race(data, *DROPS)
    runs: dict[float, list[int]] = {}
    for prepared, run in found.asked:
        if isinstance(prepared.method.config, DropEdgeConfig):
            runs.setdefault(prepared.method.config.drop_fraction, []).append(run)
    best_first = sorted(runs, reverse=True)
    assert len(best_first) == 16
    new = list(range(RUNS, RUNS + CONFIRMING))
    for place, share in enumerate(best_first):
        expected = [0] + [1] * (place < 8) + [2] * (place < 4) + new * (place < FINALISTS)
        assert runs[share] == expected
    confirmed = [trial.settings["drop_fraction"] for trial in comparison.finalists]
    assert sorted(confirmed, reverse=True) == best_first[:FINALISTS]
    for trial in comparison.finalists:
        assert known(trial.earlier).runs == tuple(range(RUNS))
        assert known(trial.outcomes).runs == tuple(new)
    assert comparison.chosen.settings["drop_fraction"] == pytest.approx(0.8)
    assert comparison.helps


def test_who_goes_on_is_decided_by_score_and_probability(data, scored):
    """The more is dropped, the lower the score, but the more probable the right classes."""

    def probable(prepared: PreparedRuns, run: int) -> float:
        return float(by_share(20.0)(prepared, run))

    def score(prepared: PreparedRuns, run: int) -> float:
        config = prepared.method.config
        dropped = config.drop_fraction if isinstance(config, DropEdgeConfig) else None
        return 70.0 if dropped is None else 80 - 5 * dropped

    scored(score, probable)
    comparison = run_race(data, *DROPS)
    drops = [trial.settings["drop_fraction"] for trial in comparison.finalists]
    assert sorted(drops) == [0.7, 0.75, 0.8]
    means = {trial.settings["drop_fraction"]: trial.mean for trial in comparison.finalists}
    assert comparison.chosen.settings["drop_fraction"] == 0.8
    assert means[0.8] < means[0.7]


def test_what_is_not_sure_after_the_new_seeds_gets_more_of_them(data, scored):
    found = scored(by_share(0.3))
    comparison = run_race(data, *DROPS)
    assert not comparison.helps
    assert max(run for _, run in found.asked) == RUNS + CONFIRMING + MORE - 1


def failing(score: Any, share: float, *runs: int) -> Any:
    """The score, but with this share of edges (0: without augmentation) some runs fail."""

    def found(prepared: PreparedRuns, run: int) -> float:
        config = prepared.method.config
        own = config.drop_fraction if isinstance(config, DropEdgeConfig) else 0.0
        if own == share and run in runs:
            raise TrainingError(f"run {run} is too much")
        return float(score(prepared, run))

    return found


def test_a_candidate_that_failed_once_before_the_final_can_be_chosen_and_was_tried(data, scored):
    scored(failing(by_share(20.0), 0.8, 1))
    comparison = run_race(data, *DROPS)
    assert comparison.chosen.settings["drop_fraction"] == 0.8
    assert comparison.chosen.failure is None
    assert (comparison.left_out, comparison.unfinished) == ([], [])
    assert known(comparison.chosen.earlier).runs == (0, 2)


def test_a_finalist_that_fails_is_told_and_the_others_decide(data, scored):
    scored(failing(by_share(20.0), 0.8, *range(RUNS, RUNS + CONFIRMING)))
    comparison = run_race(data, *DROPS)
    assert comparison.chosen.settings["drop_fraction"] == 0.75
    (failed,) = comparison.unfinished
    assert (failed.settings["drop_fraction"], failed.confirmed) == (0.8, False)
    assert "not finished: dropedge drop_fraction=0.8: run 3 is too much" in str(comparison)
    assert comparison.to_dict()["unfinished"] == {failed.name: "run 3 is too much"}


def test_runs_beside_one_that_fails_count(data, scored):
    scored(failing(by_share(20.0), 0.8, RUNS + 1))
    comparison = run_race(data, *DROPS)
    (failed,) = comparison.unfinished
    assert comparison.chosen is failed
    assert known(failed.outcomes).runs == (3, 5, 6, 7)


def test_where_no_augmentation_fails_in_the_final_that_is_told_and_earlier_runs_decide(
    data, scored
):
    def better_with_new_seeds(prepared: PreparedRuns, run: int) -> float:
        return float(by_share(20.0)(prepared, run)) + (5 if run >= RUNS else 0)

    scored(failing(better_with_new_seeds, 0.0, *range(RUNS, RUNS + CONFIRMING + MORE)))
    comparison = run_race(data, *DROPS)
    assert not any(trial.confirmed for trial in comparison.finalists)
    assert comparison.gain == pytest.approx(20.0, abs=0.1)
    assert comparison.plain in comparison.unfinished
    assert "not finished: none: run 3 is too much" in str(comparison)


def test_a_look_is_short_and_later_runs_are_patient(data, scored):
    found = scored(by_share(20.0))
    run_race(data, *DROPS, epochs=400)
    looks = {p.training for p, run in found.asked if run == 0}
    others = {p.training for p, run in found.asked if run > 0}
    assert {(one.epochs, one.patience) for one in looks} == {(100, None)}
    assert {(one.epochs, one.patience) for one in others} == {(400, 100)}


def test_the_chosen_plan_is_trained_as_asked_for(data, scored):
    scored(by_share(20.0))
    found = run_race(data, *DROPS, epochs=400)
    for plan in (found.chosen.plan, found.plain.plan):
        assert (plan.training.epochs, plan.training.patience) == (400, None)


def test_what_is_added_to_the_training_is_added_to_leaders_only_if_it_gained_alone(data, scored):
    def score(prepared: PreparedRuns, run: int) -> float:
        training = prepared.training
        gain = 2.0 * training.students - 2.0 * training.consistency_passes
        return 70 + gain + 5.0 * (prepared.method.config.name == "dropedge")

    scored(score)
    found = run_race(data, DROPEDGE, STUDENT, CONSISTENT)
    assert {trial.name for trial in found.trials} == {
        "none",
        "dropedge",
        "none students=1",
        "none consistency_passes=2",
        "dropedge students=1",
    }
    chosen = found.chosen
    assert chosen.name == "dropedge students=1"
    assert found.gain == pytest.approx(7.0, abs=0.1)
    assert chosen.plan.training == TrainingConfig(epochs=2, students=1)
    scored(lambda prepared, run: 70 + 2.0 * prepared.training.consistency_passes)
    names = {trial.name for trial in run_race(data, DROPEDGE, STUDENT, CONSISTENT).trials}
    assert {name for name in names if "dropedge " in name} == {"dropedge consistency_passes=2"}


def test_what_is_asked_for_already_is_not_tried(data, scored):
    found = scored(lambda prepared, run: 70.0 + prepared.training.students)
    plan, graphs = Plan.of(data, settings=["epochs=2", "students=1"]), Graphs()
    runner = TrialRunner(graphs, RUNS)
    comparison = race(
        plan, graphs.place(plan).task, runner, candidates=[DROPEDGE, STUDENT, CONSISTENT]
    )
    names = [trial.name for trial in comparison.trials]
    assert names == ["none", "dropedge", "none consistency_passes=2"]
    assert {prepared.training.students for prepared, _ in found.asked} == {1}


def test_passes_that_are_asked_for_do_not_make_candidates_look_longer(data, scored, monkeypatch):
    """Every look takes ten seconds: with what is asked for, no augmentation has as many passes."""
    found = scored(lambda prepared, run: 70.0)
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: 10.0 * len(found.asked))
    plan, graphs = Plan.of(data, settings=["epochs=2", "consistency_passes=4"]), Graphs()
    runner, task = TrialRunner(graphs, RUNS), graphs.place(plan).task
    comparison = race(plan, task, runner, candidates=[DROPEDGE], time_budget=100.0)
    assert [trial.name for trial in comparison.trials] == ["none", "dropedge"]


def test_runs_that_patience_ends_early_are_expected_to_be_short(data, scored, monkeypatch):
    """Looks and full runs take a second, however many epochs they might have."""
    found = scored(by_share(0.3))
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: float(len(found.asked)))
    comparison = run_race(data, *DROPS[:4], epochs=1000, time_budget=30.0)
    assert len([trial for trial in comparison.finalists if trial.confirmed]) == 2


def test_finalists_have_the_same_number_of_runs_whenever_the_time_is_up(data, scored, monkeypatch):
    found = scored(by_share(0.3))

    def runs_in_final() -> float:
        return float(sum(run >= RUNS for _, run in found.asked))

    monkeypatch.setattr(time, "monotonic", runs_in_final)
    comparison = run_race(data, *DROPS, time_budget=30.0)
    runs = {len(trial.scores.values) for trial in comparison.finalists if trial.scores}
    assert len(comparison.finalists) == FINALISTS
    assert max(runs) - min(runs) <= 1
    assert max(runs) < CONFIRMING + MORE


def test_runs_on_record_do_not_make_the_pace_of_a_race(data, scored, monkeypatch, tmp_path):
    """A run takes a second; in 12 of them, one finalist and no augmentation have five each."""
    spent = 0.0

    def score(prepared: PreparedRuns, run: int) -> float:
        nonlocal spent
        spent += 1.0
        return float(by_share(0.3)(prepared, run))

    def interrupted(prepared: PreparedRuns, run: int) -> float:
        if run >= RUNS:
            raise KeyboardInterrupt
        return score(prepared, run)

    monkeypatch.setattr(time, "monotonic", lambda: spent)
    monkeypatch.setattr(time, "perf_counter", lambda: spent)
    with closing(Store(str(tmp_path / "runs.sqlite"))) as store:
        scored(interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_race(data, *DROPS[:4], store=store)
        scored(score)
        resumed = run_race(data, *DROPS[:4], store=store, time_budget=12.0)
    assert [trial.confirmed for trial in resumed.finalists] == [True]
    assert resumed.unfinished == []


def test_a_final_that_begins_late_has_all_the_time_that_is_left(data, scored, monkeypatch):
    """The first three runs take 90 of 100 seconds, all others one second each."""

    def clock() -> float:
        return 30.0 * min(3, len(found.asked)) + max(0, len(found.asked) - 3)

    found = scored(by_share(20.0))
    monkeypatch.setattr(time, "monotonic", clock)
    comparison = run_race(data, *DROPS[:1], time_budget=100.0)
    (finalist,) = comparison.finalists
    assert finalist.confirmed
    # From second 90 to 100, one after the other begins: no augmentation, the finalist, and so on.
    assert known(finalist.outcomes).runs == (3, 4, 5, 6, 7)
    assert known(comparison.plain.outcomes).runs[-5:] == (3, 4, 5, 6, 7)


def test_with_little_time_fewer_finalists_run_again(data, scored, monkeypatch):
    found = scored(by_share(0.3))
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: float(len(found.asked)))  # a second each
    comparison = run_race(data, *DROPS[:4], time_budget=30.0)
    assert len(comparison.finalists) == 2
    assert all(trial.scores and len(trial.scores.values) >= 4 for trial in comparison.finalists)


@pytest.mark.parametrize(
    ("budget", "finalists", "runs"), [(400.0, {0.8, 0.4}, 5), (66.0, {0.4}, 4), (60.0, {0.4}, 3)]
)
def test_a_leader_for_whose_runs_there_is_no_time_gives_way(
    data, scored, monkeypatch, budget, finalists, runs
):
    """The best takes twenty seconds a run, no augmentation and the second best two seconds."""
    spent = 0.0

    def score(prepared: PreparedRuns, run: int) -> float:
        nonlocal spent
        share = getattr(prepared.method.config, "drop_fraction", 0.0)
        spent += 20.0 if share == 0.8 else 2.0
        return float(by_share(20.0)(prepared, run))

    scored(score)
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: spent)
    drops = [Candidate(DropEdgeConfig(drop_fraction=share)) for share in (0.4, 0.8)]
    comparison = run_race(data, *drops, time_budget=budget)
    confirmed = [trial for trial in comparison.finalists if trial.confirmed]
    assert {trial.settings["drop_fraction"] for trial in confirmed} == finalists
    assert [len(known(trial.outcomes).runs) for trial in confirmed] == [runs] * len(confirmed)


def test_where_all_are_worse_nobody_is_run_again(data, scored):
    found = scored(by_share(-5.0))
    comparison = run_race(data, *DROPS)
    assert comparison.chosen is comparison.plain
    assert max(run for _, run in found.asked) == RUNS - 1


def test_around_the_leaders_other_shares_of_edges_are_tried(data, scored):
    scored(lambda prepared, run: 70.0 + (prepared.method.config.name == "gaug-m"))
    names = {trial.name for trial in run_race(data, *CANDIDATES).trials}
    assert {str(candidate) for candidate in CANDIDATES} <= names
    assert any("features+smoothed" in name for name in names)
    assert sum("predictor=features " in name for name in names) > 5
    assert any(name.startswith("gaug-m+dropedge") for name in names)
    assert any("rounds=2" in name for name in names)


def test_when_the_time_is_over_what_was_finished_counts(data, scored, monkeypatch):
    scored(by_share(20.0))
    ticks = itertools.count()  # a clock that moves a second each time somebody looks
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    comparison = run_race(data, *DROPS, time_budget=100.0)
    assert 1 < len(comparison.trials) < 17
    assert len(comparison.trials) + len(comparison.left_out) == 17
    assert {trial.failure for trial in comparison.left_out} <= {
        "the time was up before it finished",
        "no time was left",
    }


def test_what_cannot_end_in_time_is_not_begun(data, scored, monkeypatch):
    found = scored(by_share(1.0))
    monkeypatch.setattr(candidates_module, "_PAIRS_PER_SECOND", 1.0)
    gaug_m = next(one for one in CANDIDATES if one.config.name == "gaug-m")
    comparison = run_race(data, gaug_m, DROPEDGE, time_budget=1000.0)
    assert {prepared.method.config.name for prepared, _ in found.asked} == {"none", "dropedge"}
    assert [trial.failure for trial in comparison.left_out] == [
        "it would take longer than the time left"
    ]


def test_what_takes_least_begins_and_what_takes_long_is_begun_one_by_one(data, scored, monkeypatch):
    """A tenth of the time is 100 s: two candidates take more, and the first uses up the part."""
    seconds = {0.2: 300.0, 0.4: 200.0, 0.6: 50.0, 0.8: 1.0}
    spent = 0.0

    def score(prepared: PreparedRuns, run: int) -> float:
        nonlocal spent
        spent += seconds.get(getattr(prepared.method.config, "drop_fraction", 0.0), 0.0)
        return 70.0

    def least_seconds(self: Candidate, *args: Any) -> float:
        assert isinstance(self.config, DropEdgeConfig)
        return seconds[self.config.drop_fraction]

    found = scored(score)
    monkeypatch.setattr(time, "monotonic", lambda: spent)
    monkeypatch.setattr(Candidate, "least_seconds", least_seconds)
    drops = [Candidate(DropEdgeConfig(drop_fraction=share)) for share in seconds]
    comparison = run_race(data, *drops, time_budget=1000.0)
    begun = list(dict.fromkeys(found.settings("drop_fraction")))
    assert begun == [0.8, 0.6, 0.4]
    assert [(str(trial), trial.failure) for trial in comparison.left_out] == [
        ("dropedge drop_fraction=0.2", "it would take longer than the time left")
    ]


def test_the_pace_of_the_first_run_is_that_of_the_candidates(data, scored, monkeypatch):
    """An epoch that takes ten seconds leaves no time for many epochs of anything."""
    spent = 0.0

    def score(prepared: PreparedRuns, run: int) -> float:
        nonlocal spent
        spent += 10.0 * prepared.training.epochs
        return 70.0

    found = scored(score)
    monkeypatch.setattr(time, "monotonic", lambda: spent)
    monkeypatch.setattr(time, "perf_counter", lambda: spent)
    comparison = run_race(data, DROPEDGE, epochs=50, time_budget=2000.0)
    assert {prepared.method.config.name for prepared, _ in found.asked} == {"none"}
    assert [trial.failure for trial in comparison.left_out] == [
        "it would take longer than the time left"
    ]


def test_progress_goes_up_and_the_leader_is_told(data, scored):
    scored(by_share(20.0))
    shares: list[float] = []
    notes: list[str] = []
    run_race(data, *DROPS[:6], on_progress=shares.append, on_note=notes.append)
    assert shares == sorted(shares)
    assert math.isclose(shares[-1], 1.0)
    assert notes[-1] == "dropedge drop_fraction=0.3 leads by 7.5 points"


def test_a_leader_by_probability_is_told_without_points(data, scored):
    scored(lambda prepared, run: 70.0, by_share(20.0))
    notes: list[str] = []
    run_race(data, *DROPS[:6], on_note=notes.append)
    leader = "dropedge drop_fraction=0.3 leads by"
    assert notes[-1] == f"{leader} how probable the right classes are"
