"""The user's own graph, read from its files."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.files.edges import read_edges
from gaug.data.files.features import make_features, read_features
from gaug.data.files.graph_files import GraphFiles
from gaug.data.files.labels import LabelCells, read_labels
from gaug.data.files.splits import read_split_file
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.feature_table import NodeFeatures
from gaug.data.tables.node_table import open_node_table
from gaug.data.tables.table import shown
from gaug.errors import DataError
from gaug.graph.matrices import from_scipy, to_scipy_features
from gaug.graph.valid import standardize


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
        raise DataError("A graph needs a file of edges.", topic="edges-file")
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
    loaded = to_loaded_graph(
        data, name, ids, class_names, files.make_features, notes, str(files.edges)
    )
    if features is not None:
        loaded = dataclasses.replace(
            loaded,
            feature_names=features.names,
            column_means=features.column_means,
            default_scaling=features.default_scaling,
        )
    if files.split is not None:
        if data.y is None:
            raise DataError(
                f"{files.split} splits a graph without labels. Give labels, too.",
                topic="labels-file",
            )
        split = read_split_file(files.split, loaded.data, ids, columns)
        loaded = dataclasses.replace(loaded, data=split.apply(loaded.data), default_split="public")
    columns.check_all_used()
    return loaded


def to_loaded_graph(
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
        raise DataError(f"{home}: {error}", topic=error.topic) from error
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
