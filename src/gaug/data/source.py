"""Where a graph comes from: the catalog, the user's own folder or file, or single files.

Nothing here needs PyTorch, so that a wrong name or a missing file is told at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gaug.data.catalog.entries import CATALOG, find_entry
from gaug.data.config import CATALOG_TRAIN_FRACTION, TRAIN_FRACTION
from gaug.data.files.graph_files import FILE_KINDS, MADE_FEATURES, GraphFiles
from gaug.data.folders import data_root
from gaug.data.tables.text_lines import check_file, plain_suffix
from gaug.errors import ConfigError, unknown_name

_LONGEST_NAME = 200
_SAVED = (".pt", ".pth")


@dataclass(frozen=True)
class GraphSource:
    """Where a graph comes from.

    Attributes:
        graph: A name of the catalog or a path; None where ``files`` says all.
        files: Single files, in the place of those in the folder, and how to read them.
    """

    graph: str | None = None
    files: GraphFiles = field(default_factory=GraphFiles)

    @classmethod
    def of(cls, graph: str | Path | GraphSource) -> GraphSource:
        """The source that a name, a path or a source means."""
        return graph if isinstance(graph, GraphSource) else cls(str(graph))

    @property
    def in_catalog(self) -> bool:
        """Whether it is a graph of the catalog; a folder of that name is called ``./name``."""
        return self.graph in CATALOG

    @property
    def name(self) -> str:
        """What the graph is called in records: its name, or that of its folder or file."""
        if self.graph is not None and self.in_catalog:
            return self.graph
        path = Path(self.graph).resolve() if self.graph is not None else None
        if path is None:
            if self.files.edges is None:
                return "graph"
            path = self.files.edges.resolve()
            if _stem(path) == "edges":
                path = path.parent
        return (path.name if path.is_dir() else _stem(path))[:_LONGEST_NAME] or "graph"

    @property
    def folders(self) -> set[Path]:
        """The user's folders that it is read from."""
        found = {path.resolve().parent for path in self.files.paths}
        if self.graph is not None and not self.in_catalog:
            path = Path(self.graph).expanduser().resolve()
            found.add(path if path.is_dir() else path.parent)
        return found

    @property
    def default_train_fraction(self) -> float:
        """Share of the labeled nodes that train where none is set."""
        return CATALOG_TRAIN_FRACTION if self.in_catalog else TRAIN_FRACTION

    def check(self, root: Path | None = None) -> None:
        """Raise what can be known without reading anything.

        Args:
            root: The data root of the catalog's graphs.

        Raises:
            ConfigError: If there is no such graph, or files are given that it cannot have.
            DataError: If a file is missing or empty.
        """
        if self.files.make_features not in (None, *MADE_FEATURES):
            raise unknown_name("features to make", str(self.files.make_features), MADE_FEATURES)
        if self.in_catalog:
            if self.files.any:
                raise ConfigError(
                    f"{self.name!r} is a graph of the catalog, which takes no files or columns."
                    f" Leave the name out, or write ./{self.name} for a folder of that name."
                )
            find_entry(self.name).check(data_root(root))
            return
        found = self.locate()
        for path in [found] if isinstance(found, Path) else found.paths:
            check_file(path)

    def locate(self) -> GraphFiles | Path:
        """The files of the user's own graph, or the one file that holds all of it."""
        files = self.files
        if self.graph is None:
            if files.edges is None:
                raise ConfigError(
                    "Give a graph (a name of the catalog, a folder or a file), or a file of edges.",
                    topic="edges-file",
                )
            return files
        path = Path(self.graph).expanduser()
        if path.is_dir():
            files = files.found_in(path)
            if files.edges is None:
                raise ConfigError(
                    f"The folder {path} holds no edges.csv (or .txt, .tsv, .npz, .parquet). Put one"
                    " there, or name a file of edges.",
                    topic="edges-file",
                )
            return files
        if not path.exists():
            raise ConfigError(
                f"{unknown_name('graph', self.graph, CATALOG)} Nor is there a file or a folder of"
                " that name."
            )
        named = [kind for kind in FILE_KINDS if getattr(files, kind)]
        if named:
            raise ConfigError(
                f"{path} is a whole graph in one file: a file of {named[0]} has no meaning beside"
                " it.",
                topic="whole-graph",
            )
        if path.suffix in _SAVED and files.columns:
            raise ConfigError(f"{path} has no columns to choose from.", topic="no-columns")
        if path.suffix not in _SAVED and plain_suffix(path) != ".graphml":
            raise ConfigError(
                f"{path} must be a folder, a .pt file with a Data, or a .graphml file, not a"
                " table of edges alone.",
                topic="edges-file",
            )
        return path


def _stem(path: Path) -> str:
    return path.name.split(".")[0] or path.name
