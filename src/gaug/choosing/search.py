"""Tune the settings of a method with Optuna, on validation nodes."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gaug.choosing.candidates import NONE
from gaug.choosing.comparison import Comparison
from gaug.choosing.engine import (
    OnTrial,
    TrialRunner,
    check_validation,
    resampling_of,
)
from gaug.choosing.finalists import Finalists, best_trials, with_finalists
from gaug.choosing.limits import (
    CONCURRENT_TRIALS,
    SEARCH_FINALISTS,
    TRIAL_RUNS,
    TRIALS,
    check_search,
)
from gaug.choosing.optuna_study import OptunaStudy
from gaug.choosing.search_space import search_space, study_name
from gaug.choosing.shared_trials import SharedTrials
from gaug.choosing.trial import Trial, distinct
from gaug.data.config import SplitConfig
from gaug.errors import TrainingError
from gaug.methods.spec import MethodLike
from gaug.models.spec import Model
from gaug.runs.executor import Executor
from gaug.runs.executors import choose_executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import GraphLike, Plan
from gaug.runs.store import Store
from gaug.training.config import TrainingConfig

# How often to look whether other processes have finished their trials.
_SECONDS_BETWEEN_LOOKS = 0.5
# Share of a limited time after which the finalists run.
_TRYING = 0.7


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Attributes:
        comparison: All trials, compared with no augmentation.
        importances: Importance of each setting for the score, adding up to 1.
        study: Name of the Optuna study.
    """

    comparison: Comparison
    importances: dict[str, float]
    study: str

    @property
    def best(self) -> Trial:
        """The trial with the best settings."""
        best = self.comparison.best_change
        assert best is not None, "a search without one raises"
        return best

    @property
    def plan(self) -> Plan:
        """The plan with the best settings."""
        return self.best.plan

    @property
    def trials(self) -> list[Trial]:
        """All trials, in the order of their proposals."""
        return self.comparison.others

    def ranked(self) -> list[Trial]:
        """The distinct settings of finished trials: those with new seeds first, best first."""
        return distinct(self.comparison.ranked())

    def __str__(self) -> str:
        lines = [f"{trial.scores}  {trial}" for trial in self.ranked()]
        lines.append(f"{self.comparison.plain_beside(self.best)}  no augmentation")
        return "\n".join([*lines, self.comparison.verdict()])


def search(
    graph: GraphLike,
    method: MethodLike = "gaug-m",
    *,
    model: Model | None = None,
    trials: int = TRIALS,
    trial_runs: int = TRIAL_RUNS,
    finalists: int = SEARCH_FINALISTS,
    concurrent_trials: int = CONCURRENT_TRIALS,
    timeout: float | None = None,
    fixed: Collection[str] = (),
    training: TrainingConfig | None = None,
    split: str | None = None,
    split_config: SplitConfig | None = None,
    seed: int | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    threads: int = 1,
    device: str | None = None,
    store: Store | None = None,
    on_trial: OnTrial | None = None,
    **settings: Any,
) -> SearchResult:
    """Tune the settings of a method on validation nodes, by score and probability.

    The first trial uses the given settings; Optuna proposes the others. They are ranked by the mean
    of the score and of how probable the right classes are (`gaug.choosing.run_scores`). Labels of
    test nodes are not used. With a store, runs and the study are saved: an interrupted search can
    be resumed, and several processes can share it.

    Args:
        graph: A `Data`, an opened graph, or anything that `gaug.open_graph` takes.
        method: The method to tune.
        model: The classifier; by default the method's.
        trials: Number of trials.
        trial_runs: Runs of each trial; poor trials are pruned after the first.
        finalists: The best trials run again, as often, with new seeds, and these runs decide;
            0 for none.
        concurrent_trials: Trials proposed together, which run side by side. More of them use more
            workers, and each knows the results of fewer others.
        timeout: Seconds for the trials and the finalists together; None for no limit.
        fixed: Settings that are not searched, besides those given.
        training: Settings of training; by default the method's.
        split: The kind of split or a path; None for the graph's default.
        split_config: Fractions, counts and seed of a drawn split.
        seed: Seed of all randomness.
        workers: Number of worker processes at most, one by default; on a cluster, of runs at a
            time. The result does not depend on it.
        cluster: Address of a Ray cluster to run on: ``auto``, ``host:port`` or
            ``ray://host:port``.
        threads: Threads per run.
        device: Where to compute; by default where the graph is.
        store: Where runs and the study are saved.
        on_trial: Called regularly with the number of finished trials.
        settings: Individual settings by name, which are not searched.

    Example:
        >>> from gaug import load_graph, search
        >>> found = search(load_graph("karate"), "dropedge", trials=2, trial_runs=1, epochs=3)
        >>> len(found.trials), found.trials[0].settings
        (2, {'drop_fraction': 0.5})
    """
    plan = Plan.of(
        graph,
        model=model,
        method=method,
        settings=settings,
        training=training,
        split=split,
        split_config=split_config,
        seed=seed,
        threads=threads,
        device=device,
    )
    graphs = Graphs()
    with choose_executor(workers, cluster, plans=[plan], graphs=graphs) as executor:
        return search_settings(
            plan,
            graphs=graphs,
            trials=trials,
            trial_runs=trial_runs,
            finalists=finalists,
            concurrent_trials=concurrent_trials,
            timeout=timeout,
            fixed={*fixed, *settings},
            executor=executor,
            store=store,
            on_trial=on_trial,
        )


