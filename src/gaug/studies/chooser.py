"""How the settings of a cell are chosen: they are given, or found on validation nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gaug.choosing.engine import TrialRunner
from gaug.choosing.grid import Stage, StagedGrid, count_trials
from gaug.runs.plan import Plan

#: Called with the share of the choosing that is done.
OnShare = Callable[[float], None]


@dataclass(frozen=True)
class Chosen:
    """Settings that were chosen for a cell.

    Attributes:
        settings: The settings that were open.
        trials: Number of settings among which they were chosen; 0 without a choice.
        method: The method, if that was open, too.
        facts: How sure the choice is, and other numbers to show.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    trials: int = 0
    method: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def applied_to(self, plan: Plan) -> Plan:
        """A plan with these settings."""
        if self.method is not None:
            plan = plan.with_method(self.method)
        return plan.with_settings([f"{name}={value}" for name, value in self.settings.items()])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Effort:
    """What some work takes, one run after the other.

    Attributes:
        runs: Number of runs; 0 if the work is limited by time instead.
        seconds: Their time.
    """

    runs: int = 0
    seconds: float = 0.0


class Chooser(ABC):
    """Chooses the settings of a cell; test labels are hidden from it.

    Attributes:
        source: Where the settings come from, in a word.
    """

    source: str

    @abstractmethod
    def effort(self, seconds: float, trial_runs: int) -> Effort:
        """What choosing takes at most.

        Args:
            seconds: What a run takes.
            trial_runs: Runs of each setting that is tried.
        """

    @abstractmethod
    def choose(self, plan: Plan, runner: TrialRunner, on_share: OnShare) -> Chosen | None:
        """Choose, or take what was chosen before from the store; None if there is no time.

        Args:
            plan: Everything that is settled.
            runner: Runs trials, and knows the store and the deadline.
            on_share: Called regularly with the finished share.
        """


@dataclass(frozen=True)
class Given(Chooser):
    """The plan of the cell has its settings already.

    Attributes:
        source: Where they come from: ``default``, ``published`` or ``preset``.
        trials: Number of settings among which a preset was chosen.
    """

    source: str = "default"
    trials: int = 0

    def effort(self, seconds: float, trial_runs: int) -> Effort:
        """Nothing."""
        return Effort()

    def choose(self, plan: Plan, runner: TrialRunner, on_share: OnShare) -> Chosen:
        """No setting is open."""
        return self.chosen

    @property
    def chosen(self) -> Chosen:
        """No settings, and how many were tried before."""
        return Chosen(trials=self.trials)


@dataclass(frozen=True)
class Grid(Chooser):
    """A small grid, searched stage by stage; its trials on record make it resumable.

    Attributes:
        stages: The stages of the search.
    """

    stages: Sequence[Stage]
    source = "search"

    def effort(self, seconds: float, trial_runs: int) -> Effort:
        """The runs of all trials."""
        runs = count_trials(self.stages) * trial_runs
        return Effort(runs, runs * seconds)

    def choose(self, plan: Plan, runner: TrialRunner, on_share: OnShare) -> Chosen | None:
        """The best settings of the last stage."""
        grid, total = StagedGrid(plan, self.stages), count_trials(self.stages)
        proposed = runner.run_all(grid, lambda done: on_share(done / total))
        if len(proposed) > len(grid.trials):
            return None  # some were given back: the time was up
        return Chosen(grid.chosen, len(grid.trials))

    @property
    def settings(self) -> set[str]:
        """The names of the settings that it decides."""
        return {
            name for stage in self.stages for part in (stage.values, *stage.over) for name in part
        }
