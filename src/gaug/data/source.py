"""What GRAPH may be: a name of the catalog, a folder or a file of the user's, or single files."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

from gaug.data.catalog.catalog import CATALOG, find_entry, load_graph
from gaug.data.files.graph_files import FILE_KINDS, KNOWN_SUFFIXES, GraphFiles, read_graph_files
from gaug.data.files.networkx import read_graphml
from gaug.data.files.saved import read_saved
from gaug.data.files.splits import read_split_file
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.scaling import with_scaled_features
from gaug.data.splits import KINDS, Split, SplitConfig, make_split
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import ConfigError, unknown_name
from gaug.graph.labels import num_classes

_LONGEST_NAME = 200


@dataclass(frozen=True)
class GraphSource:
    """Where a graph comes from.

    Attributes:
        graph: A name of the catalog or a path; None where ``files`` says all.
        files: Files of its own, in the place of those in the folder, and how to read them.
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
        """Folders of the user's that it is read from."""
        named = [getattr(self.files, kind) for kind in FILE_KINDS]
        found = {path.resolve().parent for path in named if path is not None}
        if self.graph is not None and not self.in_catalog:
            path = Path(self.graph).expanduser().resolve()
            found.add(path if path.is_dir() else path.parent)
        return found


def open_graph(
    graph: str | Path | GraphSource, root: Path | None = None, scaling: str = "default"
) -> LoadedGraph:
    """A graph of the catalog or of the user's own, valid, with the names of its nodes and classes.

    Args:
        graph: A name of the catalog; a folder with ``edges.csv``, ``features.csv`` and the like; a
            ``.pt`` file with a `Data`; a ``.graphml`` file; or a `GraphSource`.
        root: The data root of the catalog's graphs.
        scaling: How to scale the features; by default a graph of the catalog in its own way, and
            one of the user's by columns if these are numbers of different scales, with a note.

    Raises:
        ConfigError: If there is no such graph, file or folder.
        DataError: If it cannot be read, with the file and the line.

    Examples:
        >>> from gaug import open_graph
        >>> karate = open_graph("karate")
        >>> karate.data.num_nodes, karate.class_names
        (34, ('0', '1'))
    """
    source = GraphSource.of(graph)
    if source.in_catalog:
        return _from_catalog(source, root, scaling)
    loaded = _own(source)
    notes = loaded.notes
    if scaling == "default":
        scaling = loaded.default_scaling
        if scaling == "columns":
            notes += (
                "Scaled each column of features to mean 0 and deviation 1, for their scales"
                " differ; --set feature_scaling=as-is leaves them as they are.",
            )
    data = with_scaled_features(loaded.data, scaling)
    return dataclasses.replace(loaded, data=data, notes=notes)


def split_graph(
    loaded: LoadedGraph, kind: str | None = None, config: SplitConfig | None = None
) -> Split:
    """The split of a graph.

    Args:
        loaded: The graph.
        kind: ``public``, ``random``, ``stratified``, ``per-class``, or a path to a file in the
            graph's own node ids; None for its default.
        config: Fractions, counts and seed of the kinds that are drawn.
    """
    kind = loaded.default_split if kind is None else kind
    is_file = kind not in KINDS and plain_suffix(Path(kind)) in KNOWN_SUFFIXES["split"]
    if is_file and loaded.data.y is not None:
        return read_split_file(Path(kind), loaded.data, loaded.ids)
    return make_split(loaded.data, kind, config)


def _from_catalog(source: GraphSource, root: Path | None, scaling: str) -> LoadedGraph:
    name = source.name
    if source.files.any:
        raise ConfigError(
            f"{name!r} is a graph of the catalog, which takes no files or columns. Leave GRAPH out,"
            f" or write ./{name} for a folder of that name."
        )
    data = load_graph(name, root, scaling)
    ids = NodeIds.numbered(int(data.num_nodes))
    classes = tuple(map(str, range(num_classes(data)))) if data.y is not None else ()
    return LoadedGraph(name, data, ids, classes, default_split=find_entry(name).split)


def _own(source: GraphSource) -> LoadedGraph:
    files = source.files
    if source.graph is None:
        if files.edges is None:
            raise ConfigError(
                "Give a GRAPH (a name of the catalog, a folder or a file), or a file of edges by"
                " --edges."
            )
        return read_graph_files(files, source.name)
    path = Path(source.graph).expanduser()
    if path.is_dir():
        files = files.found_in(path)
        if files.edges is None:
            raise ConfigError(
                f"The folder {path} holds no edges.csv (or .txt, .tsv, .npz, .parquet). Put one"
                " there, or name a file by --edges."
            )
        return read_graph_files(files, source.name)
    if not path.exists():
        raise ConfigError(
            f"{unknown_name('graph', source.graph, CATALOG)} Nor is there a file or a folder of"
            " that name."
        )
    named = [kind for kind in FILE_KINDS if getattr(files, kind)]
    if named:
        raise ConfigError(
            f"{path} is a whole graph in one file: --{named[0]} has no meaning beside it."
        )
    if plain_suffix(path) == ".graphml":
        columns = ColumnChoice(files.columns)
        return read_graphml(path, source.name, columns, files.make_features)
    if path.suffix in (".pt", ".pth"):
        if files.columns:
            raise ConfigError(f"{path} has no columns to choose: leave --column out.")
        return read_saved(path, source.name, files.make_features)
    raise ConfigError(
        f"{path} must be a folder, a .pt file with a Data, or a .graphml file. A table of edges"
        f" goes with --edges {path}."
    )


def _stem(path: Path) -> str:
    return path.name.split(".")[0] or path.name
