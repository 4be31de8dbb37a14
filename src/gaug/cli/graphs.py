"""The graph that a command names, with what its owner calls its parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from gaug.classifier.facts import GraphInfo


def read_graph(graph: str, data_root: Path | None, scaling: str) -> tuple[Data, GraphInfo]:
    """A graph and the names of its nodes, classes and features.

    Args:
        graph: Its name in the catalog.
        data_root: The folder of raw graphs.
        scaling: How to scale its features; ``default``: the graph's own way.
    """
    from gaug.classifier.facts import GraphInfo
    from gaug.data.catalog import find_entry, load_graph

    data = load_graph(graph, data_root, scaling)
    used = find_entry(graph).scaling if scaling == "default" else scaling
    return data, GraphInfo(feature_scaling=used)
