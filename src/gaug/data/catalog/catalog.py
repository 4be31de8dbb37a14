"""The graphs that gaug knows by name: where their files belong, and how to load and fetch them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gaug.data.catalog import readers
from gaug.data.folders import cache_folder, data_root, written_atomically
from gaug.data.scaling import with_scaled_features
from gaug.errors import DataError, MissingDataError, reason_of, unknown_name
from gaug.graph.matrices import sparse_features
from gaug.graph.valid import standardize

# Part of the name of every cached graph: raise it when a reader gives another graph than before.
_READERS_VERSION = 1


@dataclass(frozen=True)
class Entry:
    """A graph of the catalog.

    Attributes:
        name: Its name on the command line.
        title: What it is, in a few words.
        folder: Its ``root`` in the sense of PyTorch Geometric, below the data root.
        files: Its raw files below ``folder``; none where it is embedded.
        read: Reads the raw files.
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


def _planetoid(name: str, title: str, size: tuple[int, int]) -> Entry:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    files = tuple(f"{name}/raw/ind.{name.lower()}.{part}" for part in parts)
    read = readers.read_planetoid(name)
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
    read = readers.read_attributed(name, components)
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
            "karate", "Zachary's karate club, 2 factions", "", (), readers.read_karate,
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
            readers.read_air_usa, "as-is", "random", "github.com/leoribeiro/struc2vec",
            ("Airports", "usa"), (1190, 13599),
        ),
        Entry(
            "ogbn-arxiv", "citations of arXiv papers, 40 subjects", "OGB", _OGB_FILES,
            readers.read_ogbn_arxiv, "as-is", "public",
            "snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
        ),
    )
}  # fmt: skip


def find_entry(name: str) -> Entry:
    """The entry of a name, or an error that lists the names."""
    if name not in CATALOG:
        raise unknown_name("graph", name, CATALOG)
    return CATALOG[name]


def load_graph(name: str, root: Path | None = None, scaling: str = "default") -> Data:
    """A graph of the catalog as a valid graph with scaled features.

    The first load reads the raw files and keeps the result in the cache folder, where it appears
    in one step; later loads are fast and need only read access. The data root is never written to.

    Args:
        name: Its name in the catalog.
        root: The data root; by default ``GAUG_DATA`` or the user's data folder.
        scaling: How to scale the features; by default the graph's own way.

    Raises:
        MissingDataError: With the files that belong there.
    """
    entry = find_entry(name)
    folder = data_root(root)
    missing = entry.missing(folder)
    if missing and not folder.is_dir():
        raise MissingDataError(
            f"The data folder {folder} does not exist. Set --data-root or GAUG_DATA to the folder"
            f" of your graphs, or run 'gaug datasets fetch {name}' to make it."
        )
    if missing:
        raise MissingDataError(
            f"Graph {name!r} is not in the data folder {folder}: {_listed(missing, folder)}"
            f" {'is' if len(missing) == 1 else 'are'} missing. Run 'gaug datasets fetch {name}',"
            f" or put the files there by hand (source: {entry.source})."
        )
    data = _cached(entry, folder / entry.folder)
    return with_scaled_features(data, entry.scaling if scaling == "default" else scaling)


def fetch_graph(name: str, root: Path | None = None) -> Path:
    """Download the raw files of a graph into the data root; nothing is left there on failure.

    Returns:
        The folder where they are.
    """
    entry = find_entry(name)
    target = data_root(root)
    if not entry.missing(target):
        return target / entry.folder
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".fetch-") as scratch:
            with _quiet():
                _download(entry, Path(scratch))
            if entry.missing(Path(scratch), below=""):
                raise DataError("the download lacks files")
            for file in entry.files:
                path = target / entry.folder / file
                path.parent.mkdir(parents=True, exist_ok=True)
                (Path(scratch) / file).replace(path)
    except Exception as error:  # the loaders raise whatever their transport raises
        wanted = _listed([target / entry.folder / file for file in entry.files], target)
        reason = reason_of(error)
        raise MissingDataError(
            f"Graph {name!r} could not be downloaded ({reason}). Get it from {entry.source} and"
            f" put {wanted} below {target}."
        ) from error
    return target / entry.folder


