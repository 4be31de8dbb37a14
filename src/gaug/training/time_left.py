"""How long some work will still take."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds after which a rate is worth telling.
_TOO_EARLY = 2.0


class TimeLeft:
    """How long some work will still take, if it goes on as it did since this was made.

    Args:
        clock: Tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._begun = clock()

    def words(self, share: float) -> str:
        """``, about 3 min left``, or nothing while it is too early to tell.

        Args:
            share: The share of the work that is done, between 0 and 1.
        """
        gone = self._clock() - self._begun
        if not 0 < share < 1 or gone < _TOO_EARLY:
            return ""
        seconds = gone * (1 - share) / share
        if seconds < 100:
            return f", about {seconds:.0f} s left"
        return f", about {seconds / 60:.0f} min left"


def preparing(title: str) -> Callable[[float], str]:
    """A function from the share of a method's preparation that is done to a few words.

    Args:
        title: The method.
    """
    remaining = TimeLeft()
    return lambda share: f"preparing {title}: {share:.0%}{remaining.words(share)}"
