"""The best settings of a search again, with new seeds: these runs decide."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gaug.choosing.engine import NO_TIME
from gaug.choosing.optuna_study import OptunaStudy, digest_of
from gaug.choosing.shared_trials import SharedTrials
from gaug.choosing.trial import Trial, distinct
from gaug.runs.store import Store

#: Attribute of a study of finalists: the name of the search they are from.
FINALISTS_OF = "finalists_of"


class Finalists(SharedTrials):
    """The best settings of a search again, with new seeds.

    Args:
        study: The search, finished.
        best: Its best trials, in order; their settings are part of the name of this study.
        store: Where it is saved; None keeps it in memory only.
    """

    confirms = True

    def __init__(
        self, study: OptunaStudy, best: Sequence[Trial], store: Store | None = None
    ) -> None:
        self.best = list(best)
        which = digest_of([dict(trial.settings) for trial in best])
        super().__init__(
            study.plan,
            study.space,
            trials=len(best),
            name=f"{study.study.study_name}, best {len(best)}: {which}",
            store=store,
            concurrent=study.concurrent,
        )
        self.study.set_user_attr(FINALISTS_OF, study.study.study_name)

    def settings_of(self, index: int) -> dict[str, Any]:
        """The settings of the trial at this place."""
        return dict(self.best[index].settings)


def best_trials(trials: Sequence[Trial], number: int) -> list[Trial]:
    """The best distinct settings of finished trials by merit, best first."""
    finished = distinct(trial for trial in trials if trial.counts)
    return sorted(finished, key=lambda trial: trial.merit, reverse=True)[:number]


def with_finalists(tried: list[Trial], again: list[Trial], plain: Trial) -> list[Trial]:
    """The trials, with the runs of new seeds in the place of the others.

    New runs that no augmentation does not have tell nothing. Why a trial has none is its failure.
    """
    assert plain.outcomes is not None, "it was run"
    finalists = {trial.key: trial for trial in again}
    found = []
    for trial in tried:
        final = finalists.pop(trial.key, None) if trial.counts else None
        if final is None:
            found.append(trial)
        elif final.outcomes is not None and final.outcomes.shared(plain.outcomes):
            found.append(
                dataclasses.replace(
                    final,
                    number=trial.number,
                    name=trial.name,
                    earlier=trial.outcomes,
                    seconds=trial.seconds + final.seconds,
                )
            )
        else:
            reason = final.failure or plain.failure or NO_TIME
            found.append(dataclasses.replace(trial, failure=reason))
    return found
