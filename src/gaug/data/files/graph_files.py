"""A user's own graph from files: a folder of tables, or tables named one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.files.edges import read_edges
from gaug.data.files.features import make_features, read_features
from gaug.data.files.labels import LabelCells, read_labels
from gaug.data.files.splits import read_split_file
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.feature_table import NodeFeatures
from gaug.data.tables.node_table import open_node_table
from gaug.data.tables.table import shown
from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import DataError
from gaug.graph.matrices import from_scipy, to_scipy_features
from gaug.graph.valid import standardize

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
        make_features: Features to make where there are none; see `make_features`.
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

    def found_in(self, folder: Path) -> GraphFiles:
        """With the files of a folder where none is given: ``edges.csv`` and the like.

        Raises:
            DataError: If there are two of one kind, or one leads out of the folder.
        """
        found: dict[str, Any] = {
            kind: _the_file(folder, kind) for kind in KNOWN_SUFFIXES if getattr(self, kind) is None
        }
        return dataclasses.replace(self, **found)


def read_graph_files(files: GraphFiles, name: str) -> LoadedGraph:
    """The graph in some files.

    Nodes are those of ``nodes``; else those of ``features``; else those in ``edges`` and
    ``labels``.

    Args:
        files: Where to read; edges must be given.
        name: What to call it.

    Raises:
        DataError: With the file, the line and the column of what is not right.
    """
    if files.edges is None:
        raise DataError("A graph needs a file of edges. Give one by --edges.")
    columns = ColumnChoice(files.columns)
    edges = read_edges(files.edges, columns)
    edges.check_ids()
    ends = NodeIds.found_in([edges.source, edges.target])
    features = None
    if files.features:
        features = read_features(files.features, columns, ends, files.column_means)
    known = ends if features is None or features.ids is None else features.ids
    labels = read_labels(files.labels, columns, known) if files.labels else None
    ids = _nodes(files, columns, ends, features, labels)
    edges = edges.without_header(ids)
    notes = [*edges.notes]
    data = edges.data(ids)
    if labels is not None:
        data.y, class_names = labels.attach(ids, notes)
    else:
        class_names = ()
    if features is not None:
        data.x = _in_order(features, ids, files.features or files.edges)
        notes += features.notes
    loaded = finish(data, name, ids, class_names, files.make_features, notes, str(files.edges))
    if features is not None:
        loaded = dataclasses.replace(
            loaded,
            feature_names=features.names,
            column_means=features.column_means,
            default_scaling=features.default_scaling,
        )
    if files.split is not None:
        if data.y is None:
            raise DataError(f"{files.split} splits a graph without labels. Give --labels.")
        split = read_split_file(files.split, loaded.data, ids, columns)
        loaded = dataclasses.replace(loaded, data=split.apply(loaded.data), default_split="public")
    columns.check_all_used()
    return loaded


def finish(
    data: Data,
    name: str,
    ids: NodeIds,
    class_names: tuple[str, ...],
    made_features: str | None,
    notes: list[str],
    home: str,
) -> LoadedGraph:
    """A valid graph from what was read, with features made where there are none.

    Args:
        data: Edges, and possibly features and labels.
        name: What to call it.
        ids: The ids of its nodes.
        class_names: Names of its classes.
        made_features: Features to make; None makes one-hot degrees, with a note.
        notes: What was done so far.
        home: Where the edges come from, for errors.
    """
    if made_features is not None and data.x is not None:
        raise DataError(
            f"Features to make ({made_features}) and features of the graph's own are both given."
            " Leave one out."
        )
    try:
        valid, changes = standardize(data, require_features=False)
    except DataError as error:
        raise DataError(f"{home}: {error}") from error
    if valid.x is None:
        kind = made_features or "one-hot-degree"
        valid.x = make_features(kind, valid.edge_index, int(valid.num_nodes))
        notes.append(
            f"There are no features: made {kind} ({valid.x.size(1):,} columns) from the edges."
        )
    return LoadedGraph(name, valid, ids, class_names, notes=(*notes, *changes))


def _nodes(
    files: GraphFiles,
    columns: ColumnChoice,
    ends: NodeIds,
    features: NodeFeatures | None,
    labels: LabelCells | None,
) -> NodeIds:
    if files.nodes is not None:
        table, column = open_node_table(files.nodes, columns, ends)
        (texts,) = table.texts(column)
        if not texts:
            raise DataError(f"{files.nodes} lists no node.")
        return NodeIds.unique(texts, lambda row: table.place(row, column), str(files.nodes))
    if features is not None and features.ids is not None:
        return features.ids
    if features is not None:
        home = f"{files.features}, whose rows are nodes 0 to {features.x.size(0) - 1:,}"
        return NodeIds.numbered(features.x.size(0), home)
    if labels is not None and labels.ids is not None:
        return NodeIds.found_in([list(ends), labels.ids])
    return ends


def _in_order(features: NodeFeatures, ids: NodeIds, path: Path) -> Tensor:
    """Features by the order of the nodes."""
    if len(ids) != features.x.size(0):
        raise DataError(
            f"{path} has {features.x.size(0):,} rows, and {ids.home} lists {len(ids):,} nodes."
        )
    if features.ids is None or features.ids is ids:
        return features.x
    rows = features.ids.positions(list(ids))
    if (rows < 0).any():
        raise DataError(f"{path} has no row for node {shown(ids[int((rows < 0).argmax())])}.")
    if features.x.layout == torch.sparse_csr:
        return from_scipy(to_scipy_features(features.x)[rows])
    return features.x[torch.from_numpy(rows)]


def _the_file(folder: Path, kind: str) -> Path | None:
    found = sorted(
        path
        for path in folder.iterdir()
        if path.name.lower().split(".")[0] == kind and plain_suffix(path) in KNOWN_SUFFIXES[kind]
    )
    if len(found) > 1:
        raise DataError(
            f"{folder} has both {found[0].name} and {found[1].name}. Keep one, or name the one that"
            f" counts by --{kind}."
        )
    if not found:
        return None
    if not found[0].resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{found[0]} leads out of its folder. If it is meant, name it by --{kind}.")
    return found[0]
