"""What all calls of a Ray cluster have in common: sending, checking, errors and ending."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gaug.errors import ConfigError, reason_of
from gaug.provenance import software_versions
from gaug.runs.unsendable import unsendable_told

if TYPE_CHECKING:
    from ray import ObjectRef

    from gaug.runs.object_store import ObjectStore

# How long calls that were canceled may take to end by themselves.
_SECONDS_TO_END = 10.0


def machines() -> list[dict[str, float]]:
    """What each machine has that is there."""
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    return [node["Resources"] for node in nodes if node["Alive"]]


def pack(store: ObjectStore, work: object) -> tuple[bytes, list[ObjectRef[Any]]]:
    """Some work as bytes, and references to what it needs from the object store."""
    where = "in a module that can be imported there, or leave out the cluster"
    with unsendable_told("a cluster", where):
        return store.pack(work)


def versions_here() -> dict[str, str]:
    """The versions that must be the same everywhere; Ray itself compares those of Python."""
    return {name: text for name, text in software_versions().items() if name != "python"}


def checked(module: str, name: str) -> Callable[..., Any]:
    """A function of gaug that is called there with `versions_here` and its arguments.

    It is made here, so that Ray sends its code, not its name. So it can say what is wrong on a
    machine without gaug, or with another version of it.
    """

    def work(versions: dict[str, str], *arguments: Any) -> Any:
        import importlib
        from importlib import metadata

        for package, version in versions.items():
            found = metadata.version(package)  # raises an ImportError if it is missing
            if found.partition("+")[0] != version.partition("+")[0]:
                raise ImportError(f"{package} {found} there, {version} here")
        return getattr(importlib.import_module(module), name)(*arguments)

    return work


def cause_of(error: Exception) -> Exception:
    """What to raise here for what was raised there.

    Args:
        error: Of Ray, or as it was raised there.
    """
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, ImportError):
        return ConfigError(
            f"A machine of the cluster lacks what this one has: {reason_of(cause)}. Install the"
            " same there and here."
        )
    return cause if isinstance(cause, Exception) else error


def cancel(references: Sequence[ObjectRef[Any]]) -> None:
    """End calls, gently first; those that have ended are left alone.

    To cancel a call whose result has just arrived can make Ray end this process: it says that it
    "tried to complete task that was not pending".
    """
    import ray

    left = list(references)
    for force in (False, True):
        until = time.monotonic() + _SECONDS_TO_END
        while left and time.monotonic() < until and ray.is_initialized():
            _, left = ray.wait(left, num_returns=len(left), timeout=0)
            if not left:
                return
            for reference in left:
                with contextlib.suppress(Exception):  # it has just ended
                    ray.cancel(reference, force=force)
            # Again after a second: an interrupt in the middle of a call into Ray can be lost.
            _, left = ray.wait(left, num_returns=len(left), timeout=1.0)
