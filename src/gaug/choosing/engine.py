"""Run trials of any proposer: recorded, on workers, with test labels hidden."""

from __future__ import annotations

import dataclasses
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gaug.choosing.limits import TRIAL_RUNS
from gaug.choosing.scores import ValidationScores
from gaug.choosing.trial import Trial
from gaug.errors import ConfigError, DataError, GaugError
from gaug.runs.execute import execute_all
from gaug.runs.execution import Request
from gaug.runs.executor import Executor
from gaug.runs.graphs import Graphs
from gaug.runs.record import RunRecord
from gaug.runs.store import Store

#: Called with the number of finished trials, including fractions of running ones.
OnTrial = Callable[[float], None]


class Proposer(ABC):
    """Decides which settings to try next."""

    #: Whether a trial may be pruned after its first run.
    prunes: bool = False

    @abstractmethod
    def propose(self) -> list[Trial]:
        """The trials to run next, in parallel; none when the search is finished."""

    def is_hopeless(self, trial: Trial, score: float) -> bool:
        """Whether to prune a trial by the validation score of its first run."""
        return False

    def learn(self, trial: Trial) -> None:  # noqa: B027 – for those that learn
        """Store a trial that was finished, was pruned, or failed."""

    def release(self, trial: Trial) -> None:  # noqa: B027 – for those that keep count
        """Give back a trial that was proposed but not finished."""


@dataclass(frozen=True)
class TrialRunner:
    """Runs trials.

    Attributes:
        graphs: Where graphs come from.
        runs: Runs of each trial.
        executor: Where to run; by default in this process.
        store: Where runs are recorded and reused from.
        deadline: When to stop, in terms of `time.monotonic`.
    """

    graphs: Graphs
    runs: int = TRIAL_RUNS
    executor: Executor | None = None
    store: Store | None = None
    deadline: float = math.inf

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ConfigError(f"trial_runs must be at least 1, got {self.runs}.")

    def run_one(self, trial: Trial, on_trial: OnTrial | None = None) -> Trial:
        """Run a single trial regardless of the deadline; its errors are raised."""
        batch = _Batch([trial])
        dataclasses.replace(self, deadline=math.inf)._run(
            batch, [trial], range(self.runs), on_trial
        )
        error = batch.errors.get(id(trial))
        if error is not None:
            raise error
        return self._closed(batch, trial)

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

    def _run_batch(self, proposer: Proposer, batch: _Batch, tell: OnTrial) -> bool:
        """Run the trials of a batch, and return whether there was enough time."""
        proposed = batch.trials
        first = range(1) if proposer.prunes else range(self.runs)
        if not self._run(batch, proposed, first, tell):
            return False
        if len(first) == self.runs:
            return True
        going_on = []
        for trial in proposed:
            records = batch.records[id(trial)]
            if not records:
                continue  # it failed
            score = records[0].val_score
            assert score is not None, "there are validation nodes"
            if proposer.is_hopeless(trial, score):
                batch.pruned.add(id(trial))
            else:
                going_on.append(trial)
        return self._run(batch, going_on, range(1, self.runs), tell)

    def _run(
        self, batch: _Batch, trials: Sequence[Trial], runs: range, tell: OnTrial | None
    ) -> bool:
        before = batch.share(self.runs)

        def watch(done: float) -> None:
            if tell is not None:
                tell(before + done / self.runs)
            if time.monotonic() > self.deadline and done < len(requests) * len(runs):
                raise _OutOfTimeError

        # A sampler may propose the same settings twice; they are run once.
        alike: dict[str, list[Trial]] = {}
        for trial in trials:
            alike.setdefault(repr(trial.plan.config), []).append(trial)
        requests = [Request(same[0].plan, runs) for same in alike.values()]
        results = execute_all(
            requests,
            executor=self.executor,
            store=self.store,
            graphs=self.graphs,
            hide_test=True,
            on_progress=watch,
        )
        try:
            for request, result in results:
                for trial in alike[repr(request.plan.config)]:
                    if isinstance(result, GaugError):
                        batch.errors.setdefault(id(trial), result)
                    else:
                        batch.records[id(trial)].append(result)
        except _OutOfTimeError:
            return False
        finally:
            results.close()
        return True

    def _closed(self, batch: _Batch, trial: Trial) -> Trial:
        """A trial with the result of its runs."""
        records = sorted(batch.records[id(trial)], key=lambda record: record.run)
        error = batch.errors.get(id(trial))
        seconds = sum(record.seconds for record in records)
        pruned = id(trial) in batch.pruned
        if error is not None:
            return dataclasses.replace(trial, seconds=seconds, failure=str(error))
        if len(records) < self.runs and not pruned:
            reason = "the time was up before it finished"
            return dataclasses.replace(trial, seconds=seconds, failure=reason)
        values = tuple(record.val_score for record in records if record.val_score is not None)
        num_nodes = self.graphs.split(trial.plan).val.numel()
        scores = ValidationScores(values, num_nodes)
        return dataclasses.replace(trial, scores=scores, seconds=seconds, pruned=pruned)


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
