"""Choosers with a limit of time: a race of all methods, and a search for settings.

What they choose depends on the time that they had. So the outcome itself is recorded, and a study
that is interrupted after it and started again has the same outcome. A race that was interrupted
starts over. A search that was interrupted keeps its trials and has its whole time anew, so it may
try more than one that was not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gaug.choosing.auto import choose_method
from gaug.choosing.candidates import ADDED
from gaug.choosing.comparison import Comparison
from gaug.choosing.engine import TrialRunner
from gaug.choosing.search import SearchResult, search_settings
from gaug.choosing.trial import Trial
from gaug.errors import GaugError
from gaug.runs.fresh_runs import FreshRuns
from gaug.runs.plan import Plan
from gaug.studies.chooser import Chooser, Chosen, Effort, OnShare

# The version of how races and searches choose; what other versions chose is chosen again.
_RULES = 5


@dataclass(frozen=True)
class Race(Chooser):
    """What ``auto`` takes within a time; runs that were made before do not make it faster.

    Attributes:
        seconds: The time of the race.
    """

    seconds: float
    source = "race"

    def effort(self, seconds: float, trial_runs: int) -> Effort:
        """Its time."""
        return Effort(seconds=self.seconds)

    def choose(self, plan: Plan, runner: TrialRunner, on_share: OnShare) -> Chosen | None:
        """The method that is better than no augmentation by more than chance, or none."""
        return _remembered(self, plan, runner, lambda: self._race(plan, runner, on_share))

    def _race(self, plan: Plan, runner: TrialRunner, on_share: OnShare) -> Chosen:
        assert runner.store is not None, "studies have a store"
        with contextlib.closing(FreshRuns(runner.store.database_url)) as store:
            found = choose_method(
                plan,
                time_budget=self.seconds,
                runs=runner.runs,
                graphs=runner.graphs,
                executor=runner.executor,
                store=store,
                on_progress=on_share,
            )
        return chosen_of(found.chosen, _verdict(found, found.shown), len(found.tried))


@dataclass(frozen=True)
class Search(Chooser):
    """The best settings that Optuna finds, of one method or of several.

    Attributes:
        methods: Names of the methods; each has its share of trials and time.
        trials: Number of trials.
        seconds: Seconds for the trials and the finalists together.
    """

    methods: tuple[str, ...]
    trials: int
    seconds: float
    source = "search"

    def effort(self, seconds: float, trial_runs: int) -> Effort:
        """The runs of all trials, within its time."""
        runs = self.trials * trial_runs
        return Effort(runs, min(self.seconds, runs * seconds))

    def choose(self, plan: Plan, runner: TrialRunner, on_share: OnShare) -> Chosen | None:
        """The best settings on the validation nodes."""
        return _remembered(self, plan, runner, lambda: self._search(plan, runner, on_share))

    def _search(self, plan: Plan, runner: TrialRunner, on_share: OnShare) -> Chosen:
        found: list[SearchResult] = []
        failure: GaugError | None = None
        share = len(self.methods)
        for place, method in enumerate(self.methods):

            def tell(done: float, place: int = place) -> None:
                on_share(min(1.0, (place + done / (self.trials / share)) / share))

            try:
                found.append(
                    search_settings(
                        plan.with_method(method),
                        trials=max(1, self.trials // share),
                        trial_runs=runner.runs,
                        timeout=self.seconds / share,
                        graphs=runner.graphs,
                        executor=runner.executor,
                        store=runner.store,
                        on_trial=tell,
                    )
                )
            except GaugError as error:
                failure = error
        if not found:
            assert failure is not None, "each method has a result or an error"
            raise failure
        best = max(found, key=lambda one: (one.best.confirmed, *one.comparison.rank(one.best)))
        verdict = _verdict(best.comparison, best.best)
        return chosen_of(best.best, verdict, sum(len(one.trials) for one in found))


def _remembered(
    chooser: Race | Search, plan: Plan, runner: TrialRunner, choose: Callable[[], Chosen]
) -> Chosen | None:
    """What was chosen before; else choose and record it, if the whole time is left."""
    store = runner.store
    assert store is not None, "studies have a store"
    deciding = [
        _RULES,
        type(chooser).__name__,
        asdict(chooser),
        runner.graphs.place(plan).identity(0),
        runner.runs,
    ]
    identity = hashlib.sha256(json.dumps(deciding).encode()).hexdigest()
    before = store.find_choice(identity)
    if before is not None:
        return Chosen(**before)
    if time.monotonic() + chooser.seconds > runner.deadline:
        return None
    chosen = choose()
    store.add_choice(identity, chosen.to_dict())
    return chosen


def chosen_of(trial: Trial, verdict: Mapping[str, Any], trials: int) -> Chosen:
    """A trial as a choice: its method, and the settings that are needed to train it again.

    Args:
        trial: The trial.
        verdict: How sure the choice is.
        trials: How many were tried.
    """
    config = trial.plan.method.config
    plain = type(config)().to_dict()
    changed = {
        name: value
        for name, value in config.to_dict().items()
        if name == "predictor" or value != plain[name]
    }
    training = {name: getattr(trial.plan.training, name) for name in ADDED}
    changed |= {name: value for name, value in training.items() if value}
    return Chosen(changed, trials, config.name, {"method": config.name, **verdict})


def _verdict(comparison: Comparison, shown: Trial) -> dict[str, Any]:
    """How much a trial gains on the validation nodes, and how sure that is."""
    gain = comparison.gain_of(shown)
    return {
        "best": shown.name,
        "gain": None if gain is None else gain.points,
        "error": None if gain is None else gain.error,
        "confidence": comparison.confidence_in(shown),
        "new_seeds": shown.confirmed,
    }
