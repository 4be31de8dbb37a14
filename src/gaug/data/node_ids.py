"""The user's node ids, and the numbers 0 … N-1 that stand for them inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from gaug.data.tables.table import shown
from gaug.errors import DataError

#: Says where the i-th id stands, for an error: ``edges.csv, line 7, column 2``.
Place = Callable[[int], str]


class NodeIds(Sequence[str]):
    """The ids of a graph's nodes as texts, in the order of the nodes.

    Args:
        texts: The ids, all different.
        home: Where they are listed, for errors about others.

    >>> ids = NodeIds(["ann", "bob", "7"])
    >>> ids[1], ids.positions(["7", "ann"]).tolist()
    ('bob', [2, 0])
    """

    def __init__(self, texts: Iterable[str], home: str = "the graph") -> None:
        self.home = home
        self._index = pd.Index(np.array(list(texts), dtype=object), dtype=object)

    @classmethod
    def numbered(cls, count: int, home: str = "the graph") -> NodeIds:
        """The ids 0 … count-1."""
        return cls(map(str, range(count)), home)

    @classmethod
    def unique(cls, texts: Sequence[str], place: Place, home: str) -> NodeIds:
        """Ids as a file lists them, each once.

        Raises:
            DataError: At an id that is empty or comes a second time, with its place.
        """
        ids = cls(texts, home)
        index = ids._index
        if not index.is_unique:
            row = int(np.flatnonzero(index.duplicated())[0])
            raise DataError(
                f"{place(row)}: node {shown(index[row])} comes a second time. Keep one of both."
            )
        empty = ids.positions([""], None)
        if empty[0] >= 0:
            raise DataError(
                f"{place(int(empty[0]))}: a node must have an id, got an empty cell. Give it one,"
                " or leave it out."
            )
        return ids

    @classmethod
    def found_in(cls, columns: Sequence[Sequence[str]]) -> NodeIds:
        """All ids that occur: in the order of their numbers if they all are whole numbers, else in
        that in which they come first.
        """
        parts = [np.array(column, dtype=object) for column in columns]
        every = pd.unique(np.concatenate(parts)) if parts else np.array([], dtype=object)
        texts = every.tolist()
        if all(map(_is_plain_integer, texts)):
            texts.sort(key=int)
        return cls(texts)

    def positions(self, texts: Sequence[str], place: Place | None = None) -> np.ndarray:
        """The numbers of nodes by their ids.  [n]

        Args:
            texts: The ids.
            place: Where each stands, for the error; None gives -1 for an unknown id instead.
        """
        found = self._index.get_indexer(pd.Index(np.array(texts, dtype=object), dtype=object))
        if place is not None and (found < 0).any():
            bad = int(np.flatnonzero(found < 0)[0])
            raise DataError(
                f"{place(bad)}: there is no node {shown(texts[bad])} in {self.home}. Add it there,"
                " or leave it out here."
            )
        return np.asarray(found, dtype=np.int64)

    @property
    def are_numbers(self) -> bool:
        """Whether each id is the node's own number."""
        return all(text == str(number) for number, text in enumerate(self))

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, position):  # type: ignore[no-untyped-def]
        found = self._index[position]
        return list(found) if isinstance(position, slice) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._index.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeIds) and self._index.equals(other._index)

    def __hash__(self) -> int:
        return hash((len(self), *self[:10]))

    def __repr__(self) -> str:
        return f"NodeIds({len(self):,} nodes: {', '.join(self[:3])}{', …' * (len(self) > 3)})"


def _is_plain_integer(text: str) -> bool:
    return len(text) < 19 and text.lstrip("-").isdecimal() and str(int(text)) == text
