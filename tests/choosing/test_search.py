"""A search by validation: what it tries, what it chooses, and how it goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaug.choosing import search
from gaug.choosing.search import search_settings
from gaug.config import Span, searched_settings
from gaug.data.opening import open_graph
from gaug.errors import ConfigError, TrainingError
from gaug.methods.registry import METHODS
from gaug.runs.plan import Experiment
from gaug.runs.record import RunRecord
from gaug.runs.store import Store

KARATE = open_graph("karate")
SPLIT = {"split": "stratified"}
Score = Callable[[Experiment, int], float]


def experiment(method: str, *settings: str, seed: int = 0) -> Experiment:
    fast = ("epochs=2", "train_fraction=0.2")
    return Experiment.of("karate", method=method, settings=[*fast, *settings], seed=seed, **SPLIT)


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Callable[[Score], list[Experiment]]:
    """Put scores by a formula in the place of training; gives the experiments that were run."""

    def use(score: Score) -> list[Experiment]:
        asked: list[Experiment] = []

        def run(one: Experiment, *, runs: int, **others: Any) -> list[RunRecord]:
            asked.append(one)
            # The better on validation nodes, the worse on test nodes.
            return [
                RunRecord(val_score=score(one, run), test_score=-score(one, run))
                for run in range(runs)
            ]

        monkeypatch.setattr(search, "run_experiment", run)
        return asked

    return use


def near(wanted: float) -> Score:
    """The nearer the share is, the better; without augmentation it is worse than all."""
    return lambda one, run: (
        0.0 if one.method.name == "none" else 90 - 80 * abs(one.method.drop_fraction - wanted)
    )


@pytest.mark.parametrize("wanted", [0.1, 0.35, 0.9])
def test_the_best_validation_score_is_found_and_chosen(scored, wanted: float) -> None:
    scored(near(wanted))
    result = search_settings(experiment("dropedge"), KARATE, trials=25, trial_runs=2)
    assert result.best.settings["drop_fraction"] == pytest.approx(wanted, abs=0.051)
    assert result.experiment.method.drop_fraction == result.best.settings["drop_fraction"]
    assert result.best == result.ranked()[0]
    assert result.gain > 0
    assert "points above no augmentation on the validation nodes, more than" in result.verdict()


def test_the_first_trial_has_the_settings_as_they_are(scored) -> None:
    asked = scored(near(0.1))
    search_settings(experiment("dropedge"), KARATE, trials=1, trial_runs=1)
    assert [one.method.name for one in asked] == ["none", "dropedge"]
    assert asked[1] == experiment("dropedge")


def test_where_nothing_helps_it_says_so(scored) -> None:
    scored(lambda one, run: 50.0 if one.method.name == "none" else 40.0)
    result = search_settings(experiment("dropedge"), KARATE, trials=3, trial_runs=1)
    assert result.gain == -10
    assert result.verdict() == (
        "Nothing that was tried scored above no augmentation on the validation nodes."
    )


def test_a_gain_within_chance_is_called_so(scored) -> None:
    scored(lambda one, run: 50.0 if one.method.name == "none" else 51.0)
    result = search_settings(experiment("dropedge"), KARATE, trials=2, trial_runs=1)
    assert "1.0 points above" in result.verdict()
    assert "not more than the" in result.verdict()


def test_what_is_given_stays_and_the_rest_is_tried(scored) -> None:
    asked = scored(lambda one, run: 1.0)
    given = experiment("gaug-m", "predictor=gae", "embedding=7", "add_fraction=0.2")
    search_settings(given, KARATE, fixed=["add_fraction", "embedding"], trials=12, trial_runs=1)
    tried = [one.method for one in asked[1:]]
    assert {method.add_fraction for method in tried} == {0.2}
    assert len({method.remove_fraction for method in tried}) > 3
    predictors = {method.predictor for method in tried}
    assert len(predictors) > 2
    for one in asked[1:]:
        assert list(one.parts) == [one.method.predictor]
        if "gae" in one.parts:
            assert one.parts["gae"].embedding == 7


def test_settings_that_cannot_be_run_are_told_and_passed_over(scored) -> None:
    def score(one: Experiment, run: int) -> float:
        if one.method.name == "dropedge" and one.method.drop_fraction > 0.48:
            raise TrainingError("too much")
        return 10.0

    scored(score)
    result = search_settings(experiment("dropedge"), KARATE, trials=12, trial_runs=1)
    assert result.trials[0].failure == "too much"
    assert result.best.settings["drop_fraction"] <= 0.48
    assert len(result.ranked()) < 12
    with pytest.raises(TrainingError, match="No trial could be run: too much"):
        search_settings(experiment("dropedge"), KARATE, trials=1, trial_runs=1)


def test_a_search_that_is_begun_again_goes_on_with_what_is_on_record(tmp_path: Path) -> None:
    """The first search ends after two trials, the second has four: two are new."""
    store = Store(str(tmp_path / "runs.sqlite"))
    options: dict[str, Any] = {"trial_runs": 2, "store": store}
    first = search_settings(experiment("gaug-m"), KARATE, trials=2, **options)
    before = len(store.all())
    whole = search_settings(experiment("gaug-m"), KARATE, trials=4, **options)
    assert whole.trials[:2] == first.trials
    assert whole.plain == first.plain
    new = {str(trial) for trial in whole.trials} - {str(trial) for trial in first.trials}
    assert len(store.all()) == before + 2 * len(new)
    again = search_settings(experiment("gaug-m"), KARATE, trials=4, trial_runs=2)
    assert again.trials == whole.trials


def test_another_seed_tries_other_settings(scored) -> None:
    scored(near(0.5))
    one, other = (
        search_settings(experiment("dropedge", seed=seed), KARATE, trials=6, trial_runs=1)
        for seed in (0, 1)
    )
    assert one.trials != other.trials


@pytest.mark.parametrize("name", METHODS)
def test_what_is_searched_is_allowed_and_the_default_is_among_it(name: str) -> None:
    default = METHODS.config_type(name)()
    for setting, values in searched_settings(type(default)).items():
        now = getattr(default, setting)
        if isinstance(values, Span):
            steps = (values.high - values.low) / values.step
            assert steps == pytest.approx(round(steps))
            at = (now - values.low) / values.step
            assert 0 <= at <= steps
            assert at == pytest.approx(round(at))
            values = tuple(type(now)(end) for end in (values.low, values.high))
        else:
            assert now in values
        for value in values:
            dataclasses.replace(default, **{setting: value})


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "none",
            {},
            "Method none has no settings to search. Choose from: adaedge, bgcn",
        ),
        ("dropedge", {"trials": 0}, "trials must be at least 1, got 0"),
        ("dropedge", {"trial_runs": 0}, "trial_runs must be at least 1, got 0"),
        ("dropedge", {"fixed": ["drop_fraction"]}, "Every setting that could be searched is given"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    method: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        search_settings(experiment(method), KARATE, **options)


def test_a_predictor_by_features_is_left_out_where_no_two_nodes_share_one(scored) -> None:
    asked = scored(lambda one, run: 1.0)
    search_settings(experiment("gaug-m"), KARATE, trials=40, trial_runs=1)
    tried = {one.method.predictor for one in asked[1:]}
    assert "features" not in tried  # a one-hot id of each node says nothing about two
    assert {"gae", "smoothed", "structure"} <= tried