def _download(entry: Entry, scratch: Path) -> None:
    import torch_geometric.data
    import torch_geometric.datasets

    if entry.downloader:
        kind, name = entry.downloader
        # Made without its constructor, which would go on to unpickle what it downloaded.
        dataset = object.__new__(getattr(torch_geometric.datasets, kind))
        dataset.root, dataset.name, dataset.split = str(scratch), name, "public"
        Path(dataset.raw_dir).mkdir(parents=True, exist_ok=True)
        dataset.download()
        return
    archive = torch_geometric.data.download_url(f"https://{entry.source}", str(scratch), log=False)
    torch_geometric.data.extract_zip(archive, str(scratch), log=False)
    (scratch / "arxiv").rename(scratch / "ogbn_arxiv")


def _cached(entry: Entry, folder: Path) -> Data:
    if not entry.files:
        return standardize(entry.read(folder))[0]
    digest = hashlib.sha256(f"{_READERS_VERSION} {folder.resolve()}".encode())
    for file in entry.files:
        status = (folder / file).stat()
        digest.update(f"{file} {status.st_size} {status.st_mtime_ns}".encode())
    path = cache_folder() / "graphs" / f"{entry.name}-{digest.hexdigest()[:16]}.npz"
    if path.is_file():
        with contextlib.suppress(Exception):  # damaged in whatever way: it is made anew
            return _load(path)
    data = _read_raw(entry, folder)
    # Without a writable cache the graph is read anew each time, which is slow but right.
    with contextlib.suppress(OSError), written_atomically(path) as temporary:
        _save(data, temporary)
    return data


def _read_raw(entry: Entry, folder: Path) -> Data:
    """Read through a scratch root, because the dataset classes write beside the raw files."""
    with tempfile.TemporaryDirectory(prefix="gaug-") as scratch:
        for file in entry.files:
            link = Path(scratch) / file
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                link.symlink_to((folder / file).resolve())
            except OSError:  # where links are not allowed
                shutil.copyfile(folder / file, link)
        try:
            with _quiet():
                data, _ = standardize(entry.read(Path(scratch)))
            size = (int(data.num_nodes), data.num_edges // 2)
            if entry.size is not None and size != entry.size:
                raise DataError(
                    f"it has {size[0]:,} nodes and {size[1]:,} edges, where it should have"
                    f" {entry.size[0]:,} and {entry.size[1]:,}. A file is cut off or changed:"
                    f" delete the folder and run 'gaug datasets fetch {entry.name}'."
                )
            return data
        except DataError as error:
            raise DataError(f"Graph {entry.name!r} in {folder}: {error}") from error
        except Exception as error:  # a damaged file makes a parser raise anything
            reason = reason_of(error)
            raise DataError(
                f"Graph {entry.name!r} in {folder} cannot be read ({reason}). A file is damaged or"
                f" cut off: delete the folder and run 'gaug datasets fetch {entry.name}'."
            ) from error


def _save(data: Data, path: Path) -> None:
    arrays = {}
    for key, value in data.to_dict().items():
        if key == "x" and value.layout == torch.sparse_csr:
            arrays["x_crow"] = value.crow_indices().numpy()
            arrays["x_col"] = value.col_indices().numpy()
            arrays["x_values"] = value.values().numpy()
            arrays["x_shape"] = np.array(value.shape)
        elif isinstance(value, torch.Tensor):
            arrays[key] = value.numpy()
    np.savez(path, **arrays)


def _load(path: Path) -> Data:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        tensors = {key: torch.from_numpy(arrays[key]) for key in arrays if key != "x_shape"}
        if "x_crow" in tensors:
            rows, columns = arrays["x_shape"].tolist()
            crow, col, values = (tensors.pop(key) for key in ("x_crow", "x_col", "x_values"))
            tensors["x"] = sparse_features(crow, col, values, (rows, columns))
    return Data(**tensors, num_nodes=int(tensors["x"].size(0)))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        yield


def _listed(paths: list[Path], root: Path) -> str:
    """The files by folder, for instance ``Airports/usa/raw/{a.txt, b.txt}``."""
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        by_folder.setdefault(path.parent.relative_to(root).as_posix(), []).append(path.name)
    return " and ".join(
        f"{folder}/{names[0]}" if len(names) == 1 else f"{folder}/{{{', '.join(names)}}}"
        for folder, names in by_folder.items()
    )
