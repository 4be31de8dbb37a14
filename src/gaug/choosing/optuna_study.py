"""Settings proposed by Optuna, in a study that can be shared and resumed.

Trials are proposed in batches of a fixed size. The settings of a trial depend only on the seed, its
index and the trials of earlier batches. So a search gives the same result with any number of
workers and interruptions. Processes that share a search take trials of several batches at a time,
which then know the results of fewer others: together they try other settings than one alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

from gaug.choosing.limits import CONCURRENT_TRIALS
from gaug.choosing.shared_trials import SharedTrials, trial_index
from gaug.choosing.trial import Trial
from gaug.config import Searched
from gaug.runs.plan import Plan
from gaug.runs.store import Store
from gaug.seeding import run_seed

# Number of trials before pruning starts.
_TRIALS_BEFORE_PRUNING = 5


class OptunaStudy(SharedTrials):
    """Proposes settings with a tree-structured Parzen estimator; prunes those below the median.

    Args:
        plan: Everything but the searched settings; its own settings are the first trial.
        space: Values to search, by setting.
        trials: Number of trials.
        name: Name of the study; the same name resumes the same study.
        store: Where the study is saved; None keeps it in memory only.
        concurrent: Number of trials proposed together, none of which knows of the others.
    """

    prunes = True

    def __init__(
        self,
        plan: Plan,
        space: Mapping[str, Searched],
        *,
        trials: int,
        name: str,
        store: Store | None = None,
        concurrent: int = CONCURRENT_TRIALS,
    ) -> None:
        distributions = {
            setting: _distribution(values, getattr(plan.method.config, setting))
            for setting, values in space.items()
        }
        super().__init__(
            plan, distributions, trials=trials, name=name, store=store, concurrent=concurrent
        )

    def is_hopeless(self, trial: Trial, merit: float) -> bool:
        """Whether the first run is below the median of the first runs of earlier trials.

        These are the trials of earlier batches that were completed; pruned ones do not count.
        """
        number = self._owned[trial_index(trial)]
        with contextlib.suppress(UpdateFinishedTrialError):
            self.storage.set_trial_intermediate_value(number, 0, merit)
        asked = self._view(self._begin_of_batch(trial_index(trial))).ask()
        asked.report(merit, step=0)
        return asked.should_prune()

    def settings_of(self, index: int) -> dict[str, Any]:
        """The settings of a trial: those of the plan first, then Optuna's proposals."""
        if index == 0:
            return {setting: getattr(self.plan.method.config, setting) for setting in self.space}
        view = self._view(self._begin_of_batch(index))
        view.sampler = optuna.samplers.TPESampler(seed=run_seed(self.plan.seed, index) % 2**32)
        return view.ask(self.space).params

    def importances(self) -> dict[str, float]:
        """Importance of each setting for the score, adding up to 1; empty if unknown."""
        taken = {i: t for i, t in self._by_index().items() if i < self.trials}
        return setting_importances(list(taken.values()))

    def _begin_of_batch(self, index: int) -> int:
        return index // self.concurrent * self.concurrent

    def _view(self, before: int) -> optuna.Study:
        """The trials with an index below ``before``, in order, as a separate study."""
        found = sorted((i, t) for i, t in self._by_index().items() if i < before)
        view = optuna.create_study(
            direction="maximize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=_TRIALS_BEFORE_PRUNING),
        )
        view.add_trials([trial for _, trial in found if trial.state.is_finished()])
        return view


def digest_of(values: list[Any]) -> str:
    """A short fingerprint of plain values."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:12]


def setting_importances(trials: Sequence[FrozenTrial]) -> dict[str, float]:
    """Importance of each setting for the score, adding up to 1; empty if unknown.

    Args:
        trials: Trials of one study; those that were not completed do not count.
    """
    done = [t for t in trials if t.state == TrialState.COMPLETE]
    if len({t.value for t in done}) < 2:
        return {}
    view = optuna.create_study(direction="maximize")
    view.add_trials(done)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is experimental, or that trials are few
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        try:
            return dict(optuna.importance.get_param_importances(view, evaluator=evaluator))
        except (ValueError, RuntimeError):  # too few different trials
            return {}


def _distribution(values: Searched, example: Any) -> BaseDistribution:
    if isinstance(values, tuple):
        return CategoricalDistribution(values)
    if isinstance(example, int):
        return IntDistribution(int(values.low), int(values.high), step=int(values.step))
    return FloatDistribution(values.low, values.high, step=values.step)
