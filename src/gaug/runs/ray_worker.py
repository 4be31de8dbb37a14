"""What is done on a machine of a Ray cluster: a job, and telling how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ray

from gaug.errors import GaugError
from gaug.memory import set_share
from gaug.runs.executor import Job
from gaug.runs.object_store import unpack
from gaug.runs.throttle import Throttle


@ray.remote(num_cpus=0, max_restarts=-1)
class Board:
    """Where jobs tell how far they are, by their numbers; started anew if its machine is lost."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[float, str]] = {}

    def tell(self, number: int, share: float, note: str) -> None:
        """Note how far a job is."""
        self._told[number] = (share, note or self._told.get(number, (0.0, ""))[1])

    def read(self, numbers: Sequence[int]) -> dict[int, tuple[float, str]]:
        """How far these jobs are; what was told of others is forgotten."""
        self._told = {number: self._told[number] for number in numbers if number in self._told}
        return self._told


def do_job(
    packed: bytes, references: Sequence[Any], allowed: int | None, number: int, board: Any
) -> Any:
    """The result of a job, or the `GaugError` that it raised.

    Args:
        packed: The job.
        references: What it needs from the object store.
        allowed: Bytes that it may hold, if that is known.
        number: Its number on the board.
        board: Where to tell how far it is.
    """
    set_share(allowed)
    throttle = Throttle()

    def tell(share: float, note: str = "") -> None:
        if throttle.passes():
            board.tell.remote(number, share, note)

    try:
        job: Job[Any] = unpack(packed, ray.get(list(references)))
        return job(tell)
    except GaugError as error:
        return error
