"""The choice among hand-made trials on 1,000 validation nodes."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from gaug.choosing.candidates import DROPEDGE, FEATURES, GAUG_O, NONE, SMOOTHED, Candidate
from gaug.choosing.comparison import Comparison
from gaug.choosing.resampling import Resampling
from gaug.choosing.run_scores import RunScores
from gaug.choosing.trial import Trial
from gaug.data.splits import Split
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.runs.plan import Plan
from tests.known import known

PLAN = Plan.of("karate")
LATE = "it would take longer than the time left"


def tried(candidate: Candidate, *values: float) -> Trial:
    """Of 1,000 nodes the first ones are right, as many as the score says."""
    right = np.arange(1000) < np.array(values)[:, None] * 10
    runs = RunScores(tuple(range(len(values))), values, np.where(right, 100.0, 0.0))
    return candidate.trial(PLAN).with_runs(runs, 1.0)


def compared(*scores: tuple[Candidate, tuple[float, ...]]) -> Comparison:
    plain, *others = (tried(candidate, *values) for candidate, values in scores)
    left_out = dataclasses.replace(GAUG_O.trial(PLAN), failure=LATE)
    return Comparison(plain, [*others, left_out])


def test_a_single_run_is_sure_of_nothing_and_says_so():
    found = compared((NONE, (80.0,)), (DROPEDGE, (90.0,)))
    assert not found.helps
    assert found.gain == pytest.approx(10.0)
    assert found.to_dict()["confidence"] is None
    assert "A single run is too little to be sure of it." in found.verdict()
    assert "% sure" not in found.verdict()


def test_the_best_is_chosen_if_it_is_surely_above():
    found = compared((NONE, (80.0, 80.2)), (DROPEDGE, (82.0, 82.0)), (FEATURES, (90.0, 90.4)))
    assert (found.chosen.name, found.helps) == (str(FEATURES), True)
    assert found.chosen is found.best is found.best_change
    assert round(found.gain, 6) == 10.1
    gain = found.gain_of(found.chosen)
    assert gain is not None
    assert found.verdict() == (
        f"The best is {FEATURES}: 10.1 points above no augmentation on the validation nodes, give"
        f" or take {gain.error:.1f}. That is almost certainly a real gain (over 99% sure, with"
        " 2 tried)."
    )


def with_probabilities(trial: Trial, level: float) -> Trial:
    runs = known(trial.outcomes)
    probable = np.full_like(runs.nodes, level)
    return dataclasses.replace(trial, outcomes=dataclasses.replace(runs, probabilities=probable))


def test_the_best_is_that_by_score_and_probability_of_those_with_a_better_score():
    plain = with_probabilities(tried(NONE, 80.0, 80.0), 60.0)
    by_score = with_probabilities(tried(FEATURES, 84.0, 84.0), 60.0)
    by_both = with_probabilities(tried(SMOOTHED, 83.0, 83.0), 66.0)
    by_probability = with_probabilities(tried(DROPEDGE, 79.9, 79.9), 90.0)
    others = [by_score, by_probability, by_both]
    found = Comparison(plain, others)
    assert found.ranked() == [by_both, by_score, by_probability]
    assert found.chosen is found.best is found.best_change is by_both
    assert found.gain == pytest.approx(3.0)


def test_the_verdict_says_by_what_a_gain_is_sure():
    plain = with_probabilities(tried(NONE, 80.0, 80.2), 70.0)
    found = Comparison(plain, [with_probabilities(tried(FEATURES, 85.0, 85.1), 75.0)])
    assert found.helps
    assert (
        "a real gain, by how probable the right classes become (over 99% sure)" in found.verdict()
    )


def test_a_gain_that_may_be_chance_leaves_no_augmentation_the_choice():
    found = compared((NONE, (80.0, 80.2, 80.0)), (FEATURES, (80.2, 80.2, 80.1)))
    assert found.chosen is found.plain
    assert (found.best.name, found.helps) == (str(FEATURES), False)
    verdict = found.verdict()
    assert verdict.startswith(f"The best is {FEATURES}: 0.1 points above no augmentation")
    assert verdict.endswith("less than 95% may be chance.")


def test_one_run_is_never_enough_to_be_sure():
    found = compared((NONE, (50.0,)), (SMOOTHED, (90.0,)))
    assert found.best.name == str(SMOOTHED)
    assert found.chosen is found.plain


def test_a_steady_gain_is_chosen_rather_than_a_higher_one_by_chance():
    found = compared((NONE, (80.0, 80.0)), (FEATURES, (70.0, 99.0)), (SMOOTHED, (83.0, 83.0)))
    assert (found.best.name, found.chosen.name) == (str(FEATURES), str(SMOOTHED))
    assert found.verdict().startswith(f"The best is {SMOOTHED}: 3.0 points above")
    told, gain = found.to_dict(), known(found.gain_of(found.chosen))
    assert (told["gain"], told["error"], told["confidence"]) == dataclasses.astuple(gain)


def test_where_the_best_is_taken_in_any_case_all_that_is_told_is_about_it():
    shaky, steady = tried(FEATURES, 70.0, 99.0), tried(SMOOTHED, 83.0, 83.0)
    found = Comparison(tried(NONE, 80.0, 80.0), [shaky, steady], by_merit=True)
    assert found.best is found.shown is shaky
    assert found.chosen is found.plain
    assert found.verdict().startswith(f"The best is {FEATURES}: 4.5 points above")
    told, gain = found.to_dict(), known(found.gain_of(shaky))
    assert (told["gain"], told["error"], told["confidence"]) == dataclasses.astuple(gain)


def test_of_equal_ones_the_first_is_chosen():
    found = compared((NONE, (50.0,) * 2), (SMOOTHED, (90.0,) * 2), (FEATURES, (90.0,) * 2))
    assert found.best_change is not None
    assert found.chosen.name == found.best_change.name == str(SMOOTHED)


def test_trials_with_new_seeds_decide_if_there_are_any():
    lucky = tried(FEATURES, 95.0, 95.0)
    confirmed = dataclasses.replace(tried(SMOOTHED, 85.0, 85.0), confirmed=True)
    found = Comparison(tried(NONE, 80.0, 80.0), [lucky, confirmed])
    assert found.finalists == [confirmed]
    assert found.chosen is found.best is confirmed
    assert found.ranked() == [confirmed, lucky]


def test_no_augmentation_is_shown_in_the_runs_of_the_trial_beside_it():
    plain = tried(NONE, 70.0, 90.0)
    again = dataclasses.replace(tried(SMOOTHED, 0.0, 90.0), confirmed=True)
    assert again.outcomes is not None
    new = RunScores((1,), (90.0,), again.outcomes.nodes[1:])
    again = dataclasses.replace(again, outcomes=None).with_runs(new)
    found = Comparison(plain, [again])
    beside = found.plain_beside(again)
    assert beside is not None
    assert beside.values == (90.0,)
    assert found.verdict() == (
        "No trial that ran with new seeds scored above no augmentation on the validation nodes."
    )


def in_runs(trial: Trial, *runs: int) -> Trial:
    """The trial with other numbers of its runs, as with new seeds."""
    outcomes = dataclasses.replace(known(trial.outcomes), runs=runs)
    return dataclasses.replace(trial, outcomes=outcomes, confirmed=True)


def test_a_trial_without_a_run_in_common_with_no_augmentation_is_no_finalist():
    alone, beside = in_runs(tried(FEATURES, 99.0, 99.0), 2, 3), tried(SMOOTHED, 82.0, 82.0)
    found = Comparison(tried(NONE, 80.0, 80.0), [alone, beside])
    assert found.finalists == [beside]
    assert found.chosen is found.best is beside
    assert found.ranked() == [beside, alone]


def test_one_run_in_common_with_no_augmentation_is_not_enough_to_be_sure():
    one, two = (
        Comparison(tried(NONE, 80.0, 80.0), [in_runs(tried(FEATURES, *[90.0] * 3), *runs)])
        for runs in ((1, 2, 3), (0, 1, 2))
    )
    assert known(one.gain_of(one.best)).confidence > 0.95
    assert not one.helps
    assert two.helps


def test_nothing_above_no_augmentation():
    found = compared((NONE, (80.0,)), (FEATURES, (80.0,)))
    assert found.verdict() == "No trial scored above no augmentation on the validation nodes."
    assert found.best is found.plain
    assert found.best_change is not None
    assert found.best_change.name == str(FEATURES)
    assert found.gain == 0


def test_nothing_tried_to_its_end_but_no_augmentation():
    found = compared((NONE, (80.0,)))
    assert found.verdict() == "Only the trial without augmentation was finished."
    assert found.best_change is None
    assert found.chosen is found.plain


def test_a_trial_that_was_given_up_cannot_be_chosen():
    given_up = dataclasses.replace(tried(FEATURES, 99.0), pruned=True)
    found = Comparison(tried(NONE, 80.0), [given_up, tried(DROPEDGE, 81.0)])
    assert not given_up.counts
    assert found.best.name == str(DROPEDGE)
    assert [trial.name for trial in found.trials] == ["none", "dropedge"]
    assert found.left_out == []  # it was tried, only not to its end


def test_the_table_has_a_row_per_trial_and_says_what_was_not_tried():
    found = compared((NONE, (80.0, 81.0)), (FEATURES, (90.0, 90.0)))
    lines = str(found).splitlines()
    assert lines[0].split() == ["tried", "runs", "validation", "gain", "time"]
    assert lines[1].split() == ["none", "2", "80.5", "±", "0.7", "1.0", "s"]
    assert lines[2].startswith("gaug-m predictor=features")
    assert "+9.5 ±" in lines[2]
    assert lines[3] == "not tried: gaug-o: it would take longer than the time left"
    assert lines[4] == found.verdict()
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["chosen"] == str(FEATURES)
    assert plain["verdict"] == found.verdict()
    assert plain["confidence"] == plain["trials"][1]["gain"]["confidence"] > 0.95
    assert [trial["val_mean"] for trial in plain["trials"]] == [80.5, 90.0, None]
    assert [trial["method"] for trial in plain["trials"]] == ["none", "gaug-m", "gaug-o"]
    assert plain["left_out"] == {"gaug-o": LATE}
    assert plain["drawn_nodes"] is False


def test_finalists_on_fresh_nodes_are_judged_beside_one_another_alone():
    labels = np.zeros(1001)
    split = Split("many", torch.arange(500), torch.arange(500, 1000), torch.tensor([1000]))
    looks = [tried(Candidate(DropEdgeConfig(drop_fraction=0.1 * i)), 80.0) for i in range(1, 9)]
    confirmed = [
        dataclasses.replace(tried(candidate, 80.6, 80.7), confirmed=True)
        for candidate in (SMOOTHED, FEATURES)
    ]
    plain = tried(NONE, 80.0, 80.0)
    fresh = Resampling.of(split, torch.from_numpy(labels), seed=0, final=1)
    one, other = (Comparison(plain, [*looks, *confirmed], how) for how in (None, fresh))
    alone = Comparison(plain, confirmed, fresh)
    mine, hers, theirs = (found.gain_of(confirmed[0]) for found in (other, alone, one))
    assert mine == hers
    assert "with 2 finalists" in other.verdict()
    assert "with 10 tried" in one.verdict()
    assert mine is not None
    assert theirs is not None
    assert mine.confidence > theirs.confidence


def test_settings_that_were_proposed_again_are_one_try():
    looks = [tried(Candidate(DropEdgeConfig(drop_fraction=0.1 * i)), 80.2) for i in range(1, 6)]
    final = tried(FEATURES, 81.0, 81.2)
    confirmed = dataclasses.replace(final, confirmed=True, earlier=tried(FEATURES, 81.0).outcomes)
    plain = tried(NONE, 80.0, 80.0)
    once = Comparison(plain, [*looks, confirmed])
    again = Comparison(plain, [*looks, tried(FEATURES, 81.0), confirmed, *looks])
    assert again.gain_of(confirmed) == once.gain_of(confirmed)
    assert again.verdict() == once.verdict()
    assert "with 6 tried" in once.verdict()


def test_a_trial_that_was_given_up_is_a_try():
    """Runs whose nodes differ at random, so that each try adds luck."""
    rng = np.random.default_rng(0)

    def at_random(candidate: Candidate) -> Trial:
        nodes = np.where(rng.random((1, 1000)) < 0.8, 100.0, 0.0)
        runs = RunScores((0,), (float(nodes.mean()),), nodes)
        return candidate.trial(PLAN).with_runs(runs)

    drops = [Candidate(DropEdgeConfig(drop_fraction=0.04 * i)) for i in range(1, 20)]
    given_up = [dataclasses.replace(at_random(drop), pruned=True) for drop in drops]
    final = dataclasses.replace(
        tried(FEATURES, 81.0, 81.4), confirmed=True, earlier=at_random(FEATURES).outcomes
    )
    plain = tried(NONE, 80.0, 80.0)
    alone, among = Comparison(plain, [final]), Comparison(plain, [*given_up, final])
    one, other = alone.gain_of(final), among.gain_of(final)
    assert one is not None
    assert other is not None
    assert other.confidence < one.confidence
    assert "with 20 tried" in among.verdict()
    assert len(among.trials) == 2  # those that were given up cannot be chosen
