"""Which files make up the user's own graph, and how they are to be read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import DataError

_TABLES = (".csv", ".tsv", ".txt", ".parquet")
#: How the names of each kind of file may end, without a compression.
KNOWN_SUFFIXES = {
    "nodes": _TABLES,
    "edges": (*_TABLES, ".npy", ".npz"),
    "features": (*_TABLES, ".npy", ".npz"),
    "labels": (*_TABLES, ".npy"),
    "split": (*_TABLES, ".npz"),
}

#: The files that a graph may have.
FILE_KINDS = tuple(KNOWN_SUFFIXES)

#: Features that can be made from the edges alone.
MADE_FEATURES = ("one-hot-degree", "scaled-degree", "identity")


@dataclass(frozen=True)
class GraphFiles:
    """The files of a graph, and how to read them.

    Attributes:
        edges: Pairs of node ids.
        features: Features of each node.
        labels: Classes of some or all nodes.
        split: Training, validation and test nodes.
        nodes: All node ids in their order, for features without ids.
        columns: Columns by role, as ``("label=topic", …)``; see `gaug.data.tables.column_choice`.
        make_features: Features to make where there are none: one of `MADE_FEATURES`.
        column_means: What to put where a table lacks a number, by the name of its column; None: the
            mean of the column.
    """

    edges: Path | None = None
    features: Path | None = None
    labels: Path | None = None
    split: Path | None = None
    nodes: Path | None = None
    columns: tuple[str, ...] = ()
    make_features: str | None = None
    column_means: Mapping[str, float] | None = None

    @property
    def any(self) -> bool:
        """Whether anything is given."""
        return self != GraphFiles()

    @property
    def paths(self) -> list[Path]:
        """The files that are given."""
        return [path for kind in FILE_KINDS if (path := getattr(self, kind)) is not None]

    def found_in(self, folder: Path) -> GraphFiles:
        """With the files of a folder where none is given: ``edges.csv`` and the like.

        Raises:
            DataError: If there are two of one kind, or one leads out of the folder.
        """
        found: dict[str, Any] = {
            kind: _the_file(folder, kind) for kind in KNOWN_SUFFIXES if getattr(self, kind) is None
        }
        return dataclasses.replace(self, **found)


def _the_file(folder: Path, kind: str) -> Path | None:
    found = sorted(
        path
        for path in folder.iterdir()
        if path.name.lower().split(".")[0] == kind and plain_suffix(path) in KNOWN_SUFFIXES[kind]
    )
    if len(found) > 1:
        raise DataError(
            f"{folder} has both {found[0].name} and {found[1].name}. Keep one, or name the one that"
            " counts.",
            topic=f"{kind}-file",
        )
    if not found:
        return None
    if not found[0].resolve().is_relative_to(folder.resolve()):
        raise DataError(
            f"{found[0]} leads out of its folder. If that is intended, name the file explicitly.",
            topic=f"{kind}-file",
        )
    return found[0]
