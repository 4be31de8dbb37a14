"""Options for a graph in a user's own files, and the source that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gaug.data.source import GraphSource

_OWN = "Your own graph"
Edges = Annotated[
    Path | None,
    typer.Option(
        help="File of edges: source and target in each row. .csv, .txt, .npz, .parquet, …",
        rich_help_panel=_OWN,
    ),
]
Features = Annotated[
    Path | None,
    typer.Option(
        help="File of features: node id first; or .npy, .npz with one row per node, in order.",
        rich_help_panel=_OWN,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(help="File of labels: node id and class.", rich_help_panel=_OWN),
]
Nodes = Annotated[
    Path | None,
    typer.Option(
        help="File of all node ids, in the order of the rows of .npy or .npz features.",
        rich_help_panel=_OWN,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="Column to use as source, target, weight, id or label, or to drop, by name or by"
        " number from 1. Repeatable.",
        rich_help_panel=_OWN,
    ),
]
MakeFeatures = Annotated[
    str | None,
    typer.Option(
        help="Features for a graph without any: one-hot-degree, scaled-degree or identity.",
        rich_help_panel=_OWN,
    ),
]


def graph_source(
    graph: str | None,
    edges: Path | None,
    features: Path | None,
    labels: Path | None,
    nodes: Path | None,
    columns: list[str] | None,
    make_features: str | None,
    split: Path | None = None,
) -> GraphSource:
    """The graph source that the options above describe."""
    from gaug.data.files.graph_files import GraphFiles
    from gaug.data.source import GraphSource

    files = GraphFiles(
        edges=edges,
        features=features,
        labels=labels,
        split=split,
        nodes=nodes,
        columns=tuple(columns or ()),
        make_features=make_features,
    )
    return GraphSource(graph, files)
