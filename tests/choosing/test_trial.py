"""The choice among hand-made trials on 1,000 validation nodes, whose spread is about 1.3 points."""

from __future__ import annotations

import json

from gaug.choosing.candidates import DROPEDGE, FEATURES, GAUG_O, NONE, SMOOTHED, Candidate, Omission
from gaug.choosing.scores import ValidationScores
from gaug.choosing.trial import MethodChoice, Trial


def choice(*scores: tuple[Candidate, tuple[float, ...]]) -> MethodChoice:
    trials = [Trial(one, ValidationScores(values, 1000), 1.0) for one, values in scores]
    return MethodChoice(trials, [Omission(GAUG_O, "it would take longer than the time left")])


def test_the_best_is_chosen_if_it_is_above_by_more_than_the_spread():
    found = choice((NONE, (80.0, 80.2)), (DROPEDGE, (82.0, 82.0)), (FEATURES, (90.0, 90.4)))
    assert (found.chosen.candidate, found.helps) == (FEATURES, True)
    assert round(found.gain, 6) == 10.1
    assert found.verdict() == (
        f"Chose {FEATURES}: 10.1 points above no augmentation on the validation nodes, more than"
        " the 1.3 points that 1,000 nodes leave to chance."
    )


def test_a_gain_within_the_spread_leaves_the_graph_as_it_is():
    found = choice((NONE, (80.0, 80.2)), (FEATURES, (81.0, 81.0)))
    assert (found.chosen.candidate, found.best.candidate, found.helps) == (NONE, FEATURES, False)
    assert found.gain == 0
    assert "0.9 points above no augmentation" in found.verdict()
    assert "not more than the 1.3 points" in found.verdict()
    assert found.verdict().endswith("the graph stays as it is.")


def test_a_steady_gain_is_chosen_rather_than_a_higher_one_by_chance():
    found = choice((NONE, (80.0, 80.0)), (FEATURES, (70.0, 99.0)), (SMOOTHED, (83.0, 83.0)))
    assert (found.best.candidate, found.chosen.candidate) == (FEATURES, SMOOTHED)


def test_of_equal_ones_the_first_is_chosen():
    found = choice((NONE, (50.0,)), (SMOOTHED, (90.0,)), (FEATURES, (90.0,)))
    assert found.chosen.candidate is SMOOTHED


def test_nothing_above_no_augmentation():
    assert (
        "Nothing that was tried scored above"
        in choice((NONE, (80.0,)), (FEATURES, (80.0,))).verdict()
    )
    assert "longer time budget" in choice((NONE, (80.0,))).verdict()


def test_the_table_has_a_row_a_trial_and_says_what_was_not_tried():
    found = choice((NONE, (80.0, 81.0)), (FEATURES, (90.0, 90.0)))
    lines = str(found).splitlines()
    assert lines[1].split() == ["none", "80.5", "±", "0.7", "1.0", "s"]
    assert lines[2].startswith("gaug-m predictor=features")
    assert lines[3] == "not tried: gaug-o: it would take longer than the time left"
    assert lines[4] == found.verdict()
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["chosen"] == str(FEATURES)
    assert [trial["val_mean"] for trial in plain["trials"]] == [80.5, 90.0]
    assert plain["left_out"] == {"gaug-o": "it would take longer than the time left"}
