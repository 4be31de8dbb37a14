"""NetworkX graphs and GraphML give the same graph as NetworkX sees."""

from __future__ import annotations

from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.utils import to_networkx

from gaug.data.catalog.loading import load_graph
from gaug.data.files.graph_files import GraphFiles
from gaug.data.files.networkx import from_networkx
from gaug.data.loaded import LoadedGraph
from gaug.data.opening import open_graph
from gaug.data.source import GraphSource
from gaug.errors import ConfigError, DataError


def people() -> networkx.DiGraph:
    graph: networkx.DiGraph = networkx.DiGraph(name="people")
    graph.add_node("ann", age=31, town="Rome", tall=True, label="red")
    graph.add_node("bob", age=40, town="Oslo", tall=False, label="blue")
    graph.add_node("cid", age=44, town="Rome", tall=True)
    graph.add_edges_from([("ann", "bob", {"weight": 2.0}), ("cid", "bob", {"weight": 1.5})])
    return graph


def test_attributes_become_features_and_labels() -> None:
    loaded = from_networkx(people())
    assert list(loaded.ids) == ["ann", "bob", "cid"]
    assert loaded.feature_names == ("age", "tall", "town=Oslo", "town=Rome")
    assert loaded.data.x.tolist() == [[31, 1, 0, 1], [40, 0, 1, 0], [44, 1, 0, 1]]
    assert loaded.data.y.tolist() == [1, 0, -1]
    assert loaded.class_names == ("blue", "red")
    assert loaded.data.edge_weight.tolist() == [2, 2, 1.5, 1.5]
    assert any("undirected" in note for note in loaded.notes)


def test_chosen_attributes_alone() -> None:
    loaded = from_networkx(people(), features=["age"], label="town", weight=None)
    assert loaded.feature_names == ("age",)
    assert loaded.class_names == ("Oslo", "Rome")
    assert loaded.data.get("edge_weight") is None


def test_the_karate_club_is_that_of_the_catalog() -> None:
    loaded = from_networkx(
        networkx.karate_club_graph(), label="club", weight=None, make_features="identity"
    )
    karate = load_graph("karate")
    assert torch.equal(loaded.data.edge_index, karate.edge_index)
    assert torch.equal(loaded.data.y, karate.y)
    assert torch.equal(loaded.data.x.to_dense(), karate.x.to_dense())


@pytest.mark.parametrize("seed", range(3))
def test_edges_are_those_that_networkx_has(seed: int) -> None:
    graph = networkx.gnp_random_graph(30, 0.2, seed=seed, directed=True)
    loaded = from_networkx(graph)
    back = to_networkx(loaded.data, to_undirected=True)
    expected: networkx.Graph = networkx.Graph(graph.to_undirected())
    assert {frozenset(e) for e in back.edges} == {frozenset(e) for e in expected.edges}


def test_a_multigraph_is_merged_with_a_note() -> None:
    graph: networkx.MultiGraph = networkx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    loaded = from_networkx(graph)
    assert loaded.data.num_edges == 4
    assert any("repeated" in note for note in loaded.notes)


@pytest.mark.parametrize("suffix", [".graphml", ".graphml.gz"])
def test_graphml_gives_the_same_as_the_graph_itself(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    networkx.write_graphml(people(), path)
    read, direct = open_graph(path, scaling="as-is"), from_networkx(people())
    assert read.name == "people"
    assert (read.ids, read.class_names) == (direct.ids, direct.class_names)
    assert read.feature_names == direct.feature_names
    for key in ("x", "y", "edge_index", "edge_weight"):
        assert torch.equal(read.data[key], direct.data[key])


def test_the_label_of_graphml_is_chosen_by_name(tmp_path: Path) -> None:
    networkx.write_graphml(people(), tmp_path / "g.graphml")
    source = GraphSource(str(tmp_path / "g.graphml"), GraphFiles(columns=("label=town",)))
    assert open_graph(source).class_names == ("Oslo", "Rome")


def test_attributes_of_graphml_are_dropped_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    networkx.write_graphml(people(), path)

    def read(*columns: str) -> LoadedGraph:
        return open_graph(GraphSource(str(path), GraphFiles(columns=columns)))

    assert read("drop=town", "drop=label").feature_names == ("age", "tall")
    assert read("drop=label").data.y is None
    with pytest.raises(ConfigError, match=r"Unknown attribute .* 'weigth'.* Did you mean 'weight'"):
        read("weight=weigth")
    with pytest.raises(ConfigError, match="to take as id has no meaning"):
        read("id=age")


BOMB = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>
<graphml><graph edgedefault="undirected"><node id="&lol2;"/></graph></graphml>"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "bomb.graphml"
    path.write_bytes(BOMB.encode(encoding))
    with pytest.raises(DataError, match="document type declaration"):
        open_graph(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no xml", r"g.graphml, line 1, column 1: this is no XML"),
        ("<graphml>", "this is no XML"),
        ("<graphml></graphml>", "no GraphML file that NetworkX reads"),
        ('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
         '<graph edgedefault="directed"/></graphml>',
         "has no nodes"),
    ],
)  # fmt: skip
def test_what_is_no_graphml_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "g.graphml").write_text(content)
    with pytest.raises(DataError, match=message):
        open_graph(tmp_path / "g.graphml")


def test_a_bad_attribute_names_its_node() -> None:
    graph = people()
    graph.nodes["cid"]["age"] = "old"
    with pytest.raises(DataError, match=r"node 'cid', attribute 'age': most rows have a number"):
        from_networkx(graph)
    graph = people()
    graph.edges["cid", "bob"]["weight"] = np.nan
    with pytest.raises(DataError, match="edge 'cid' to 'bob': a weight must be a number"):
        from_networkx(graph)
