"""An Optuna study that processes share: no trial is lost, and none is done twice."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from gaug.choosing.limits import CONCURRENT_TRIALS as BATCH
from gaug.choosing.optuna_study import OptunaStudy
from gaug.choosing.scores import ValidationScores
from gaug.choosing.search import search_settings
from gaug.choosing.search_space import study_name
from gaug.choosing.trial import Trial
from gaug.config import searched_settings
from gaug.errors import TrainingError
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.runs.graphs import Graphs
from gaug.runs.store import Store
from tests.choosing.conftest import karate, near

SPACE = searched_settings(GAugMConfig)


def study_of(store: Store | None, trials: int = 10, seed: int = 0) -> OptunaStudy:
    return OptunaStudy(
        karate("gaug-m", seed=seed), SPACE, trials=trials, name="a study", store=store
    )


def score(trial: Trial) -> float:
    """The more is added and the less removed, the better; the predictor hardly counts."""
    settings = trial.settings
    return 50 + 40 * settings["add_fraction"] - 20 * settings["remove_fraction"]


def done(trial: Trial) -> Trial:
    values = ValidationScores((score(trial), score(trial)), 100)
    return dataclasses.replace(trial, scores=values, seconds=1.5)


def finish(study: OptunaStudy) -> list[Trial]:
    """Run what is proposed to the end of the study."""
    tried = []
    while proposed := study.propose():
        for trial in proposed:
            study.is_hopeless(trial, score(trial))
            study.learn(done(trial))
        tried += proposed
    return tried


def propose_and_die(url: str, ready: Any) -> None:
    study_of(Store(url)).propose()
    ready.set()
    os._exit(9)


def finish_together(url: str, trials: int, ready: Any) -> None:
    with closing(Store(url)) as store:
        ready.wait(timeout=60)
        finish(study_of(store, trials))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "runs.sqlite"))) as opened:
        yield opened


def settings(trials: list[Trial]) -> list[tuple[int | None, Any]]:
    return [(trial.number, dict(trial.settings)) for trial in trials]


def states(store: Store) -> list[TrialState]:
    loaded = optuna.load_study(study_name="a study", storage=store.database_url)
    return [trial.state for trial in loaded.trials]


def test_trials_are_asked_for_in_batches_and_the_first_is_the_plan(store: Store):
    study = study_of(store)
    first = study.propose()
    assert [trial.number for trial in first] == list(range(BATCH))
    config = study.plan.method.config
    assert first[0].settings == {name: getattr(config, name) for name in SPACE}
    for trial in first:
        study.learn(done(trial))
    assert [trial.number for trial in study.propose()] == list(range(BATCH, 2 * BATCH))


def test_more_trials_are_proposed_together_if_asked_and_their_study_has_a_name_of_its_own():
    plan = karate("gaug-m")
    study = OptunaStudy(plan, SPACE, trials=20, name="wide", concurrent=12)
    first = study.propose()
    assert [trial.number for trial in first] == list(range(12))
    assert len({repr(dict(trial.settings)) for trial in first}) > 6
    for trial in first:
        study.learn(done(trial))
    assert [trial.number for trial in study.propose()] == list(range(12, 20))
    placed = Graphs().place(plan)
    assert study_name(placed, SPACE, 3) == study_name(placed, SPACE, 3, BATCH)
    assert study_name(placed, SPACE, 3) != study_name(placed, SPACE, 3, 12)


def test_a_proposal_has_the_settings_in_its_plan_and_within_what_is_searched():
    predictors = SPACE["predictor"]
    assert isinstance(predictors, tuple)
    for trial in finish(study_of(None, trials=30)):
        for name, value in trial.settings.items():
            assert getattr(trial.plan.method.config, name) == value
        assert 0 <= trial.settings["add_fraction"] <= 1
        assert 0 <= trial.settings["remove_fraction"] <= 0.8
        assert trial.settings["predictor"] in predictors


def test_it_is_the_same_study_in_memory_and_in_a_store(store: Store):
    assert settings(finish(study_of(None))) == settings(finish(study_of(store)))


def test_what_is_proposed_depends_on_the_seed(store: Store):
    assert settings(finish(study_of(None))) != settings(finish(study_of(None, seed=1)))


def test_what_is_proposed_does_not_depend_on_the_order_in_which_a_batch_ends():
    orders = []
    for reverse in (False, True):
        study, tried = study_of(None), []
        while proposed := study.propose():
            tried += proposed
            for trial in sorted(proposed, key=lambda one: one.number, reverse=reverse):
                study.learn(done(trial))
        orders.append(settings(tried))
    assert orders[0] == orders[1]


@pytest.mark.parametrize("finished", [0, 16])  # Optuna draws at random before it has ten
def test_what_was_given_back_is_proposed_again_with_the_same_settings(store: Store, finished: int):
    expected = settings(finish(study_of(None, trials=24)))
    finish(study_of(store, trials=finished))
    study = study_of(store, trials=24)
    batch = study.propose()
    study.learn(done(batch[1]))
    for trial in (batch[0], *batch[2:]):
        study.release(trial)
    again = study.propose()
    assert settings(again) == [expected[finished + place] for place in (0, 2, 3)]
    for trial in again:
        study.learn(done(trial))
    finish(study)
    assert settings(study.results()) == expected


def test_trials_of_a_process_that_died_are_repeated_with_the_same_settings(store: Store):
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    child = context.Process(target=propose_and_die, args=(store.url, ready))
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 9
    assert ready.is_set()
    assert states(store) == [TrialState.RUNNING] * BATCH
    expected = settings(finish(study_of(None)))
    study = study_of(store)
    finish(study)
    assert settings(study.results()) == expected  # nothing lost, nothing doubled
    assert states(store) == [TrialState.FAIL] * BATCH + [TrialState.COMPLETE] * 10


def test_trials_of_a_process_that_lives_are_left_to_it(store: Store):
    one, other = study_of(store), study_of(store)
    first, second = one.propose(), other.propose()
    assert [trial.number for trial in first + second] == list(range(2 * BATCH))
    for study, trials in ((one, first), (other, second)):
        for trial in trials:
            study.learn(done(trial))
    last = one.propose()
    assert [trial.number for trial in last] == [8, 9]
    assert other.propose() == []
    for trial in last:
        one.learn(done(trial))
    assert [t.number for t in one.results()] == [t.number for t in other.results()]
    assert states(store) == [TrialState.COMPLETE] * 10


def test_processes_that_share_a_study_try_each_index_once(store: Store):
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    study_of(store)  # its tables
    children = [
        context.Process(target=finish_together, args=(store.url, 16, ready)) for _ in range(2)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(timeout=120)
    assert [child.exitcode for child in children] == [0, 0]
    study = study_of(store, trials=16)
    assert study.propose() == []
    assert [trial.number for trial in study.results()] == list(range(16))
    # Where both began an index at once, one has stood back.
    assert states(store).count(TrialState.COMPLETE) == 16
    assert set(states(store)) <= {TrialState.COMPLETE, TrialState.FAIL}


def test_more_trials_go_on_with_the_same_study(store: Store):
    short = settings(finish(study_of(store, trials=5)))
    rest = settings(finish(study_of(store, trials=10)))
    assert [number for number, _ in short + rest] == list(range(10))
    assert len(study_of(store, trials=5).results()) == 5


def test_what_came_of_a_trial_is_read_as_it_was_learned(store: Store):
    study = study_of(store, trials=3)
    good, given_up, failed = study.propose()
    study.learn(done(good))
    study.learn(dataclasses.replace(given_up, scores=ValidationScores((1.0,), 9), pruned=True))
    study.learn(dataclasses.replace(failed, failure="too much"))
    read = study_of(store, trials=3).results()
    assert read[0] == done(good)
    assert (read[1].pruned, read[1].counts) == (True, False)
    assert read[1].scores == ValidationScores((1.0,), 9)
    assert (read[2].failure, read[2].scores) == ("too much", None)
    assert study.propose() == []  # what failed by itself is not tried again


def test_anybody_can_load_the_study_from_the_url_of_the_store(store: Store, scored):
    scored(near(0.5))
    result = search_settings(karate("dropedge"), trials=24, trial_runs=3, store=store)
    loaded = optuna.load_study(study_name=result.study, storage=store.database_url)
    assert loaded.best_value == pytest.approx(result.best.merit)
    assert loaded.best_params["drop_fraction"] == pytest.approx(
        result.best.settings["drop_fraction"]
    )
    by_state = {
        TrialState.COMPLETE: [t for t in result.trials if t.counts],
        TrialState.PRUNED: [t for t in result.trials if t.pruned],
    }
    assert by_state[TrialState.PRUNED]
    for state, trials in by_state.items():
        found = [t for t in loaded.trials if t.state == state]
        assert [t.user_attrs["index"] for t in found] == [t.number for t in trials]
        assert [t.value for t in found] == pytest.approx([t.merit for t in trials])


def test_importances_add_up_to_one_and_the_deciding_setting_has_the_most():
    study = study_of(None, trials=40)
    finish(study)
    found = study.importances()
    assert set(found) == set(SPACE)
    assert sum(found.values()) == pytest.approx(1)
    assert max(found, key=lambda name: found[name]) == "add_fraction"


def test_where_all_scores_are_equal_nothing_is_known_of_importances():
    study = study_of(None, trials=4)
    for trial in study.propose():
        study.learn(dataclasses.replace(trial, scores=ValidationScores((5.0,), 10)))
    assert study.importances() == {}
    assert study_of(None).importances() == {}


def test_a_first_run_below_the_median_of_earlier_batches_is_hopeless():
    study = study_of(None, trials=12)
    for value in (10.0, 20.0):
        for trial in study.propose():
            assert not study.is_hopeless(trial, value)
            study.learn(dataclasses.replace(trial, scores=ValidationScores((value,), 10)))
    last = study.propose()
    # The median of four times 10 and four times 20 is 15.
    assert [
        study.is_hopeless(t, v) for t, v in zip(last, (14.9, 15.1, 3.0, 30.0), strict=True)
    ] == [
        True,
        False,
        True,
        False,
    ]


def test_trials_that_fail_by_themselves_do_not_end_the_study(store: Store, scored):
    def broken(one: Any, run: int) -> float:
        if one.method.config.name == "dropedge" and run == 1:
            raise TrainingError("in the second run")
        return 1.0

    scored(broken)
    with pytest.raises(TrainingError, match="in the second run"):
        search_settings(karate("dropedge"), trials=6, trial_runs=2, store=store)
