"""How the threads of a command wait for work.

GNU OpenMP, which PyTorch computes with, lets threads without work turn in a loop for milliseconds,
in case more comes. If another process needs the core, the command waits for itself, and takes
several times as long. So threads turn for some microseconds only, then sleep.
"""

from __future__ import annotations

from collections.abc import MutableMapping

#: Turns of the waiting loop of a thread without work.
TURNS = 10_000

# Whoever has set one of these has decided.
_DECIDED_BY = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def wait_briefly(environment: MutableMapping[str, str]) -> None:
    """Set how threads wait, unless the user has; to be called before PyTorch is imported."""
    if not any(name in environment for name in _DECIDED_BY):
        environment["GOMP_SPINCOUNT"] = str(TURNS)
