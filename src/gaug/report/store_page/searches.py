"""The searches of a store, from the Optuna studies in its database."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from gaug.choosing.finalists import FINALISTS_OF
from gaug.choosing.optuna_study import setting_importances
from gaug.choosing.study_storage import open_storage
from gaug.report.page.charts import rows, xy
from gaug.runs.store import Store

#: Trials that are drawn of one search.
MOST_TRIALS = 500
# The table that Optuna keeps its studies in.
_TABLE = "studies"


@dataclass(frozen=True)
class Search:
    """A search with its trials.

    Attributes:
        name: Name of its study.
        trials: Its trials in the order of proposals.
        importances: Importance of each setting, adding up to 1.
        finalists: Its best settings again with new seeds, which decide.
    """

    name: str
    trials: Sequence[FrozenTrial]
    importances: dict[str, float]
    finalists: Sequence[FrozenTrial] = ()

    @property
    def finished(self) -> list[FrozenTrial]:
        """Trials with a score."""
        return [trial for trial in self.trials if trial.values]

    @property
    def best(self) -> FrozenTrial | None:
        """The completed trial with the best value, with new seeds if there are any."""
        done = [
            trial
            for trial in self.finalists or self.trials
            if trial.values and trial.state == TrialState.COMPLETE
        ]
        return max(done, key=_value, default=None)

    def count(self, state: TrialState) -> int:
        """Number of trials in a state."""
        return sum(trial.state == state for trial in self.trials)

    def history_chart(self) -> dict[str, Any]:
        """The score of each trial, and the best so far."""
        done = [trial for trial in self.finished if trial.state == TrialState.COMPLETE]
        pruned = [trial for trial in self.finished if trial.state == TrialState.PRUNED]
        best: list[float] = []
        for trial in done:
            best.append(max(score_of(trial), best[-1] if best else float("-inf")))
        series = [
            {"name": "best so far", "kind": "line", "color": "c4", **_points(done, best)},
            {"name": "trial", "kind": "points", "color": "c0", **_points(done)},
            {
                "name": "stopped early",
                "kind": "points",
                "shape": "square",
                "color": "other",
                **_points(pruned),
            },
        ]
        return xy(
            [one for one in series if one["x"]],
            {"title": "trial", "whole": True},
            {"title": "validation micro-F1, %", "score": True},
        )

    def importance_chart(self) -> dict[str, Any]:
        """The importance of each setting."""
        parts = [
            {"name": name, "value": round(value, 4), "text": f"{value:.0%}"}
            for name, value in sorted(self.importances.items(), key=lambda item: -item[1])
        ]
        return rows(parts, {"title": "importance", "low": 0, "percent": True})

    @property
    def best_from(self) -> float:
        """The least score of the best tenth; infinite if more than a tenth share the best one."""
        scores = sorted(map(score_of, self.finished), reverse=True)
        most = max(1, len(scores) // 10)
        fit = [
            score for score in scores[:most] if scores.count(score) + scores.index(score) <= most
        ]
        return min(fit, default=math.inf)

    @property
    def why_no_importances(self) -> str:
        """Why it is not known how much each setting matters."""
        done = [trial for trial in self.finished if trial.state == TrialState.COMPLETE]
        if len(done) < 2:
            return "fewer than two trials were completed"
        if len({score_of(trial) for trial in done}) == 1:
            return "all completed trials have the same score"
        return "there are too few different trials"

    def parallel_chart(self) -> dict[str, Any]:
        """Parallel coordinates: one axis per setting, and the score."""
        names = list(dict.fromkeys(name for trial in self.finished for name in settings_of(trial)))
        axes: list[dict[str, Any]] = []
        for name in names:
            values = [settings_of(trial).get(name) for trial in self.finished]
            values = [value for value in values if value is not None]
            plain = all(type(value) in (int, float) for value in values)
            axis: dict[str, Any] = {"name": name}
            if not plain:
                axis["values"] = sorted({str(value) for value in values})
            axes.append(axis)
        lines = []
        for trial in self.finished:
            settings = settings_of(trial)
            at = [_on_axis(settings.get(axis["name"]), axis) for axis in axes]
            score = round(score_of(trial), 2)
            words = " ".join(f"{name}={_short(value)}" for name, value in settings.items())
            line = {"at": [*at, score], "score": score, "name": f"{score}\n{words}"}
            lines.append(line | {"best": score_of(trial) >= self.best_from})
        return {"kind": "parallel", "axes": [*axes, {"name": "score"}], "lines": lines}


def read_searches(store: Store) -> list[Search]:
    """The searches of a store, newest first; its database is not changed if there are none."""
    if not store.has_table(_TABLE):
        return []
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = open_storage(store)
    found = []
    finalists: dict[str, list[FrozenTrial]] = {}
    for study in reversed(storage.get_all_studies()):
        trials = storage.get_all_trials(study._study_id, deepcopy=False)
        own = [trial for trial in trials if "index" in trial.user_attrs]
        own.sort(key=lambda trial: int(trial.user_attrs["index"]))
        search = study.user_attrs.get(FINALISTS_OF)
        if search is not None:
            finalists.setdefault(search, own)  # the newest
        elif own:
            importances = setting_importances(own)
            again = finalists.get(study.study_name, [])
            found.append(Search(study.study_name, own[:MOST_TRIALS], importances, again))
    if isinstance(storage, optuna.storages.RDBStorage):
        storage.engine.dispose()
    return found


def settings_of(trial: FrozenTrial) -> dict[str, Any]:
    """The settings of a trial."""
    given = trial.user_attrs.get("settings")
    return dict(given) if isinstance(given, dict) else dict(trial.params)


def score_of(trial: FrozenTrial) -> float:
    """Its mean validation score, which is not what trials are ranked by."""
    scores = trial.user_attrs.get("val_scores")
    return statistics.fmean(scores) if scores else _value(trial)


def _value(trial: FrozenTrial) -> float:
    return float(trial.values[0])


def _points(trials: Sequence[FrozenTrial], values: Sequence[float] | None = None) -> dict[str, Any]:
    numbers = [int(trial.user_attrs["index"]) + 1 for trial in trials]
    shown = [score_of(trial) for trial in trials] if values is None else values
    return {"x": numbers, "y": [round(value, 2) for value in shown]}


def _on_axis(value: Any, axis: dict[str, Any]) -> Any:
    return str(value) if value is not None and "values" in axis else value


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
