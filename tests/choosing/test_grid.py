"""Settings chosen stage by stage, by validation scores alone."""

from __future__ import annotations

from typing import Any

import pytest

from gaug.choosing.grid import Stage, choose_settings, count_trials
from gaug.runs.record import RunRecord

STAGES = (Stage({"a": (1, 2, 3)}, over=({"b": 0},)), Stage({"b": (0, 1, 2)}))


def records(*vals: float, test: float = 0.0) -> list[RunRecord]:
    return [RunRecord(val_score=val, test_score=test) for val in vals]


def test_each_stage_starts_from_the_best_of_the_stage_before() -> None:
    asked: list[dict[str, Any]] = []

    def run(settings: dict[str, Any]) -> list[RunRecord]:
        asked.append(settings)
        return records({1: 5.0, 2: 9.0, 3: 7.0}[settings["a"]] - settings["b"])

    choice = choose_settings(STAGES, run)
    assert choice.settings == {"a": 2, "b": 0}
    assert asked == [
        {"a": 1, "b": 0},
        {"a": 2, "b": 0},
        {"a": 3, "b": 0},
        {"a": 2, "b": 1},  # a=2, b=0 was run in the first stage
        {"a": 2, "b": 2},
    ]
    assert [trial.settings for trial in choice.trials] == asked


def test_a_choice_may_be_judged_by_its_mean_over_other_settings() -> None:
    scores = {(1, 0): 90.0, (1, 1): 10.0, (2, 0): 60.0, (2, 1): 70.0, (2, 2): 65.0, (2, 3): 80.0}
    stages = (
        Stage({"a": (1, 2)}, over=({"b": 0}, {"b": 1})),  # a=2 is better on average
        Stage({"b": (1, 2, 3)}),
    )
    choice = choose_settings(stages, lambda settings: records(scores[settings["a"], settings["b"]]))
    assert choice.settings == {"a": 2, "b": 3}
    assert len(choice.trials) == 6  # a=2, b=1 stands in both stages and was run once


def test_test_scores_have_no_say() -> None:
    def run(settings: dict[str, Any]) -> list[RunRecord]:
        return records(settings["a"], test=-1000.0 * settings["a"])

    assert choose_settings(STAGES[:1], run).settings["a"] == 3


def test_the_mean_over_runs_decides_and_a_tie_goes_to_the_first() -> None:
    scores = {1: (50.0, 60.0), 2: (70.0, 30.0), 3: (54.0, 56.0)}
    choice = choose_settings(STAGES[:1], lambda settings: records(*scores[settings["a"]]))
    assert choice.settings["a"] == 1
    assert choice.trials[0].val_mean == pytest.approx(55.0)
    assert choice.trials[0].val_deviation == pytest.approx(50**0.5)


def test_progress_ends_at_the_number_of_trials() -> None:
    told: list[int] = []
    choose_settings(STAGES, lambda settings: records(0.0), told.append)
    assert told == [1, 2, 3, 3, 4, 5]  # the first of the second stage was run before
    assert count_trials(STAGES) == 6
