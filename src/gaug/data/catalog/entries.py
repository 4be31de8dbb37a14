"""The graphs that gaug knows by name: what they are and where their files belong.

Nothing here needs PyTorch, so that a wrong name or a missing file is told at once.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gaug.errors import MissingDataError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class Entry:
    """A graph of the catalog.

    Attributes:
        name: What it is called.
        title: What it is, in a few words.
        folder: Its ``root`` in the sense of PyTorch Geometric, below the data root.
        files: Its raw files below ``folder``; none where it is embedded.
        read: Reads the raw files in a folder.
        scaling: How its features are scaled by default (see `gaug.data.scaling`).
        split: Its default split.
        source: Where it can be had.
        downloader: Name of the dataset class that downloads it, and the name of the graph there.
        size: Nodes and edges, where they are known: a list of edges that is cut off at the end of
            a line looks whole.
    """

    name: str
    title: str
    folder: str
    files: tuple[str, ...]
    read: Callable[[Path], Data]
    scaling: str
    split: str
    source: str
    downloader: tuple[str, ...] = ()
    size: tuple[int, int] | None = None

    def missing(self, root: Path, below: str | None = None) -> list[Path]:
        """Raw files that are not there, below the entry's own folder or another."""
        folder = root / (self.folder if below is None else below)
        paths = [folder / file for file in self.files]
        return [path for path in paths if not path.is_file()]

    def check(self, root: Path) -> None:
        """Raise unless all raw files are below the data root.

        Raises:
            MissingDataError: With the files that belong there.
        """
        missing = self.missing(root)
        if missing and not root.is_dir():
            raise MissingDataError(
                f"The data folder {root} does not exist. Set GAUG_DATA to the folder of your"
                f" graphs, or run 'gaug datasets fetch {self.name}' to make it.",
                topic="data-root",
            )
        if missing:
            raise MissingDataError(
                f"Graph {self.name!r} is not in the data folder {root}: {listed(missing, root)}"
                f" {'is' if len(missing) == 1 else 'are'} missing. Run"
                f" 'gaug datasets fetch {self.name}', or put the files there by hand (source:"
                f" {self.source})."
            )


def _reader(function: str, *arguments: str | int | None) -> Callable[[Path], Data]:
    """A function of `gaug.data.catalog.readers`, imported when it is called."""

    def read(root: Path) -> Data:
        readers = importlib.import_module("gaug.data.catalog.readers")
        data: Data = getattr(readers, function)(root, *arguments)
        return data

    return read


def _planetoid(name: str, title: str, size: tuple[int, int]) -> Entry:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    files = tuple(f"{name}/raw/ind.{name.lower()}.{part}" for part in parts)
    read = _reader("read_planetoid", name)
    source = "github.com/kimiyoung/planetoid"
    return Entry(
        name.lower(), title, "Planetoid", files, read, "rows", "public", source,
        ("Planetoid", name), size,
    )  # fmt: skip


def _attributed(
    name: str,
    title: str,
    scaling: str,
    size: tuple[int, int] | None = None,
    components: int | None = None,
) -> Entry:
    files = tuple(f"{name}/raw/{file}" for file in ("attrs.npz", "edgelist.txt", "labels.txt"))
    read = _reader("read_attributed", name, components)
    return Entry(
        name, title, "AttributedGraph", files, read, scaling, "random", "PyTorch Geometric",
        ("AttributedGraphDataset", name), size,
    )  # fmt: skip


_OGB_FILES = (
    *(f"ogbn_arxiv/raw/{file}.csv.gz" for file in ("edge", "node-feat", "node-label")),
    *(f"ogbn_arxiv/split/time/{part}.csv.gz" for part in ("train", "valid", "test")),
)

CATALOG: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "karate", "Zachary's karate club, 2 factions", "", (), _reader("read_karate"),
            "as-is", "random", "embedded",
        ),
        _planetoid("Cora", "citations of machine-learning papers", (2708, 5278)),
        _planetoid("CiteSeer", "citations of computer-science papers", (3327, 4552)),
        _planetoid("PubMed", "citations of papers on diabetes", (19717, 44324)),
        _attributed("ppi", "protein interactions, 121 labels", "columns", components=3),
        _attributed("blogcatalog", "bloggers who follow each other", "as-is", (5196, 171743)),
        _attributed(
            "flickr", "photographers who follow each other (LANE's)", "as-is", (7575, 239738)
        ),
        Entry(
            "air-usa", "air traffic in the USA", "Airports",
            ("usa/raw/usa-airports.edgelist", "usa/raw/labels-usa-airports.txt"),
            _reader("read_air_usa"), "as-is", "random", "github.com/leoribeiro/struc2vec",
            ("Airports", "usa"), (1190, 13599),
        ),
        Entry(
            "ogbn-arxiv", "citations of arXiv papers, 40 subjects", "OGB", _OGB_FILES,
            _reader("read_ogbn_arxiv"), "as-is", "public",
            "snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
        ),
    )
}  # fmt: skip


def find_entry(name: str) -> Entry:
    """The entry of a name, or an error that lists the names."""
    if name not in CATALOG:
        raise unknown_name("graph", name, CATALOG)
    return CATALOG[name]


def listed(paths: list[Path], root: Path) -> str:
    """The files by folder, for instance ``Airports/usa/raw/{a.txt, b.txt}``."""
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        by_folder.setdefault(path.parent.relative_to(root).as_posix(), []).append(path.name)
    return " and ".join(
        f"{folder}/{names[0]}" if len(names) == 1 else f"{folder}/{{{', '.join(names)}}}"
        for folder, names in by_folder.items()
    )
