"""Settings of a method searched by Optuna, on validation nodes alone.

What may be searched stands with each setting (`gaug.config.setting`). The sampler is seeded and
asks for one trial at a time, so a search that is begun again asks for the same settings; what is on
record is not run again. That is how an interrupted search goes on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState

from gaug.choosing.candidates import compares_nodes
from gaug.choosing.scores import ValidationScores
from gaug.config import Searched, searched_settings
from gaug.data.loaded import LoadedGraph
from gaug.data.opening import split_graph
from gaug.errors import ConfigError, DataError, TrainingError
from gaug.methods import METHOD_CONFIGS, NoAugmentationConfig, part_configs
from gaug.models.base import as_features
from gaug.runs.plan import Experiment, run_experiment
from gaug.runs.store import RunRecord, Store

#: Trials of a search, where nobody says otherwise.
TRIALS = 30
#: Runs of each trial.
TRIAL_RUNS = 3


@dataclass(frozen=True)
class SearchTrial:
    """Settings that were tried.

    Attributes:
        settings: The settings that were searched.
        scores: How they did on the validation nodes; None if they could not be run.
        failure: Why they could not.
    """

    settings: dict[str, Any]
    scores: ValidationScores | None
    failure: str | None = None

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items())


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        experiment: The experiment with the best settings.
        best: The trial that they are from.
        plain: The same model without augmentation, on the validation nodes.
        trials: All trials, in the order in which they were run.
    """

    experiment: Experiment
    best: SearchTrial
    plain: ValidationScores
    trials: list[SearchTrial]

    def ranked(self) -> list[SearchTrial]:
        """The different settings that could be run, the best first."""
        run = {str(trial): trial for trial in self.trials if trial.scores is not None}
        return sorted(run.values(), key=_mean, reverse=True)

    @property
    def gain(self) -> float:
        """Points of the best settings above no augmentation, on the validation nodes."""
        return _mean(self.best) - self.plain.mean

    @property
    def chance(self) -> float:
        """Points that say nothing: the larger spread of the two."""
        assert self.best.scores is not None, "the best trial was run"
        return self.best.scores.chance_beside(self.plain)

    def verdict(self) -> str:
        """In a sentence, whether the best settings help."""
        scores = self.best.scores
        assert scores is not None, "the best trial was run"
        if self.gain <= 0:
            return "Nothing that was tried scored above no augmentation on the validation nodes."
        chance = scores.chance_in_words(self.plain)
        beyond = "more" if scores.clearly_above(self.plain) else "not more"
        return (
            f"The best is {self.gain:.1f} points above no augmentation on the validation nodes,"
            f" {beyond} than {chance}."
        )


