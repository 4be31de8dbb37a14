"""Graphs opened: from the catalog, from the user's files, or from memory."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import torch
from torch_geometric.data import Data

from gaug.data.catalog.entries import find_entry
from gaug.data.catalog.loading import load_graph
from gaug.data.config import PARTS, TRAIN_FRACTION, SplitConfig, is_split_file
from gaug.data.files.graph_files import GraphFiles
from gaug.data.files.networkx import read_graphml
from gaug.data.files.reading import read_graph_files
from gaug.data.files.saved import read_saved
from gaug.data.files.splits import read_split_file
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.scaling import with_scaled_features
from gaug.data.source import GraphSource
from gaug.data.splits import Split, make_split
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import ConfigError, DataError
from gaug.graph.labels import num_classes
from gaug.graph.valid import standardize
from gaug.telling import warn


def open_graph(
    graph: str | Path | GraphSource, root: Path | None = None, scaling: str = "default"
) -> LoadedGraph:
    """A graph of the catalog or the user's own, valid, with the names of its nodes and classes.

    Args:
        graph: A name of the catalog; a folder with ``edges.csv``, ``features.csv`` and the like; a
            ``.pt`` file with a `Data`; a ``.graphml`` file; or a `GraphSource`.
        root: The data root of the catalog's graphs.
        scaling: How to scale the features; by default a graph of the catalog in its own way, and
            the user's own by columns if these are numbers of different scales, with a note.

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
    source.check(root)
    if source.in_catalog:
        data = load_graph(source.name, root, scaling)
        split = find_entry(source.name).split
        return _numbered(source.name, data, split, source.default_train_fraction)
    loaded = _read_own(source)
    notes = loaded.notes
    if scaling == "default":
        scaling = loaded.default_scaling
        if scaling == "columns":
            notes += (
                "Scaled each column of features to mean 0 and deviation 1, for their scales"
                " differ; feature_scaling=as-is leaves them as they are.",
            )
    data = with_scaled_features(loaded.data, scaling)
    return dataclasses.replace(loaded, data=data, notes=notes)


def as_loaded(
    graph: Data | LoadedGraph | str | Path | GraphSource,
    *,
    root: Path | None = None,
    scaling: str = "default",
    keep_dense: bool = False,
) -> LoadedGraph:
    """Any graph as a `LoadedGraph`; what is changed of a `Data` on the way is a warning.

    Args:
        graph: A `Data`, whose nodes and classes are called by their numbers; a graph that is
            loaded, which is given back; or what `open_graph` takes.
        root: The data root of the catalog's graphs.
        scaling: How to scale the features of a graph that is opened.
        keep_dense: Whether dense features of a `Data` stay dense, however few are not zero.
    """
    if isinstance(graph, LoadedGraph):
        return graph
    if not isinstance(graph, Data):
        return open_graph(graph, root, scaling)
    on_cpu = copy.copy(graph).cpu()
    valid, notes = standardize(on_cpu)
    if keep_dense and on_cpu.x.layout == torch.strided:
        valid.x = on_cpu.x.float()
    if notes:
        warn(" ".join(notes))
    has_masks = all(valid.get(f"{part}_mask") is not None for part in PARTS)
    split = "public" if has_masks else "stratified"
    return _numbered("a graph in memory", valid, split, TRAIN_FRACTION)


def split_graph(
    loaded: LoadedGraph, kind: str | None = None, config: SplitConfig | None = None
) -> Split:
    """The split of a graph.

    Args:
        loaded: The graph.
        kind: ``public``, ``random``, ``stratified``, ``per-class``, or a path to a file in the
            graph's own node ids; None for its default.
        config: Fractions, counts and seed of the kinds that are drawn; a share of training nodes
            that is not set is the graph's default.
    """
    if kind is None:
        _check_masks(loaded.data)
        kind = loaded.default_split
    _check_settings(kind, config or SplitConfig())
    if is_split_file(kind) and loaded.data.y is not None:
        return read_split_file(Path(kind), loaded.data, loaded.ids)
    if kind in ("random", "stratified"):
        config = (config or SplitConfig()).resolved(loaded.default_train_fraction)
    return make_split(loaded.data, kind, config)


def _check_masks(data: Data) -> None:
    """Raise if a graph has some of the three masks: nothing else should be taken for its split."""
    given = [f"{part}_mask" for part in PARTS if data.get(f"{part}_mask") is not None]
    missing = [f"{part}_mask" for part in PARTS if f"{part}_mask" not in given]
    if given and missing:
        raise DataError(
            f"The graph has {' and '.join(given)} but no {' and '.join(missing)}. Give all three"
            " masks, or name a split such as stratified."
        )


# The settings that each kind of split uses; a public split or a file uses none.
_FRACTIONS = {"train_fraction", "val_fraction", "split_seed"}
_USED = {
    "random": _FRACTIONS,
    "stratified": _FRACTIONS,
    "per-class": {"labels_per_class", "val_fraction", "split_seed"},
}


def _check_settings(kind: str, config: SplitConfig) -> None:
    """Raise if a setting was changed that this kind of split does not use."""
    plain = SplitConfig()
    for field in dataclasses.fields(config):
        changed = getattr(config, field.name) != getattr(plain, field.name)
        if changed and field.name not in _USED.get(kind, ()):
            users = [name for name, used in _USED.items() if field.name in used]
            raise ConfigError(
                f"{field.name} has no effect on the split {kind!r}: it goes with split"
                f" {' or '.join(users)}."
            )


def _numbered(name: str, data: Data, split: str, train_fraction: float) -> LoadedGraph:
    """A valid graph whose nodes and classes are called by their numbers."""
    return LoadedGraph(
        name,
        data,
        NodeIds.numbered(int(data.num_nodes)),
        tuple(map(str, range(num_classes(data)))) if data.y is not None else (),
        default_split=split,
        default_train_fraction=train_fraction,
    )


def _read_own(source: GraphSource) -> LoadedGraph:
    found = source.locate()
    if isinstance(found, GraphFiles):
        return read_graph_files(found, source.name)
    made = source.files.make_features
    if plain_suffix(found) == ".graphml":
        return read_graphml(found, source.name, ColumnChoice(source.files.columns), made)
    return read_saved(found, source.name, made)
