"""Where graphs are read from, and where gaug keeps what it derives from them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs


def data_root(given: Path | None = None) -> Path:
    """The folder of raw graphs: as given, else ``GAUG_DATA``, else in the user's data folder."""
    if given is not None:
        return given.expanduser()
    if os.environ.get("GAUG_DATA"):
        return Path(os.environ["GAUG_DATA"]).expanduser()
    return Path(platformdirs.user_data_dir("gaug")) / "graphs"


def own_graphs(root: Path | None = None) -> dict[str, Path]:
    """Your own graphs in the data root, by name: the folders in its folder ``own``.

    Args:
        root: The data root.
    """
    folder = data_root(root) / "own"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: path for path in found if path.is_dir()}


def cache_folder() -> Path:
    """The folder of derived files, which may be deleted at any time: ``GAUG_CACHE`` if set."""
    if os.environ.get("GAUG_CACHE"):
        return Path(os.environ["GAUG_CACHE"]).expanduser()
    return Path(platformdirs.user_cache_dir("gaug"))


@contextlib.contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well.

    Readers see the old file or the new one, never a part; an error leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp's files are private; results are not
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
