"""A store for those who must not profit from runs that were made before."""

from __future__ import annotations

from gaug.runs.record import RunRecord
from gaug.runs.store import Store


class FreshRuns(Store):
    """A store that finds only runs that were recorded since it was opened.

    A race with a limit of time uses it: with the runs of an earlier race, it would see more
    candidates than its time allows. It records its own runs as any store does.

    Args:
        url: Where the records are.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._newest = self.newest_id()

    def find(self, identities: list[str]) -> dict[str, RunRecord]:
        """The newest record of each identity that was recorded since then."""
        found = super().find(identities)
        return {name: record for name, record in found.items() if record.id > self._newest}
