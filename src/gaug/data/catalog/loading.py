"""Graphs of the catalog, loaded from their raw files or from the cache, and fetched."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gaug.data.catalog.entries import Entry, find_entry, listed
from gaug.data.folders import cache_folder, data_root, written_atomically
from gaug.data.scaling import with_scaled_features
from gaug.errors import DataError, MissingDataError, reason_of
from gaug.graph.matrices import sparse_features
from gaug.graph.valid import standardize

# Part of the name of every cached graph: raise it when a reader gives another graph than before.
_READERS_VERSION = 1


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
    entry.check(folder)
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
        wanted = listed([target / entry.folder / file for file in entry.files], target)
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
