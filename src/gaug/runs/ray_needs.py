"""What a job needs of a machine of a Ray cluster, in Ray's own terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gaug.errors import ConfigError
from gaug.memory import size_text
from gaug.runs.executor import Job
from gaug.runs.worker_processes import WORKER_BYTES

#: Amounts by resource: of a job, or of a machine.
Resources = Mapping[str, float]


class TooLargeError(ConfigError):
    """A job that no machine of the cluster can take."""


def needs(job: Job[object]) -> dict[str, float]:
    """The CPUs, memory and GPUs that a job needs, as far as they are known."""
    wanted: dict[str, float] = {"CPU": int(getattr(job, "threads", 1))}
    memory = int(getattr(job, "memory", 0))
    if memory:
        wanted["memory"] = WORKER_BYTES + memory
    if getattr(job, "device", "cpu").startswith("cuda"):
        wanted["GPU"] = 1
    return wanted


def equal_share(wanted: Resources, machines: Sequence[Resources]) -> int:
    """Bytes that a job may hold, as if the machine were full of such jobs.

    Args:
        wanted: What it needs.
        machines: What each machine has.

    Raises:
        TooLargeError: If it fits no machine.
    """
    fitting = [
        machine
        for machine in machines
        if all(machine.get(name, 0) >= amount for name, amount in wanted.items())
    ]
    if not fitting:
        raise TooLargeError(_why_nowhere(wanted, machines))
    equal = min(machine.get("memory", 0) * wanted["CPU"] / machine["CPU"] for machine in fitting)
    return max(int(equal), int(wanted.get("memory", 0)))


def _why_nowhere(wanted: Resources, machines: Sequence[Resources]) -> str:
    def text(amounts: Resources) -> str:
        parts = [f"{amounts.get('CPU', 0):g} CPUs", size_text(amounts.get("memory", 0))]
        if "GPU" in wanted:
            parts.append(f"{amounts.get('GPU', 0):g} GPUs")
        return ", ".join(parts)

    found = "; ".join(sorted({text(machine) for machine in machines if machine.get("CPU")}))
    return (
        f"A run needs {text(wanted)} on one machine, and the cluster has only machines with"
        f" {found or 'no CPUs'}. Use fewer threads or smaller settings, or add a larger machine."
    )
