"""Trials that processes share, resume and never run twice.

They are kept in an Optuna study in the database of the run records, where `optuna-dashboard` and
other processes find them. Each trial has an index, and a process claims it before running it.

A trial whose process was killed is detected: at once if that process was on this machine, and
otherwise when its Optuna heartbeat has been missing for a while. It counts as failed, and its
index is proposed again, with the same settings.
"""

from __future__ import annotations

import contextlib
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from gaug.choosing.limits import CONCURRENT_TRIALS
from gaug.choosing.proposer import Proposer
from gaug.choosing.run_scores import RunScores
from gaug.choosing.scores import ValidationScores
from gaug.choosing.study_storage import Heart, has_ended, open_storage, this_process
from gaug.choosing.trial import Trial
from gaug.runs.plan import Plan
from gaug.runs.store import Store


class SharedTrials(Proposer):
    """Proposes trials by index; a subclass knows the settings of each.

    Args:
        plan: Everything but the settings of a trial.
        space: Values that the settings may have, for Optuna.
        trials: Number of trials.
        name: Name of the study; the same name resumes the same study.
        store: Where the study is saved; None keeps it in memory only.
        concurrent: Number of trials proposed together.
    """

    def __init__(
        self,
        plan: Plan,
        space: Mapping[str, BaseDistribution],
        *,
        trials: int,
        name: str,
        store: Store | None = None,
        concurrent: int = CONCURRENT_TRIALS,
    ) -> None:
        self.plan = plan
        self.concurrent = concurrent
        self.space = dict(space)
        self.trials = trials
        self.storage = open_storage(store)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = optuna.create_study(
            storage=self.storage, study_name=name, direction="maximize", load_if_exists=True
        )
        self._study_id = self.storage.get_study_id_from_name(name)
        self._outcomes: dict[int, RunScores] = {}  # of the trials that were run here
        self._owned: dict[int, int] = {}  # ids of the trials running here, by index
        self._heart = Heart(self.storage, self._owned)

    @abstractmethod
    def settings_of(self, index: int) -> dict[str, Any]:
        """The settings of a trial."""

    def propose(self) -> list[Trial]:
        """The trials of the next batch that are neither finished nor running."""
        self._fail_lost_trials()
        taken = self._by_index()
        free = [index for index in range(self.trials) if index not in taken]
        if not free:
            return []
        batch = free[0] // self.concurrent
        proposed = []
        for index in (index for index in free if index // self.concurrent == batch):
            trial = self._claim(index, self.settings_of(index))
            if trial is not None:
                proposed.append(trial)
        # Another process may have claimed all of them.
        return proposed or self.propose()

    def learn(self, trial: Trial) -> None:
        """Store the result of a trial in the study."""
        number = self._owned.pop(trial_index(trial))
        if trial.outcomes is not None:
            self._outcomes[trial_index(trial)] = trial.outcomes
        if trial.scores is None:
            self._end(number, TrialState.FAIL, failure=trial.failure)
            return
        self._end(
            number,
            TrialState.PRUNED if trial.pruned else TrialState.COMPLETE,
            trial.merit,
            val_scores=list(trial.scores.values),
            nodes=trial.scores.num_nodes,
            seconds=trial.seconds,
        )

    def release(self, trial: Trial) -> None:
        """Give a trial back, so that another process or a later start runs it."""
        number = self._owned.pop(trial_index(trial), None)
        if number is not None:
            self._end(number, TrialState.FAIL)

    @property
    def waits_for_others(self) -> bool:
        """Whether other processes are still running trials of this study."""
        running = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return any(t.user_attrs.get("index", self.trials) < self.trials for t in running)

    def results(self) -> list[Trial]:
        """All finished trials of the study, from any process, in the order of indices."""
        taken = self._by_index()
        return [
            self._trial(found)
            for index, found in sorted(taken.items())
            if index < self.trials and found.state.is_finished()
        ]

    def close(self) -> None:
        """Close the database."""
        self._heart.stop()
        if isinstance(self.storage, RDBStorage):
            self.storage.engine.dispose()

    def _by_index(self) -> dict[int, FrozenTrial]:
        """Finished and running trials by index; the first one counts if there are several."""
        found: dict[int, FrozenTrial] = {}
        for trial in self.study.get_trials(deepcopy=False):
            lost = trial.state == TrialState.FAIL and "failure" not in trial.user_attrs
            if not lost and "index" in trial.user_attrs:
                found.setdefault(trial.user_attrs["index"], trial)
        return found

    def _claim(self, index: int, params: Mapping[str, Any]) -> Trial | None:
        """Start a trial, unless another process has started it first."""
        attributes = {"index": index, "owner": this_process(), "settings": dict(params)}
        try:
            begun = create_trial(
                state=TrialState.RUNNING,
                params=dict(params),
                distributions=self.space,
                user_attrs=attributes,
            )
        except ValueError:  # settings of the plan may be outside the search space
            begun = create_trial(state=TrialState.RUNNING, user_attrs=attributes)
        number = self.storage.create_new_trial(self._study_id, begun)
        found = self.storage.get_trial(number)
        if self._by_index()[index].number != found.number:
            self._end(number, TrialState.FAIL)
            return None
        trial = self._trial(found)
        self._owned[index] = number
        self._heart.beat(number)
        return trial

    def _trial(self, found: FrozenTrial) -> Trial:
        settings = {name: _readable(value) for name, value in found.user_attrs["settings"].items()}
        texts = [f"{name}={value}" for name, value in settings.items()]
        values = found.user_attrs.get("val_scores")
        return Trial(
            " ".join(texts),
            self.plan.with_settings(texts),
            settings,
            ValidationScores(tuple(values), found.user_attrs["nodes"]) if values else None,
            found.user_attrs.get("seconds", 0.0),
            found.state == TrialState.PRUNED,
            found.user_attrs.get("failure"),
            found.user_attrs["index"],
            self._outcomes.get(found.user_attrs["index"]),
            self.confirms,
        )

    def _fail_lost_trials(self) -> None:
        if isinstance(self.storage, RDBStorage):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                optuna.storages.fail_stale_trials(self.study)
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if has_ended(trial.user_attrs.get("owner")):
                number = self.storage.get_trial_id_from_study_id_trial_number(
                    self._study_id, trial.number
                )
                self._end(number, TrialState.FAIL)

    def _end(
        self, number: int, state: TrialState, value: float | None = None, **attrs: Any
    ) -> None:
        """End a trial, unless another process took it for lost and has ended it."""
        with contextlib.suppress(UpdateFinishedTrialError):
            for name, attribute in attrs.items():
                self.storage.set_trial_user_attr(number, name, attribute)
            self.storage.set_trial_state_values(number, state, None if value is None else [value])


def trial_index(trial: Trial) -> int:
    """The index of a trial that was proposed."""
    assert trial.number is not None, "it is one of this study"
    return trial.number


def _readable(value: Any) -> Any:
    """Round away floating-point noise in the last digits."""
    return round(value, 9) if isinstance(value, float) else value
