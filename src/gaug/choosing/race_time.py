"""The time of a race: how much of it is over, and how fast runs are."""

from __future__ import annotations

import time

from gaug.runs.executor import OnProgress

#: The shares of the time at which a part of the race begins and ends.
Part = tuple[float, float]


class RaceTime:
    """Keeps the time of a race, from now on.

    Args:
        budget: Seconds for all of it.
        on_progress: Called with the finished share.
    """

    def __init__(self, budget: float, on_progress: OnProgress | None = None) -> None:
        self.budget = budget
        self.start = time.monotonic()
        self._on_progress = on_progress or (lambda share: None)
        self._share = 0.0
        self._pace = 1.0

    def at(self, share: float) -> float:
        """The moment when a share of the time is over, in terms of `time.monotonic`."""
        return self.start + share * self.budget

    def over(self) -> float:
        """The share of the time that is over."""
        return (time.monotonic() - self.start) / self.budget

    def left(self, share: float = 1.0) -> float:
        """Seconds until then."""
        return self.at(share) - time.monotonic()

    def tell(self, part: Part, done: float) -> None:
        """Report a share of a part as done; one that is finished early hands on its time."""
        begin, end = part
        self._share = max(self._share, begin + (end - begin) * min(1.0, done))
        self._on_progress(self._share)

    def learn(self, worked: float, waited: float) -> None:
        """Take note of the seconds of some runs, and of how long all workers took for them."""
        if worked > 0:
            self._pace = waited / worked

    def fits(self, seconds: float, longest: float) -> bool:
        """Whether the time left is enough for runs, at the latest pace.

        Args:
            seconds: What all of them take, one after the other.
            longest: What one of them takes at most; several workers do not make it shorter.
        """
        return max(seconds * self._pace, longest) <= self.left()