def search_settings(
    plan: Plan,
    *,
    trials: int = TRIALS,
    trial_runs: int = TRIAL_RUNS,
    finalists: int = SEARCH_FINALISTS,
    concurrent_trials: int = CONCURRENT_TRIALS,
    timeout: float | None = None,
    fixed: Collection[str] = (),
    graphs: Graphs | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    on_trial: OnTrial | None = None,
) -> SearchResult:
    """`search` for a plan.

    Args:
        plan: Everything but the searched settings.
        trials: Number of trials.
        trial_runs: Runs of each trial.
        finalists: Number of the best trials that run again with new seeds.
        concurrent_trials: Number of trials proposed together.
        timeout: Seconds for the trials and the finalists together; None for no limit.
        fixed: Settings that are not searched.
        graphs: Graphs that are already loaded.
        executor: Where to run; by default in this process.
        store: Where runs and the study are saved.
        on_trial: Called regularly with the number of finished trials.
    """
    check_search(plan.method.config, trials, trial_runs, timeout, finalists, concurrent_trials)
    graphs = graphs or Graphs()
    plain = NONE.trial(plan)
    check_validation(graphs, plain)
    placed = graphs.place(plan)
    space = search_space(placed, fixed)
    begun, seconds = time.monotonic(), math.inf if timeout is None else timeout
    resampling = resampling_of(graphs, plan, final=trial_runs)
    final_runner = TrialRunner(
        graphs, trial_runs, executor, store, begun + seconds, resampling=resampling
    )
    tried_by = begun + seconds * (_TRYING if finalists else 1.0)
    runner = dataclasses.replace(final_runner, deadline=tried_by)
    plain = runner.run_one(plain)
    drawn = resampling is not None
    name = study_name(placed, space, trial_runs, concurrent_trials, drawn=drawn)
    study = OptunaStudy(
        plan, space, trials=trials, name=name, store=store, concurrent=concurrent_trials
    )
    with contextlib.closing(study):
        before = len(study.results())
        tell = None if on_trial is None else lambda done: on_trial(before + done)
        _run_shared(runner, study, tell)
        tried = _with_outcomes(runner, study.results(), store)
        importances = study.importances()
        best = best_trials(tried, finalists)
        if best:
            plain = _extended(final_runner, plain)
            final = Finalists(study, best, store)
            with contextlib.closing(final):
                _run_shared(final_runner, final)
                again = _with_outcomes(runner, final.results(), store)
                tried = with_finalists(tried, again, plain)
    comparison = Comparison(plain, tried, resampling, by_merit=True)
    if comparison.best_change is None:
        reasons = [trial.failure for trial in comparison.left_out]
        raise TrainingError(f"No trial could be run: {(reasons or ['there was no time'])[-1]}")
    return SearchResult(comparison, importances, name)


def _run_shared(runner: TrialRunner, shared: SharedTrials, tell: OnTrial | None = None) -> None:
    """Run trials, and wait for those that other processes are running."""
    runner.run_all(shared, tell)
    while shared.waits_for_others and time.monotonic() < runner.deadline:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        runner.run_all(shared, tell)  # what another process has left behind


def _with_outcomes(runner: TrialRunner, trials: list[Trial], store: Store | None) -> list[Trial]:
    """Trials with the scores of their nodes; those of earlier or other processes are on record."""
    if store is None:
        return trials
    found = []
    for trial in trials:
        if trial.scores is not None and trial.outcomes is None:
            begin = runner.runs if trial.confirmed else 0
            runs = range(begin, begin + len(trial.scores.values))
            on_record = dataclasses.replace(trial, scores=None, seconds=0.0)
            trial = runner.run_one(on_record, runs=runs)
        found.append(trial)
    return found


def _extended(runner: TrialRunner, plain: Trial) -> Trial:
    """No augmentation with new seeds, too; none begins after half of the time that is left."""
    runs = range(2 * runner.runs)
    plain = runner.take_over(plain, runs)
    now = time.monotonic()
    in_time = dataclasses.replace(runner, last_start=now + (runner.deadline - now) / 2)
    (extended,) = in_time.run_more([plain], runs)
    return extended
