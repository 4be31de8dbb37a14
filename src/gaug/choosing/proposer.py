"""What decides which trials to run next."""

from __future__ import annotations

from abc import ABC, abstractmethod

from gaug.choosing.trial import Trial


class Proposer(ABC):
    """Decides which settings to try next."""

    #: Whether a trial may be pruned after its first run.
    prunes: bool = False
    #: Whether its trials run with new seeds: the numbers that follow those of other trials.
    confirms: bool = False

    @abstractmethod
    def propose(self) -> list[Trial]:
        """The trials to run next, in parallel; none when the search is finished."""

    def is_hopeless(self, trial: Trial, merit: float) -> bool:
        """Whether to prune a trial by the merit of its first run."""
        return False

    def learn(self, trial: Trial) -> None:  # noqa: B027 – for those that learn
        """Store a trial that was finished, was pruned, or failed."""

    def release(self, trial: Trial) -> None:  # noqa: B027 – for those that keep count
        """Give back a trial that was proposed but not finished."""
