"""How often a machine of a cluster tells the caller how far it is."""

from __future__ import annotations

import time

# A message costs a little time on both sides.
_SECONDS_BETWEEN_MESSAGES = 0.5


class Throttle:
    """Lets a message pass if the one before it is long enough ago; the first always passes."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def passes(self) -> bool:
        """Whether to send a message now. If so, it counts as sent."""
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_MESSAGES:
            return False
        self._last = now
        return True
