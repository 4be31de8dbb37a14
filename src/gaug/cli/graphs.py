"""Read the graph of a command, with the names of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaug.classifier.graph_info import GraphInfo
    from gaug.data.loaded import LoadedGraph
    from gaug.data.source import GraphSource


def read_graph(
    source: GraphSource,
    data_root: Path | None,
    scaling: str,
    feature_names: Sequence[str] | None = None,
) -> tuple[LoadedGraph, GraphInfo]:
    """A graph and the names of its nodes, classes and features.

    Args:
        source: Its name in the catalog, or the user's files.
        data_root: The folder of raw graphs.
        scaling: How to scale its features; ``default`` for the graph's default scaling.
        feature_names: Features of a fitted model, whose order is adopted.
    """
    from gaug.classifier.graph_info import GraphInfo
    from gaug.data.catalog.entries import find_entry
    from gaug.data.feature_alignment import align_features
    from gaug.data.opening import open_graph
    from gaug.graph.labels import num_classes

    loaded = align_features(open_graph(source, data_root, scaling), feature_names or ())
    own = find_entry(loaded.name).scaling if source.in_catalog else loaded.default_scaling
    used = own if scaling == "default" else scaling
    if source.in_catalog:
        return loaded, GraphInfo(feature_scaling=used)
    classes = None
    if loaded.data.y is not None:
        classes = loaded.class_names[: num_classes(loaded.data)]
    return loaded, GraphInfo(
        list(loaded.ids), classes, loaded.feature_names or None, used, loaded.column_means
    )
