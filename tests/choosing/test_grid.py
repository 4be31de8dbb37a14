"""Settings chosen stage by stage, by validation scores alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gaug.choosing.engine import TrialRunner
from gaug.choosing.grid import Stage, StagedGrid, count_trials
from gaug.errors import ConfigError, TrainingError
from gaug.runs.graphs import Graphs
from gaug.training.run import PreparedRuns
from tests.choosing.conftest import Score, karate

# With add_fraction for a and remove_fraction for b.
STAGES = (
    Stage({"add_fraction": (0.1, 0.2, 0.3)}, over=({"remove_fraction": 0.0},)),
    Stage({"remove_fraction": (0.0, 0.1, 0.2)}),
)


def by_settings(score: Callable[[float, float], float | tuple[float, ...]]) -> Score:
    """A score of a run by the two fractions; of several values the run says which."""

    def scored(prepared: PreparedRuns, run: int) -> float:
        config: Any = prepared.method.config
        found = score(config.add_fraction, config.remove_fraction)
        return found[run] if isinstance(found, tuple) else found

    return scored


def search(stages: tuple[Stage, ...], runs: int = 1, **options: Any) -> StagedGrid:
    grid = StagedGrid(karate("gaug-m", "predictor=ra"), stages)
    TrialRunner(Graphs(), runs).run_all(grid, **options)
    return grid


def test_each_stage_starts_from_the_best_of_the_stage_before(scored) -> None:
    found = scored(by_settings(lambda a, b: {0.1: 5.0, 0.2: 9.0, 0.3: 7.0}[a] - b))
    grid = search(STAGES)
    assert grid.chosen == {"add_fraction": 0.2, "remove_fraction": 0.0}
    asked = list(
        zip(found.settings("add_fraction"), found.settings("remove_fraction"), strict=True)
    )
    # 0.2 and 0.0 were run in the first stage.
    assert asked == [(0.1, 0.0), (0.2, 0.0), (0.3, 0.0), (0.2, 0.1), (0.2, 0.2)]
    tried = [tuple(trial.settings.values()) for trial in grid.trials.values()]
    assert tried == asked


def test_a_stage_is_decided_by_score_and_probability(scored) -> None:
    score = by_settings(lambda a, b: {0.1: 50.0, 0.2: 60.0, 0.3: 55.0}[a])
    probable = by_settings(lambda a, b: {0.1: 60.0, 0.2: 40.0, 0.3: 58.0}[a])
    scored(score, probable)
    assert search(STAGES[:1]).chosen == {"add_fraction": 0.3}


def test_a_choice_may_be_judged_by_its_mean_over_other_settings(scored) -> None:
    scores = {
        (0.1, 0.0): 90.0,
        (0.1, 0.1): 10.0,
        (0.2, 0.0): 60.0,
        (0.2, 0.1): 70.0,
        (0.2, 0.2): 65.0,
        (0.2, 0.3): 80.0,
    }
    scored(by_settings(lambda a, b: scores[a, b]))
    others = ({"remove_fraction": 0.0}, {"remove_fraction": 0.1})
    stages = (
        Stage({"add_fraction": (0.1, 0.2)}, over=others),  # 0.2 is better on average
        Stage({"remove_fraction": (0.1, 0.2, 0.3)}),
    )
    grid = search(stages)
    assert grid.chosen == {"add_fraction": 0.2, "remove_fraction": 0.3}
    assert len(grid.trials) == 6  # 0.2 and 0.1 stand in both stages and were run once


def test_the_mean_over_runs_decides_and_a_tie_goes_to_the_first(scored) -> None:
    scores = {0.1: (50.0, 60.0), 0.2: (70.0, 30.0), 0.3: (54.0, 56.0)}
    scored(by_settings(lambda a, b: scores[a]))
    grid = search(STAGES[:1], runs=2)
    assert grid.chosen["add_fraction"] == 0.1
    first = next(iter(grid.trials.values())).scores
    assert first is not None
    assert first.mean == pytest.approx(55.0)
    assert first.spread_of_runs == pytest.approx(50**0.5)


def test_progress_ends_at_the_number_of_trials(scored) -> None:
    scored(by_settings(lambda a, b: 0.0))
    told: list[float] = []
    search(STAGES, on_trial=told.append)
    assert told == sorted(told)
    assert {1.0, 2.0, 3.0, 4.0} <= set(told)
    assert told[-1] == 5  # the first of the second stage was run before
    assert count_trials(STAGES) == 6


def test_settings_that_cannot_be_run_are_passed_over_with_all_that_they_stand_for(scored) -> None:
    def score(a: float, b: float) -> float:
        if (a, b) == (0.3, 0.1):
            raise TrainingError("too much")
        return a

    scored(by_settings(score))
    others = ({"remove_fraction": 0.0}, {"remove_fraction": 0.1})
    grid = search((Stage({"add_fraction": (0.1, 0.2, 0.3)}, over=others),))
    assert grid.chosen["add_fraction"] == 0.2


def test_where_no_settings_can_be_run_the_reason_is_told(scored) -> None:
    def score(a: float, b: float) -> float:
        raise TrainingError("too much")

    scored(by_settings(score))
    with pytest.raises(TrainingError, match="No settings of the grid could be run: too much"):
        search(STAGES)


def test_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ConfigError, match="Unknown setting 'ad_fraction'"):
        search((Stage({"ad_fraction": (0.1,)}),))


def test_the_plan_of_a_trial_has_its_settings(scored) -> None:
    scored(by_settings(lambda a, b: a))
    for trial in search(STAGES[:1]).trials.values():
        config: Any = trial.plan.method.config
        assert config.add_fraction == trial.settings["add_fraction"]
        assert config.predictor == "ra"


def test_a_stage_that_ran_out_of_time_chooses_nothing(scored) -> None:
    scored(by_settings(lambda a, b: a))
    grid = StagedGrid(karate("gaug-m", "predictor=ra"), STAGES)
    TrialRunner(Graphs(), 1, deadline=-1.0).run_all(grid)
    assert grid.chosen == {}
    assert grid.propose() == []
