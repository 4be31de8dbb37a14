"""The cost of a run: wall time and peak memory."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


@dataclass
class Cost:
    """Filled in when the measured block ends."""

    seconds: float = 0.0
    peak_memory_mb: float = 0.0


@contextlib.contextmanager
def measured() -> Iterator[Cost]:
    """Measure the wall time of a block and the peak resident memory of the process within it.

    If the peak cannot be reset (outside Linux), it is that of the process so far.
    """
    cost = Cost()
    with contextlib.suppress(OSError):
        _RESET.write_text("5")  # resets the high-water mark to the current resident memory
    start = time.perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - start
        cost.peak_memory_mb = peak_memory_mb()


def peak_memory_mb() -> float:
    """Peak resident memory of this process in megabytes."""
    with contextlib.suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:  # a platform without it
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) / 1e6 if sys.platform == "darwin" else float(peak) * 1024 / 1e6
