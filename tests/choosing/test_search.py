"""A search by validation: what it tries, what it chooses, and how it goes on."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gaug import load_graph, open_graph, search
from gaug.choosing.gains import Gain
from gaug.choosing.search import SearchResult, search_settings
from gaug.choosing.trial import Trial
from gaug.config import Span, searched_settings
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.config import GAEConfig
from gaug.errors import ConfigError, TrainingError
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.registry import METHODS
from gaug.runs.execute import execute
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.runs.worker_processes import WorkerProcesses
from gaug.training.run import PreparedRuns
from tests.choosing.conftest import karate, near
from tests.known import known


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "runs.sqlite"))) as opened:
        yield opened


def outcomes(result: SearchResult) -> list[Any]:
    """What the trials came to, without what they cost."""
    return [dataclasses.replace(trial, seconds=0.0) for trial in result.trials]


def gains(result: SearchResult) -> list[Gain | None]:
    """What each trial gains, and how sure that is."""
    return [result.comparison.gain_of(trial) for trial in result.trials]


@pytest.mark.parametrize("wanted", [0.1, 0.35, 0.9])
def test_the_best_validation_score_is_found_and_chosen(scored, wanted: float) -> None:
    scored(near(wanted))
    result = search_settings(karate("dropedge"), trials=25, trial_runs=2)
    assert result.best.settings["drop_fraction"] == pytest.approx(wanted, abs=0.051)
    assert isinstance(result.plan.method.config, DropEdgeConfig)
    assert result.plan.method.config.drop_fraction == result.best.settings["drop_fraction"]
    assert result.best == result.ranked()[0]
    assert result.comparison.gain > 0
    verdict = result.comparison.verdict()
    assert "points above no augmentation on the validation nodes, give or take" in verdict
    assert str(result).endswith(verdict)


def test_the_first_trial_has_the_settings_as_they_are(scored) -> None:
    found = scored(near(0.1))
    result = search_settings(karate("dropedge", "drop_fraction=0.35"), trials=1, trial_runs=1)
    # Once, and once again with a new seed.
    asked = [(prepared.method.config.name, run) for prepared, run in found.asked]
    assert asked == [("none", 0), ("dropedge", 0), ("none", 1), ("dropedge", 1)]
    assert found.settings("drop_fraction") == [0.35, 0.35]
    assert result.plan == karate("dropedge", "drop_fraction=0.35")


def test_a_trial_takes_the_time_of_all_its_runs_those_before_the_final_too(
    scored, store: Store
) -> None:
    scored(near(0.3))
    result = search_settings(karate("dropedge"), trials=6, trial_runs=2, store=store)
    took = {trial.settings["drop_fraction"]: trial.seconds for trial in result.ranked()}
    assert all(trial.confirmed for trial in result.ranked())
    for drop, seconds in took.items():
        runs = [one for one in store.all() if one.config["method"].get("drop_fraction") == drop]
        assert len(runs) == 4
        assert seconds == pytest.approx(sum(one.seconds for one in runs))


def test_settings_outside_of_what_is_searched_are_the_first_trial_too(scored) -> None:
    found = scored(near(0.1))
    result = search_settings(karate("dropedge", "drop_fraction=0.123"), trials=9, trial_runs=1)
    assert found.settings("drop_fraction")[0] == 0.123
    assert result.trials[0].settings == {"drop_fraction": 0.123}
    assert len(result.trials) == 9


def test_where_nothing_helps_it_says_so(scored) -> None:
    scored(lambda one, run: 50.0 if one.method.config.name == "none" else 40.0)
    result = search_settings(karate("dropedge"), trials=3, trial_runs=1)
    assert result.best.mean - result.comparison.plain.mean == -10
    assert not result.comparison.helps
    assert result.comparison.verdict() == (
        "No trial that ran with new seeds scored above no augmentation on the validation nodes."
    )


def test_a_gain_within_chance_is_called_so(scored) -> None:
    scored(lambda one, run: 50.0 if one.method.config.name == "none" else 51.0)
    verdict = search_settings(karate("dropedge"), trials=2, trial_runs=2).comparison.verdict()
    assert "1.0 points above" in verdict
    assert verdict.endswith("; less than 95% may be chance.")


def test_what_is_given_stays_and_the_rest_is_tried(scored) -> None:
    found = scored(lambda one, run: 1.0)
    given = karate("gaug-m", "predictor=gae", "embedding=7", "add_fraction=0.2")
    result = search_settings(given, fixed=["add_fraction", "embedding"], trials=12, trial_runs=1)
    assert set(found.settings("add_fraction")) == {0.2}
    assert len(set(found.settings("remove_fraction"))) > 3
    assert len(set(found.settings("predictor"))) > 2
    for trial in result.trials:
        method = trial.plan.method
        assert isinstance(method.config, GAugMConfig)
        assert list(method.predictors) == [method.config.predictor]
        if "gae" in method.predictors:
            gae = method.predictors["gae"]
            assert isinstance(gae, GAEConfig)
            assert gae.embedding == 7


def test_settings_that_cannot_be_run_are_told_and_passed_over(scored) -> None:
    def score(one: PreparedRuns, run: int) -> float:
        config = one.method.config
        if isinstance(config, DropEdgeConfig) and config.drop_fraction > 0.48:
            raise TrainingError("too much")
        return 10.0

    scored(score)
    result = search_settings(karate("dropedge"), trials=12, trial_runs=1)
    assert result.trials[0].failure == "too much"
    assert result.best.settings["drop_fraction"] <= 0.48
    assert len(result.trials) == 12
    assert len(result.ranked()) < 12
    with pytest.raises(TrainingError, match="No trial could be run: too much"):
        search_settings(karate("dropedge"), trials=1, trial_runs=1)


def test_a_search_that_is_begun_again_goes_on_with_what_is_on_record(store: Store) -> None:
    """The first search ends after two trials, the second has four: two are new."""
    plan = karate("gaug-m")
    first = search_settings(plan, trials=2, trial_runs=2, store=store)
    before = len(store.all())
    whole = search_settings(plan, trials=4, trial_runs=2, store=store)
    assert outcomes(whole)[:2] == outcomes(first)
    assert whole.comparison.plain.scores == first.comparison.plain.scores
    new = {str(trial) for trial in whole.trials} - {str(trial) for trial in first.trials}
    # Two runs of each, and two with new seeds.
    assert len(store.all()) == before + 4 * len(new)
    again = search_settings(plan, trials=4, trial_runs=2)
    assert outcomes(again) == outcomes(whole)


def test_the_best_run_again_with_new_seeds_and_these_decide(scored) -> None:
    """The luckiest of the first runs is not the best of the others."""

    def score(one: PreparedRuns, run: int) -> float:
        config = one.method.config
        if not isinstance(config, DropEdgeConfig):
            return 10.0
        lucky = run < 2
        return 90 - 80 * abs(config.drop_fraction - (0.2 if lucky else 0.4))

    found = scored(score)
    result = search_settings(karate("dropedge"), trials=16, trial_runs=2, finalists=6)
    confirmed = [trial for trial in result.trials if trial.confirmed]
    assert len(confirmed) == 6
    assert {run for _, run in found.asked} == {0, 1, 2, 3}
    for trial in confirmed:
        assert known(trial.outcomes).runs == (2, 3)
        assert known(trial.earlier).runs == (0, 1)
        lucky = 90 - 80 * abs(trial.settings["drop_fraction"] - 0.2)
        assert known(trial.earlier).mean == pytest.approx(lucky)
    by_luck = max((t for t in confirmed), key=lambda t: -abs(t.settings["drop_fraction"] - 0.2))
    assert result.best in confirmed
    assert result.best.mean > by_luck.mean
    assert result.ranked()[: len(confirmed)] == sorted(
        confirmed, key=lambda trial: trial.mean, reverse=True
    )
    plain = search_settings(karate("dropedge"), trials=16, trial_runs=2, finalists=0)
    assert not any(trial.confirmed for trial in plain.trials)
    assert plain.best.settings["drop_fraction"] == pytest.approx(0.2, abs=0.1)


@pytest.fixture(scope="module")
def large() -> Plan:
    """A thousand validation nodes, which all runs have."""
    data = planted_graph(SyntheticConfig(num_nodes=1100, num_classes=2, degree=2.0))
    split = make_split(data, "random", SplitConfig(train_fraction=0.05, val_fraction=0.92))
    return Plan.of(data, split=split, method="dropedge", settings=["epochs=2"])


def test_the_verdict_is_about_the_best_settings_even_if_others_are_surer(scored, large) -> None:
    def score(one: PreparedRuns, run: int) -> float:
        config = one.method.config
        if not isinstance(config, DropEdgeConfig):
            return 80.0
        shaky = config.drop_fraction == 0.5
        return (99.0 if run % 2 else 70.0) if shaky else 83.0

    scored(score)
    result = search_settings(large, trials=12, trial_runs=2)
    steady = [trial for trial in result.trials if trial.settings["drop_fraction"] != 0.5]
    assert any(known(result.comparison.gain_of(trial)).confidence > 0.99 for trial in steady)
    assert result.best.settings["drop_fraction"] == 0.5
    assert result.comparison.verdict().startswith(f"The best is {result.best}: 4.5 points above")
    assert result.comparison.gain == pytest.approx(4.5)
    assert not result.comparison.helps


def test_the_best_has_a_better_score_and_the_best_of_score_and_probability(scored, large) -> None:
    """Scores and probabilities go up to different ends, and 0.5 alone has a worse score."""

    def score(one: PreparedRuns, run: int) -> float:
        config = one.method.config
        if not isinstance(config, DropEdgeConfig):
            return 70.0
        return 69.0 if config.drop_fraction == 0.5 else 80 - 5 * config.drop_fraction

    def probable(one: PreparedRuns, run: int) -> float:
        config = one.method.config
        if not isinstance(config, DropEdgeConfig):
            return 50.0
        return 80.0 if config.drop_fraction == 0.5 else 50 + 20 * config.drop_fraction

    scored(score, probable)
    result = search_settings(large, trials=12, trial_runs=2, finalists=20)
    drops = [trial.settings["drop_fraction"] for trial in result.ranked()]
    assert drops == [*sorted(set(drops) - {0.5}, reverse=True), 0.5]
    assert result.best == result.ranked()[0]
    means = [trial.mean for trial in result.ranked()[:-1]]
    assert means == sorted(means)
    # Who runs again goes by both as well.
    result = search_settings(large, trials=12, trial_runs=2, finalists=3)
    again = [trial.settings["drop_fraction"] for trial in result.trials if trial.confirmed]
    assert sorted(again) == [0.5, *sorted(set(drops) - {0.5})[-2:]]


def test_another_seed_tries_other_settings(scored) -> None:
    scored(near(0.5))
    one, other = (
        search_settings(karate("dropedge", seed=seed), trials=6, trial_runs=1) for seed in (0, 1)
    )
    assert [t.settings for t in one.trials] != [t.settings for t in other.trials]


def test_the_same_seed_tries_the_same_whatever_the_number_of_workers(store: Store) -> None:
    plan = karate("dropedge", "epochs=4")
    alone = search_settings(plan, trials=7, trial_runs=2)
    with WorkerProcesses(2) as executor:
        spread = search_settings(plan, trials=7, trial_runs=2, executor=executor, store=store)
    assert outcomes(alone) == outcomes(spread)
    assert alone.importances == pytest.approx(spread.importances)


def interrupt_after(trials: float) -> Any:
    def on_trial(done: float) -> None:
        if done >= trials:
            raise KeyboardInterrupt

    return on_trial


@pytest.mark.parametrize("moment", [0, 0.5, 3.5, 4, 6, 13.5, 15])
def test_a_search_comes_to_the_same_end_wherever_it_was_interrupted(
    scored, store: Store, moment: float
) -> None:
    found = scored(near(0.3))
    plan = karate("dropedge")
    whole = search_settings(plan, trials=18, trial_runs=2)
    runs = len(found.asked)
    del found.asked[:]
    with pytest.raises(KeyboardInterrupt):
        search_settings(
            plan, trials=18, trial_runs=2, store=store, on_trial=interrupt_after(moment)
        )
    resumed = search_settings(plan, trials=18, trial_runs=2, store=store)
    assert outcomes(resumed) == outcomes(whole)
    # Also by trials that were given up before the interruption, which count as tried.
    assert any(trial.pruned for trial in whole.trials)
    assert gains(resumed) == gains(whole)
    assert [trial.number for trial in resumed.trials] == list(range(18))
    assert len(store.all()) <= runs  # settings that come twice are on record once


def test_a_search_that_is_repeated_is_as_sure_as_before(scored, store: Store) -> None:
    scored(near(0.3))
    one, same = (
        search_settings(karate("dropedge"), trials=18, trial_runs=2, store=store) for _ in range(2)
    )
    assert gains(same) == gains(one)
    assert same.comparison.verdict() == one.comparison.verdict()


def test_a_search_that_is_repeated_without_time_comes_to_the_same_end(scored, store: Store) -> None:
    """The finalists and no augmentation are compared in the runs that are on record."""
    found = scored(near(0.3))
    whole = search_settings(karate("dropedge"), trials=9, trial_runs=2, store=store)
    found.asked.clear()
    same = search_settings(karate("dropedge"), trials=9, trial_runs=2, timeout=1e-9, store=store)
    assert found.asked == []
    assert outcomes(same) == outcomes(whole)
    assert gains(same) == gains(whole)
    assert same.comparison.verdict() == whole.comparison.verdict()


def test_finalists_beside_which_no_augmentation_failed_do_not_decide(scored) -> None:
    """With new seeds another setting would be the best, but nothing tells what it gains."""

    def score(one: PreparedRuns, run: int) -> float:
        config = one.method.config
        if isinstance(config, DropEdgeConfig):
            return 90 - 80 * abs(config.drop_fraction - (0.2 if run < 2 else 0.6))
        if run >= 2:
            raise TrainingError("too much")
        return 10.0

    scored(score)
    result = search_settings(karate("dropedge"), trials=9, trial_runs=2)
    first = search_settings(karate("dropedge"), trials=9, trial_runs=2, finalists=0)
    assert result.best.settings == first.best.settings
    assert result.best == result.ranked()[0]
    assert None not in gains(result)
    assert result.comparison.plain.failure == "too much"


def test_a_finalist_that_fails_is_told(scored) -> None:
    def score(one: PreparedRuns, run: int) -> float:
        config = one.method.config
        if isinstance(config, DropEdgeConfig) and config.drop_fraction == 0.5 and run >= 2:
            raise TrainingError("too much")
        return near(0.5)(one, run)

    scored(score)
    result = search_settings(karate("dropedge"), trials=9, trial_runs=2)
    (failed,) = result.comparison.unfinished
    assert (failed.settings, failed.failure) == ({"drop_fraction": 0.5}, "too much")
    assert result.best.confirmed


def test_a_search_that_ran_out_of_time_goes_on_later(scored, store: Store, monkeypatch) -> None:
    found = scored(near(0.3))
    plan = karate("dropedge")
    whole = search_settings(plan, trials=9, trial_runs=2)
    with monkeypatch.context() as patched:
        found.asked.clear()
        patched.setattr(time, "monotonic", lambda: float(len(found.asked)))  # a second each
        short = search_settings(plan, trials=9, trial_runs=2, timeout=16.0, store=store)
    assert 0 < len(short.trials) < 9
    assert [t.settings for t in short.trials] == [
        t.settings for t in whole.trials[: len(short.trials)]
    ]
    assert short.best.confirmed  # the last part of the time is for the finalists
    assert outcomes(search_settings(plan, trials=9, trial_runs=2, store=store)) == outcomes(whole)


def test_without_time_for_a_single_trial_that_is_told(scored) -> None:
    scored(near(0.3))
    with pytest.raises(TrainingError, match="No trial could be run: there was no time"):
        search_settings(karate("dropedge"), trials=9, trial_runs=1, timeout=1e-9)


def test_no_augmentation_with_new_seeds_takes_part_of_the_time_of_the_finalists(
    scored, monkeypatch
) -> None:
    """Each run takes a second: when the time is up, none is begun."""
    found = scored(near(0.3))
    monkeypatch.setattr(time, "monotonic", lambda: float(len(found.asked)))
    result = search_settings(karate("dropedge"), trials=50, trial_runs=2, timeout=30.0)
    assert result.best.confirmed
    assert len(found.asked) <= 31  # the run that uses up the time is the last


def test_many_runs_without_augmentation_do_not_take_longer_than_the_time(
    scored, monkeypatch
) -> None:
    found = scored(near(0.3))
    monkeypatch.setattr(time, "monotonic", lambda: float(len(found.asked)))
    search_settings(karate("dropedge"), trials=50, trial_runs=10, timeout=60.0)
    assert len(found.asked) <= 61


def test_a_trial_that_was_given_up_is_not_ranked(scored) -> None:
    scored(near(0.5))
    result = search_settings(karate("dropedge"), trials=24, trial_runs=3)
    given_up = [trial for trial in result.trials if trial.pruned]
    assert given_up
    for trial in given_up:
        assert trial.scores is not None
        assert len(trial.scores.values) == 1
        assert trial not in result.ranked()
    assert all(len(t.scores.values) == 3 for t in result.trials if not t.pruned and t.scores)
    # Nothing is given up before there is something to compare with.
    assert not any(trial.pruned for trial in result.trials[:5])


def test_the_test_score_of_the_best_is_read_from_its_trial(store: Store, monkeypatch) -> None:
    # With as many validation nodes, and few that train, all trials have the given split.
    data = planted_graph(SyntheticConfig(num_nodes=500, num_classes=2, num_features=10))
    split = make_split(data, "random", SplitConfig(train_fraction=0.1, val_fraction=0.5))
    plan = Plan.of(data, split=split, method="dropedge", settings=["epochs=3"])
    result = search_settings(plan, trials=3, trial_runs=2, store=store)
    assert {record.test_score for record in store.all()} == {None}
    before = len(store.all())
    records = execute(result.plan, runs=2, store=store, resume=True)
    assert len(store.all()) == before
    assert [r.test_score for r in records] == [r.test_score for r in execute(result.plan, runs=2)]


def test_progress_counts_trials_and_those_of_an_earlier_search(scored, store: Store) -> None:
    scored(near(0.3))
    plan = karate("dropedge")
    search_settings(plan, trials=4, trial_runs=1, store=store)
    told: list[float] = []
    search_settings(plan, trials=8, trial_runs=1, store=store, on_trial=told.append)
    assert told == sorted(told)
    assert told[0] >= 4
    assert told[-1] == 8


def test_a_name_a_loaded_graph_and_a_data_give_the_same() -> None:
    options: dict[str, Any] = {
        "split": "stratified",
        "split_config": SplitConfig(train_fraction=0.2),
        "trials": 3,
        "trial_runs": 1,
        "epochs": 2,
    }
    graphs = ("karate", open_graph("karate"), load_graph("karate"))
    results = [search(graph, "dropedge", **options) for graph in graphs]
    tried = [[(t.settings, t.scores) for t in result.trials] for result in results]
    assert tried[0] == tried[1] == tried[2]


def test_settings_given_by_name_are_not_searched() -> None:
    with pytest.raises(ConfigError, match="Every searchable setting is fixed"):
        search("karate", "dropedge", drop_fraction=0.3)


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
            r"Method none has no settings to search. Choose from: adaedge, adaedge\+dropedge",
        ),
        ("dropedge", {"trials": 0}, "trials must be at least 1, got 0"),
        ("dropedge", {"trial_runs": 0}, "trial_runs must be at least 1, got 0"),
        ("dropedge", {"timeout": 0.0}, "timeout must be above 0 and finite, got 0"),
        ("dropedge", {"fixed": ["drop_fraction"]}, "Every searchable setting is fixed"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    method: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        search_settings(karate(method), **options)


def test_a_predictor_by_features_is_left_out_where_no_two_nodes_share_one(scored) -> None:
    found = scored(lambda one, run: 1.0)
    search_settings(karate("gaug-m"), trials=40, trial_runs=1)
    tried = set(found.settings("predictor"))
    assert "features" not in tried  # a one-hot id of each node says nothing about two
    assert {"gae", "smoothed", "structure"} <= tried


def test_the_words_of_a_search_rank_what_was_run(scored) -> None:
    scored(near(0.3))
    result = search_settings(karate("dropedge"), trials=5, trial_runs=1)
    lines = str(result).splitlines()
    ranked = result.ranked()
    assert [line.split("  ")[1] for line in lines[: len(ranked)]] == [str(t) for t in ranked]
    assert lines[len(ranked)] == "0.0  no augmentation"  # in the one run with a new seed
    means = [trial.mean for trial in ranked]
    assert means == sorted(means, reverse=True)
    assert isinstance(result.best, Trial)


def test_weights_that_are_best_on_validation_nodes_are_not_tried_with_the_last_epoch(scored):
    scored(lambda prepared, run: 50.0)
    settings = ("selection=last", "engine=blocked")
    found = search_settings(karate("gaug-o", *settings), trials=6, trial_runs=1, finalists=0)
    assert all(trial.failure is None for trial in found.trials)
    assert all("pretrain_weights" not in trial.settings for trial in found.trials)
