"""Run trials of any proposer: recorded, on workers, with test labels hidden."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gaug.choosing.limits import TRIAL_RUNS
from gaug.choosing.proposer import Proposer
from gaug.choosing.resampling import Resampling
from gaug.choosing.run_scores import RunScores
from gaug.choosing.trial import Trial
from gaug.errors import ConfigError, DataError, GaugError
from gaug.runs.execute import execute_all
from gaug.runs.execution import Request, comparable_records
from gaug.runs.executor import Executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.predictions import unpack_predictions, unpack_probabilities
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.training.config import TrainingConfig
from gaug.training.metrics import node_scores

#: Why a trial has no result, or not all of its runs.
NO_TIME = "the time was up before it finished"

#: Called with the number of finished trials, including fractions of running ones.
OnTrial = Callable[[float], None]
#: How to train instead of what a plan says.
Shortened = Callable[[TrainingConfig], TrainingConfig]


@dataclass(frozen=True)
class TrialRunner:
    """Runs trials.

    Attributes:
        graphs: Where graphs come from.
        runs: Runs of each trial.
        executor: Where to run; by default in this process.
        store: Where runs are recorded and reused from.
        deadline: When to stop, in terms of `time.monotonic`.
        last_start: When the last run may begin; those that are running then go on.
        resampling: Draws the training and validation nodes of each run; None: those of the plan.
    """

    graphs: Graphs
    runs: int = TRIAL_RUNS
    executor: Executor | None = None
    store: Store | None = None
    deadline: float = math.inf
    last_start: float = math.inf
    resampling: Resampling | None = None

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ConfigError(f"trial_runs must be at least 1, got {self.runs}.")

    def run_one(
        self,
        trial: Trial,
        on_trial: OnTrial | None = None,
        runs: Sequence[int] | None = None,
    ) -> Trial:
        """Run a single trial regardless of the deadline; its errors are raised.

        Args:
            trial: The trial.
            on_trial: Called regularly with the finished share.
            runs: Numbers of its runs; by default all.
        """
        batch = _Batch([trial])
        dataclasses.replace(self, deadline=math.inf)._run(
            batch, [trial], range(self.runs) if runs is None else runs, on_trial
        )
        error = batch.errors.get(id(trial))
        if error is not None:
            raise error
        return self._extended(batch, trial)

    def take_over(self, trial: Trial, runs: Sequence[int]) -> Trial:
        """Add those runs to a trial that are on record, whatever the time.

        Args:
            trial: The trial.
            runs: Numbers of the runs.
        """
        found = sorted(record.run for record in self.records([trial], runs))
        return self.run_one(trial, runs=found) if found else trial

    def records(
        self, trials: Sequence[Trial], runs: Sequence[int], shortened: Shortened | None = None
    ) -> list[RunRecord]:
        """Records of runs that trials do not have yet, and that need not be done again.

        Args:
            trials: The trials.
            runs: Numbers of the runs.
            shortened: How to train instead of what the plans say.
        """
        found: list[RunRecord] = []
        if self.store is None:
            return found
        for request in (one for trial in trials for one in self._requests(trial, runs, shortened)):
            with contextlib.suppress(GaugError):  # it cannot be run, either
                placed = self.graphs.place(request.plan)
                found += comparable_records(self.store, placed, request.runs)
        return found

    def run_all(self, proposer: Proposer, on_trial: OnTrial | None = None) -> list[Trial]:
        """Run all proposed trials, and return them in the order of the proposals."""
        done: list[Trial] = []

        def tell(share: float) -> None:
            if on_trial is not None:
                on_trial(len(done) + share)

        while proposed := proposer.propose():
            batch = _Batch(proposed)
            try:
                in_time = self._run_batch(proposer, batch, tell)
            except BaseException:
                for trial in proposed:
                    proposer.release(trial)
                raise
            for trial in proposed:
                closed = self._closed(batch, trial)
                done.append(closed)
                if closed.scores is None and batch.errors.get(id(trial)) is None:
                    proposer.release(closed)
                else:
                    proposer.learn(closed)
            tell(0.0)
            if not in_time:
                break
        return done

    def run_more(
        self,
        trials: Sequence[Trial],
        runs: Sequence[int],
        on_runs: OnTrial | None = None,
        shortened: Shortened | None = None,
    ) -> list[Trial]:
        """Add runs to trials; those that fail or are not finished in time are left out.

        All trials get the first run before one gets the second, so that they can be compared
        whenever the time is up.

        Args:
            trials: The trials, which may have some of the runs already.
            runs: Numbers of the runs.
            on_runs: Called regularly with the number of finished runs.
            shortened: How to train instead of what the plans say.
        """
        batch = _Batch(list(trials))
        tell = None if on_runs is None else lambda done: on_runs(done * self.runs)
        self._run(batch, trials, runs, tell, shortened, by_run=True)
        return [self._extended(batch, trial) for trial in trials]

    def _run_batch(self, proposer: Proposer, batch: _Batch, tell: OnTrial) -> bool:
        """Run the trials of a batch, and return whether there was enough time."""
        proposed = batch.trials
        begin = self.runs if proposer.confirms else 0
        numbers = range(begin, begin + self.runs)
        first = numbers[:1] if proposer.prunes else numbers
        if not self._run(batch, proposed, first, tell):
            return False
        if first == numbers:
            return True
        going_on = []
        for trial in proposed:
            records = batch.records[id(trial)]
            if not records:
                continue  # it failed
            if proposer.is_hopeless(trial, self._outcomes(trial.plan, records).merit):
                batch.pruned.add(id(trial))
            else:
                going_on.append(trial)
        return self._run(batch, going_on, numbers[1:], tell)

    def _run(
        self,
        batch: _Batch,
        trials: Sequence[Trial],
        runs: Sequence[int],
        tell: OnTrial | None,
        shortened: Shortened | None = None,
        *,
        by_run: bool = False,
    ) -> bool:
        before = batch.share(self.runs)

        def watch(done: float) -> None:
            if tell is not None:
                tell(before + done / self.runs)
            if time.monotonic() > self.deadline and done < len(alike) * len(runs):
                raise _OutOfTimeError

        # A sampler may propose the same settings twice; they are run once.
        alike: dict[str, list[Trial]] = {}
        for trial in trials:
            alike.setdefault(trial.key, []).append(trial)
        parts = [[run] for run in runs] if by_run else [runs]
        asked = {
            id(request): (request, same)
            for part in parts
            for same in alike.values()
            for request in self._requests(same[0], part, shortened)
        }
        in_time = itertools.takewhile(
            lambda _: time.monotonic() <= self.last_start,
            (request for request, _ in asked.values()),
        )
        results = execute_all(
            in_time,
            executor=self.executor,
            store=self.store,
            graphs=self.graphs,
            hide_test=True,
            on_progress=watch,
        )
        try:
            for request, result in results:
                for trial in asked[id(request)][1]:
                    if isinstance(result, GaugError):
                        batch.errors.setdefault(id(trial), result)
                    else:
                        batch.records[id(trial)].append(result)
        except _OutOfTimeError:
            return False
        finally:
            results.close()
        return True

    def _requests(
        self, trial: Trial, runs: Sequence[int], shortened: Shortened | None = None
    ) -> list[Request]:
        plan = trial.plan
        if shortened is not None:
            plan = dataclasses.replace(plan, training=shortened(plan.training))
        done = () if trial.outcomes is None else trial.outcomes.runs
        missing = [run for run in runs if run not in done]
        if self.resampling is None:
            return [Request(plan, missing)] if missing else []
        return [Request(self.resampling.plan_of(plan, run), [run]) for run in missing]

    def _closed(self, batch: _Batch, trial: Trial) -> Trial:
        """A trial with the result of all its runs."""
        error = batch.errors.get(id(trial))
        records = batch.records[id(trial)]
        pruned = id(trial) in batch.pruned
        if error is None and (pruned or len(records) == self.runs):
            return dataclasses.replace(self._with_runs(trial, records), pruned=pruned)
        seconds = sum(record.seconds for record in records)
        return dataclasses.replace(trial, seconds=seconds, failure=str(error or NO_TIME))

    def _extended(self, batch: _Batch, trial: Trial) -> Trial:
        """A trial with as many more runs as were finished, and why others were not."""
        error = batch.errors.get(id(trial))
        records = batch.records[id(trial)]
        extended = self._with_runs(trial, records) if records else trial
        if error is not None:
            return dataclasses.replace(extended, failure=str(error))
        if extended.outcomes is None:
            return dataclasses.replace(extended, failure=NO_TIME)
        return extended

    def _with_runs(self, trial: Trial, records: Sequence[RunRecord]) -> Trial:
        records = sorted(records, key=lambda record: record.run)
        seconds = sum(record.seconds for record in records)
        return trial.with_runs(self._outcomes(trial.plan, records), seconds)

    def _outcomes(self, plan: Plan, records: Sequence[RunRecord]) -> RunScores:
        """The scores of the validation nodes in each run."""
        labels = self.graphs.place(plan).task.labels.cpu()
        rows, probable = [], []
        for record in records:
            assert record.val_predictions is not None, "runs of trials keep them"
            val = self._val(plan, record.run)
            scores = node_scores(unpack_predictions(record.val_predictions), labels[val])
            rows.append(self._row(val, scores))
            if record.val_probabilities is not None:
                probable.append(self._row(val, unpack_probabilities(record.val_probabilities)))
        return RunScores(
            tuple(record.run for record in records),
            tuple(record.val_score for record in records if record.val_score is not None),
            np.stack(rows),
            np.stack(probable) if len(probable) == len(rows) else None,
        )

    def _val(self, plan: Plan, run: int) -> Tensor:
        """The validation nodes of a run."""
        if self.resampling is None:
            return self.graphs.split(plan).val
        return self.resampling.split_of(run).val

    def _row(self, val: Tensor, values: Tensor) -> NDArray[np.float64]:
        """Values of validation nodes in the place of these nodes among all that may validate."""
        if self.resampling is None:
            return values.numpy()
        nodes = self.resampling.nodes
        row = np.full(len(nodes), np.nan)
        row[np.searchsorted(nodes.numpy(), val.numpy())] = values
        return row


def resampling_of(graphs: Graphs, plan: Plan, final: int) -> Resampling | None:
    """How the runs of a comparison draw their nodes; None if all have those of the plan.

    Args:
        graphs: Where the graph comes from.
        plan: The plan.
        final: The first of the final runs.
    """
    labels = graphs.place(plan).task.labels.cpu()
    return Resampling.of(graphs.split(plan), labels, plan.seed, final)


def check_validation(graphs: Graphs, trial: Trial) -> None:
    """Raise if there are no validation nodes to compare on."""
    if graphs.split(trial.plan).val.numel() == 0:
        raise DataError("Methods are compared on validation nodes, and this graph has none.")


class _Batch:
    """Results so far of trials that run in parallel, by their ids."""

    def __init__(self, trials: list[Trial]) -> None:
        self.trials = trials
        self.records: dict[int, list[RunRecord]] = {id(trial): [] for trial in trials}
        self.errors: dict[int, GaugError] = {}
        self.pruned: set[int] = set()

    def share(self, runs: int) -> float:
        """The finished runs as a number of trials."""
        return sum(map(len, self.records.values())) / runs


class _OutOfTimeError(Exception):
    pass
