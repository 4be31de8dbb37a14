"""A race of candidates: short looks at all of them, more runs for the better ones.

All candidates get a look: one run with few epochs. Around the leaders, other shares of edges and
sums of predictors get one, too, and so does what builds upon them: stacks, a second round of
GAug-M, a student and a loss of consistency. Then the better half goes on with a full run each,
until a few finalists are left (successive halving). The best of many is best partly by luck, so
the finalists run again with new seeds, and these runs decide. The race ends when the time is up or
the choice is clear.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence

from gaug.choosing.candidates import (
    CANDIDATES,
    NONE,
    Candidate,
    built_upon,
    joined,
    unsuitable,
    variants,
)
from gaug.choosing.comparison import Comparison
from gaug.choosing.engine import NO_TIME, Shortened, TrialRunner
from gaug.choosing.race_time import Part, RaceTime
from gaug.choosing.run_scores import RunScores
from gaug.choosing.trial import Trial
from gaug.choosing.trial_training import look_training, trial_training
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.runs.executor import OnNote, OnProgress
from gaug.runs.plan import Plan
from gaug.training.task import Task

#: Candidates that run again with new seeds.
FINALISTS = 3
#: Runs of a finalist with new seeds, and more of them while the choice is not clear.
CONFIRMING, MORE = 5, 5
# With little time there may be fewer runs, down to these.
_LEAST_RUNS = 3
# Finalists are among so many that are ahead.
_FIELD = 2 * FINALISTS
# Share of the time after which each part of the race ends.
_LOOKS, _VARIANTS, _STACKS, _HALVING = 0.35, 0.5, 0.6, 0.7
# Candidates that take more than this share of all the time are begun one by one, if there is time
# left.
_LONG = 0.1
# Candidates around which others are tried.
_LEADERS = 2
# A gain less sure than this is not worth more runs.
_HOPELESS = 0.5


def race(
    plan: Plan,
    task: Task,
    runner: TrialRunner,
    *,
    time_budget: float = math.inf,
    candidates: Sequence[Candidate] = CANDIDATES,
    upon: Callable[[Candidate], list[Candidate]] = built_upon,
    on_progress: OnProgress | None = None,
    on_note: OnNote | None = None,
) -> Comparison:
    """Let candidates race, and compare them with no augmentation.

    Args:
        plan: Everything but the method.
        task: Its graph.
        runner: Runs the trials; its number of runs is that of a candidate before the final.
        time_budget: Seconds for all trials together.
        candidates: Candidates to begin with.
        upon: What builds upon a leader.
        on_progress: Called regularly with the finished share.
        on_note: Called with a few words about who leads.
    """
    clock = RaceTime(time_budget, on_progress)
    found = _Race(plan, task, runner, clock, upon, on_note)
    found.run(candidates)
    return found.comparison()


class _Race:
    """The state of a race.

    Attributes:
        plain: The trial of no augmentation.
        tried: Trials with at least one run, by name.
        left_out: Trials without one, by name.
    """

    def __init__(
        self,
        plan: Plan,
        task: Task,
        runner: TrialRunner,
        clock: RaceTime,
        upon: Callable[[Candidate], list[Candidate]],
        on_note: OnNote | None,
    ) -> None:
        self.plan = plan
        self.task = task
        self.runner = runner
        self.clock = clock
        self.upon = upon
        self.on_note = on_note or (lambda note: None)
        self.plain = NONE.trial(plan)
        self.tried: dict[str, Trial] = {}
        self.left_out: dict[str, Trial] = {}
        self.candidates: dict[str, Candidate] = {}
        self._known = {self.plain.key}
        self._look_seconds = 0.0
        self._epoch_seconds = 0.0  # with one pass, and without students
        self._full_runs: dict[str, list[float]] = {}  # seconds of each, by trial

    def run(self, candidates: Sequence[Candidate]) -> None:
        """All parts of the race, as far as the time allows."""
        look = look_training(self.plan.training)
        first = dataclasses.replace(self.plan, training=look)
        self.plain = self.runner.run_one(dataclasses.replace(self.plain, plan=first), runs=[0])
        self.plain = dataclasses.replace(self.plain, plan=NONE.trial(self.plan).plan)
        self._look_seconds = self.plain.seconds
        passes = look.max_epochs(look.epochs) * max(1, look.consistency_passes)
        self._epoch_seconds = self._look_seconds / passes
        self._look(candidates, (0.0, _LOOKS))
        self._look(self._around_leaders(), (_LOOKS, _VARIANTS))
        self._look(self._upon_leaders(), (_VARIANTS, _STACKS))
        self._halve((_STACKS, _HALVING))
        self._confirm((_HALVING, 1.0))
        self.clock.tell((0.0, 1.0), 1.0)

    def comparison(self) -> Comparison:
        """What was found so far."""
        found = {**self.left_out, **self.tried}
        others = [found[name] for name in self.candidates if name in found]
        return Comparison(self.plain, others, self.runner.resampling)

    def _look(self, candidates: Iterable[Candidate], part: Part) -> None:
        """One run with few epochs of each candidate, those that take least first."""
        asked: list[Trial] = []
        for candidate in candidates:
            trial = candidate.trial(self.plan)
            if trial.key in self._known:
                continue
            self._known.add(trial.key)
            self.candidates[trial.name] = candidate
            reason = unsuitable(candidate, self.task) or self._too_long(trial, part)
            if reason is None:
                asked.append(trial)
            else:
                self._leave_out(trial, reason)
        asked.sort(key=self._least_seconds)
        long = _LONG * self.clock.budget
        short = [one for one in asked if self._least_seconds(one) <= long]
        self._run(short, [0], part, look_training)
        for trial in [one for one in asked if self._least_seconds(one) > long]:
            reason = self._too_long(trial, part)
            if reason is None:
                self._run([trial], [0], part, look_training)
            else:
                self._leave_out(trial, reason)

    def _leave_out(self, trial: Trial, reason: str) -> None:
        self.left_out[trial.name] = dataclasses.replace(trial, failure=reason)

    def _leaders(self) -> list[Candidate]:
        """The best that others can be built from: those with an edge predictor."""
        ranked = [self.candidates[trial.name] for trial in self._ranked()]
        return [one for one in ranked if isinstance(one.config, GAugMConfig)][:_LEADERS]

    def _upon_leaders(self) -> list[Candidate]:
        """What builds upon the best, in turn.

        What may be added to the training is added only where it gained something alone.
        """
        best = [self.candidates[trial.name] for trial in self._ranked()[:_LEADERS]]
        leaders = dict.fromkeys([*best, *self._leaders()])
        upon = itertools.zip_longest(*map(self.upon, leaders))
        proposed = [candidate for alike in upon for candidate in alike if candidate is not None]
        return [one for one in proposed if all(map(self._gained, one.added_alone))]

    def _gained(self, candidate: Candidate) -> bool:
        trial = self.tried.get(str(candidate))
        return trial is not None and self._merit(trial) > 0

    def _around_leaders(self) -> list[Candidate]:
        """The sum of the two best predictors, and other shares of edges for each."""
        leaders = self._leaders()
        around = joined(*leaders) if len(leaders) == _LEADERS else []
        return [*around, *(variant for leader in leaders for variant in variants(leader))]

    def _halve(self, part: Part) -> None:
        """Another run for the better half, until the runs before the final are used up."""
        begin, end = part
        heats = self.runner.runs - 1
        number = len(self.tried)
        for heat in range(heats):
            number = max(FINALISTS, math.ceil(number / 2))
            share = begin + (end - begin) * heat / heats
            self._run(self._ranked()[:number], [heat + 1], (share, end))

    def _confirm(self, part: Part) -> None:
        """Runs with new seeds of those that are ahead; they decide."""
        field, runs = self._finalists()
        if not field:
            return
        begin, end = max(part[0], self.clock.over()), part[1]
        middle, first = (begin + end) / 2, self.runner.runs
        again = [trial.begun_again() for trial in field]
        again = self._run(again, range(first, first + runs), (begin, middle), until=end)
        if self._is_open():
            more = range(first + runs, first + CONFIRMING + MORE)
            self._run([trial for trial in again if trial.counts], more, (middle, end))

    def _finalists(self) -> tuple[list[Trial], int]:
        """Those that run again, and how often: what the time left is enough for.

        One that is ahead but takes too long would decide nothing, and gives way to the next.
        """
        ahead = [trial for trial in self._ranked() if self._merit(trial) > 0][:_FIELD]
        for place, leader in enumerate(ahead):
            for runs in range(CONFIRMING, _LEAST_RUNS - 1, -1):
                field = self._fitting(ahead[place:], runs)
                if leader in field:
                    return field, runs
        return sorted(ahead, key=self._seconds_of_run)[:1], CONFIRMING

    def _fitting(self, trials: Sequence[Trial], runs: int) -> list[Trial]:
        """The first of them for whose runs there is time, beside those of no augmentation."""
        field: list[Trial] = []
        for trial in trials:
            each = [self._seconds_of_run(one) for one in [self.plain, *field, trial]]
            if len(field) < FINALISTS and self.clock.fits(runs * sum(each), max(each)):
                field.append(trial)
        return field

    def _seconds_of_run(self, trial: Trial) -> float:
        """What a full run takes: what those so far took, or else as much longer than a look as
        those of no augmentation, or as the epochs are more.
        """
        if trial.name in self._full_runs:
            return statistics.fmean(self._full_runs[trial.name])
        if self.plain.name in self._full_runs:
            return trial.seconds * self._seconds_of_run(self.plain) / max(self._look_seconds, 1e-9)
        training = self.plan.training
        return trial.seconds * training.epochs / look_training(training).epochs

    def _is_open(self) -> bool:
        """Whether more runs could make the choice clear."""
        found = self.comparison()
        best = None if found.best is found.plain else found.gain_of(found.best)
        return not found.helps and best is not None and best.confidence > _HOPELESS

    def _run(
        self,
        trials: Sequence[Trial],
        runs: Sequence[int],
        part: Part,
        shortened: Shortened = trial_training,
        until: float | None = None,
    ) -> list[Trial]:
        """Run trials and no augmentation; none begins after the end of the part, or later."""
        if not trials:
            return []
        runner = dataclasses.replace(
            self.runner, deadline=self.clock.at(1.0), last_start=self.clock.at(until or part[1])
        )
        asked = [self.plain, *trials]
        total = len(asked) * len(runs)
        reused = sum(record.seconds for record in runner.records(asked, runs, shortened))
        begun = time.monotonic()
        self.plain, *done = runner.run_more(
            asked, runs, lambda runs: self.clock.tell(part, runs / total), shortened
        )
        worked = 0.0
        for before, after in zip(asked, [self.plain, *done], strict=True):
            new = after.num_runs - before.num_runs
            worked += after.seconds - before.seconds
            if new and shortened is not look_training:
                each = (after.seconds - before.seconds) / new
                self._full_runs.setdefault(after.name, []).extend([each] * new)
        self.clock.learn(worked, time.monotonic() - begun + reused)
        for trial in done:
            self._note(trial)
        self._tell_leader()
        return done

    def _note(self, trial: Trial) -> None:
        """Keep a trial; one that says nothing with new seeds stays as it was before."""
        before = self.tried.get(trial.name)
        if trial.counts and self._ahead(trial).runs:
            self.tried[trial.name] = trial
        elif before is not None:
            reason = trial.failure or self.plain.failure or NO_TIME
            self.tried[trial.name] = dataclasses.replace(before, failure=reason)
        else:
            self.left_out[trial.name] = trial

    def _ranked(self) -> list[Trial]:
        """What was tried, best first; of equal ones, what was proposed first."""
        proposed = [self.tried[name] for name in self.candidates if name in self.tried]
        return sorted(proposed, key=self._merit, reverse=True)

    def _merit(self, trial: Trial) -> float:
        """How far it is above no augmentation in the runs that both have, by merit."""
        ahead = self._ahead(trial)
        return ahead.merit if ahead.runs else -math.inf

    def _ahead(self, trial: Trial) -> RunScores:
        """The difference to no augmentation in the runs that both have."""
        assert self.plain.outcomes is not None
        assert trial.outcomes is not None
        return trial.outcomes.minus(self.plain.outcomes)

    def _too_long(self, trial: Trial, part: Part) -> str | None:
        """Why there is no time for a trial."""
        left = self.clock.left(part[1])
        if left <= 0:
            return "no time was left"
        if self._least_seconds(trial) > left:
            return "it would take longer than the time left"
        return None

    def _least_seconds(self, trial: Trial) -> float:
        candidate = self.candidates[trial.name]
        training = look_training(trial.plan.training)
        return candidate.least_seconds(self.task.adjacency.num_nodes, training, self._epoch_seconds)

    def _tell_leader(self) -> None:
        ranked = self._ranked()
        if not ranked:
            return
        if self._merit(ranked[0]) <= 0:
            self.on_note("no augmentation leads")
            return
        points = self._ahead(ranked[0]).mean
        by = f"{points:.1f} points" if points > 0 else "how probable the right classes are"
        self.on_note(f"{ranked[0]} leads by {by}")
