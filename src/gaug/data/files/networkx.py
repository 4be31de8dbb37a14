"""A graph from NetworkX, and from GraphML by way of it."""

from __future__ import annotations

import dataclasses
import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

import networkx
import numpy as np
import torch
from torch_geometric.data import Data

from gaug.data.files.labels import LabelCells
from gaug.data.files.reading import to_loaded_graph
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.feature_table import features_of_table
from gaug.data.tables.table import Column, Table, is_number, shown
from gaug.data.tables.text_lines import read_bytes
from gaug.errors import ConfigError, DataError, reason_of, unknown_name

# NetworkX builds objects of some fifty times the size of the text.
_LONGEST_GRAPHML = 64 * 2**20


def from_networkx(
    graph: Any,
    *,
    features: Sequence[str] | None = None,
    label: str | None = "label",
    weight: str | None = "weight",
    make_features: str | None = None,
    name: str | None = None,
) -> LoadedGraph:
    """A NetworkX graph as a valid graph, its nodes in its own order.

    Args:
        graph: Any NetworkX graph; direction and repeated edges are dropped, with a note.
        features: Attributes of nodes to take as features: numbers as they are, texts one-hot. By
            default all attributes but the label.
        label: Attribute of nodes with the class; nodes without it are what to predict. None takes
            none.
        weight: Attribute of edges with the weight; None takes none.
        make_features: Features to make where there are none: ``one-hot-degree``,
            ``scaled-degree`` or ``identity``.
        name: What to call it; by default the graph's own name.

    Examples:
        >>> import networkx
        >>> from gaug import from_networkx
        >>> club = from_networkx(networkx.karate_club_graph(), label="club")
        >>> club.data.num_nodes, club.class_names, club.ids[33]
        (34, ('Mr. Hi', 'Officer'), '33')
    """
    nodes = list(graph.nodes(data=True))
    home = f"graph {shown(str(name or graph.name or 'networkx'))}"
    ids = NodeIds.unique([str(node) for node, _ in nodes], lambda row: f"{home}, node", home)
    if not nodes:
        raise DataError(f"The {home} has no nodes.")
    notes: list[str] = []
    data = _edges(graph, ids, weight, home)
    class_names: tuple[str, ...] = ()
    cells = [_text(attributes.get(label)) for _, attributes in nodes] if label else []
    if label not in (None, "label") and not any(cells):
        raise DataError(f"No node of the {home} has the attribute {shown(str(label))} for a label.")
    if any(cells):
        place = f"{home}, attribute {shown(str(label))}"
        labels = LabelCells(Path(home), None, [cells], [str(label)], lambda row, number: place)
        data.y, class_names = labels.attach(ids, notes)
    feature_names: tuple[str, ...] = ()
    default_scaling = "as-is"
    if features is None:
        found = {key for _, attributes in nodes for key in attributes if key != label}
        features = sorted(found, key=str)
    if features:
        table = _AttributeTable.of(nodes, [str(key) for key in features], list(features), home)
        made = features_of_table(table, 0, [])
        data.x, feature_names, default_scaling = made.x, made.names, made.default_scaling
        notes += made.notes
    title = str(name or graph.name or "networkx")
    loaded = to_loaded_graph(data, title, ids, class_names, make_features, notes, home)
    return dataclasses.replace(loaded, feature_names=feature_names, default_scaling=default_scaling)