def search_settings(
    experiment: Experiment,
    loaded: LoadedGraph,
    *,
    fixed: Collection[str] = (),
    trials: int = TRIALS,
    trial_runs: int = TRIAL_RUNS,
    workers: int = 1,
    store: Store | None = None,
    root: Path | None = None,
    on_trial: Callable[[int], None] | None = None,
) -> SearchResult:
    """Search the settings of a method by their mean validation score.

    The first trial has the settings of the experiment, the others are Optuna's (a tree-structured
    Parzen estimator). Test scores are on record and are not looked at. Settings that a graph cannot
    be trained with count as failed, and the search goes on.

    Args:
        experiment: Everything but what is searched.
        loaded: Its graph.
        fixed: Settings to leave as they are.
        trials: Number of trials.
        trial_runs: Runs of each trial.
        workers: Processes to spread the runs of a trial over.
        store: Where runs go on record, and from where they are taken over.
        root: The data root.
        on_trial: Called with the number of trials that are done.
    """
    check_search(experiment, trials, trial_runs)
    space = search_space(experiment, loaded, fixed)
    num_nodes = split_graph(loaded, experiment.split, experiment.split_config).val.numel()
    if num_nodes == 0:
        raise DataError("A search compares scores on validation nodes, and this graph has none.")

    def validate(candidate: Experiment) -> ValidationScores:
        records = run_experiment(
            candidate,
            runs=trial_runs,
            workers=workers,
            root=root,
            store=store,
            resume=store is not None,
            loaded=loaded,
        )
        return ValidationScores(_val_scores(records), num_nodes)

    plain = validate(without_augmentation(experiment))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=experiment.seed)
    )
    study.enqueue_trial({name: getattr(experiment.method, name) for name in space})
    done: list[SearchTrial] = []
    for number in range(1, trials + 1):
        asked = study.ask(space)
        settings = {name: _readable(value) for name, value in asked.params.items()}
        try:
            trial = SearchTrial(settings, validate(_changed(experiment, settings)))
        except (ConfigError, DataError, TrainingError) as error:
            trial = SearchTrial(settings, None, str(error))
            study.tell(asked, state=TrialState.FAIL)
        else:
            study.tell(asked, _mean(trial))
        done.append(trial)
        if on_trial is not None:
            on_trial(number)
    best = max((trial for trial in done if trial.scores is not None), key=_mean, default=None)
    if best is None:
        raise TrainingError(f"No trial could be run: {trial.failure}")
    return SearchResult(_changed(experiment, best.settings), best, plain, done)


def without_augmentation(experiment: Experiment) -> Experiment:
    """The same experiment with the graph as it is."""
    return dataclasses.replace(experiment, method=NoAugmentationConfig(), parts={})


def check_search(experiment: Experiment, trials: int, trial_runs: int) -> None:
    """Raise if nothing can be searched like that."""
    if not searched_settings(type(experiment.method)):
        raise no_settings(experiment.method.name)
    for name, count in (("trials", trials), ("trial_runs", trial_runs)):
        if count < 1:
            raise ConfigError(f"{name} must be at least 1, got {count}.")


def no_settings(method: str) -> ConfigError:
    """The error for a method that has no settings to search."""
    others = [name for name, config in METHOD_CONFIGS.items() if searched_settings(config)]
    return ConfigError(
        f"Method {method} has no settings to search. Choose from: {', '.join(sorted(others))}."
    )


def search_space(
    experiment: Experiment, loaded: LoadedGraph, fixed: Collection[str]
) -> dict[str, BaseDistribution]:
    """What Optuna may change of a method's settings on a graph."""
    searched = searched_settings(type(experiment.method))
    predictors = searched.get("predictor")
    if isinstance(predictors, tuple) and not compares_nodes(as_features(loaded.data.x)):
        searched["predictor"] = tuple(name for name in predictors if name != "features")
    found = {
        name: _distribution(values, whole=isinstance(getattr(experiment.method, name), int))
        for name, values in searched.items()
        if name not in fixed
    }
    if not found:
        raise ConfigError("Every setting that could be searched is given. Leave some open.")
    return found


def _distribution(values: Searched, *, whole: bool) -> BaseDistribution:
    if isinstance(values, tuple):
        return CategoricalDistribution(values)
    if whole:
        return IntDistribution(int(values.low), int(values.high), step=int(values.step))
    return FloatDistribution(values.low, values.high, step=values.step)


def _readable(value: Any) -> Any:
    """Without what counting in steps leaves in the last digits."""
    return round(value, 9) if isinstance(value, float) else value


def _changed(experiment: Experiment, settings: dict[str, Any]) -> Experiment:
    method = dataclasses.replace(experiment.method, **settings)
    parts = {
        name: experiment.parts.get(name, default) for name, default in part_configs(method).items()
    }
    return dataclasses.replace(experiment, method=method, parts=parts)


def _val_scores(records: list[RunRecord]) -> tuple[float, ...]:
    return tuple(record.val_score for record in records if record.val_score is not None)


def _mean(trial: SearchTrial) -> float:
    assert trial.scores is not None, "only trials that were run are compared"
    return trial.scores.mean