def read_graphml(
    path: Path,
    name: str,
    columns: ColumnChoice | None = None,
    made_features: str | None = None,
) -> LoadedGraph:
    """The graph in a GraphML file, with the attributes of its nodes as features.

    Args:
        path: The file, plain or compressed.
        name: What to call the graph.
        columns: Which attributes to take as label and weight, and which to leave out; by default
            those of these names, and none.
        made_features: Features to make where there are none.

    Raises:
        DataError: If the file is not GraphML, or declares entities, which could make a small file
            a huge one.
    """
    content = read_bytes(path, _LONGEST_GRAPHML)
    _refuse_declarations(path, content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = networkx.read_graphml(io.BytesIO(content))
    except Exception as error:  # whatever a damaged file causes
        raise DataError(
            f"{path} is no GraphML file that NetworkX reads ({reason_of(error)})."
        ) from error
    chosen = _chosen_attributes(path, graph, columns or ColumnChoice())
    try:
        return from_networkx(graph, **chosen, make_features=made_features, name=name)
    except DataError as error:
        raise DataError(f"{path}: {error}", topic=error.topic) from error


def _chosen_attributes(path: Path, graph: Any, columns: ColumnChoice) -> dict[str, Any]:
    """Arguments of `from_networkx` by what the user named."""
    of_nodes = {str(key) for _, attributes in graph.nodes(data=True) for key in attributes}
    of_edges = {str(key) for *_, attributes in graph.edges(data=True) for key in attributes}
    for role in ("source", "target", "id"):
        if columns.names(role):
            raise ConfigError(
                f"A column to take as {role} has no meaning for {path}: leave it out."
            )
    for role, known in (("label", of_nodes), ("drop", of_nodes), ("weight", of_edges)):
        for wanted in columns.names(role):
            if wanted not in known:
                raise unknown_name(f"attribute of {path} to take as {role}", wanted, known)
    dropped = set(columns.names("drop"))
    label = next(iter(columns.names("label")), None if "label" in dropped else "label")
    return {
        "features": sorted(of_nodes - dropped - {str(label)}),
        "label": label,
        "weight": next(iter(columns.names("weight")), "weight"),
    }


@dataclass(frozen=True)
class _AttributeTable(Table):
    """Attributes of nodes as a table; its first column is the id."""

    rows: tuple[dict[Any, Any], ...]
    keys: tuple[Any, ...]
    ids: tuple[str, ...]
    home: str

    @classmethod
    def of(
        cls, nodes: list[tuple[Any, dict[Any, Any]]], names: list[str], keys: list[Any], home: str
    ) -> _AttributeTable:
        rows = tuple(attributes for _, attributes in nodes)
        ids = tuple(str(node) for node, _ in nodes)
        return cls(Path(home), ("id", *names), len(names) + 1, rows, tuple(keys), ids, home)

    def chunks(self) -> Iterator[list[Column]]:
        yield [self.ids, *([_text(row.get(key)) for row in self.rows] for key in self.keys)]

    def place(self, row: int, column: int | None = None) -> str:
        where = f"{self.home}, node {shown(self.ids[row])}"
        return where if column is None else f"{where}, attribute {self.column_title(column)}"


def _edges(graph: Any, ids: NodeIds, weight: str | None, home: str) -> Data:
    number = {node: position for position, node in enumerate(graph.nodes)}
    triples = list(graph.edges(data=weight, default=None)) if weight else list(graph.edges())
    ends = np.array([(number[edge[0]], number[edge[1]]) for edge in triples], dtype=np.int64)
    data = Data(edge_index=torch.from_numpy(ends.reshape(-1, 2).T.copy()), num_nodes=len(ids))
    weights = [edge[2] for edge in triples] if weight else []
    if any(value is not None for value in weights):
        for edge, value in zip(triples, weights, strict=True):
            if not is_number(_text(value)) or not 0 <= float(value) < float("inf"):
                raise DataError(
                    f"The {home}, edge {shown(str(edge[0]))} to {shown(str(edge[1]))}: a weight"
                    f" must be a number that is finite and not negative, got {shown(str(value))}."
                )
        data.edge_weight = torch.tensor([float(value) for value in weights])
    return data


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    return str(value).strip()


def _refuse_declarations(path: Path, content: bytes) -> None:
    """Entities are declared in a document type; GraphML needs none."""

    def refuse(*_: object) -> None:
        raise DataError(
            f"{path} has a document type declaration (<!DOCTYPE …>), which is not read: entities"
            " in it could make a small file a huge one. Remove it."
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except DataError:
        raise
    except expat.ExpatError as error:
        raise DataError(
            f"{path}, line {error.lineno:,}, column {error.offset + 1:,}: this is no XML"
            f" ({expat.errors.messages.get(error.code, error)})."
        ) from error
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        raise DataError(f"{path} cannot be decoded ({error}). Save it as UTF-8.") from error
