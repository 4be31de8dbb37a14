"""What GRAPH may be, and what a folder that was written gives when it is read again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.data.files.folder import write_graph_folder
from gaug.data.files.graph_files import GraphFiles
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.opening import open_graph, split_graph
from gaug.data.source import GraphSource
from gaug.errors import ConfigError, DataError
from gaug.graph.fingerprint import graph_hash
from gaug.graph.matrices import to_scipy_features
from gaug.graph.valid import standardize


def test_a_name_of_the_catalog() -> None:
    graph = open_graph("karate")
    assert graph_hash(graph.data) == graph_hash(load_graph("karate"))
    assert (graph.name, graph.class_names, len(graph.ids)) == ("karate", ("0", "1"), 34)


def test_a_folder_of_that_name_is_written_with_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "karate").mkdir()
    (tmp_path / "karate" / "edges.csv").write_text("a,b\n")
    assert open_graph("karate").data.num_nodes == 34
    assert open_graph("./karate").data.num_nodes == 2
    assert open_graph("./karate").name == "karate"


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("coar",
         r"Unknown graph 'coar'\. .* Did you mean 'cora'\? Nor is there a file or a folder"),
        ("empty", r"holds no edges\.csv"),
        ("edges.csv", "not a table of edges alone"),
        (None, "Give a graph"),
    ],
)  # fmt: skip
def test_what_is_no_graph_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: str | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "edges.csv").write_text("a,b\n")
    with pytest.raises(ConfigError, match=message):
        open_graph(GraphSource(graph))


def test_a_graph_of_the_catalog_takes_no_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="takes no files or columns"):
        open_graph(GraphSource("karate", GraphFiles(edges=tmp_path / "e.csv")))


def test_features_are_scaled_on_request(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\n")
    (tmp_path / "features.csv").write_text("a,1,3\nb,2,2\n")
    assert open_graph(tmp_path).data.x.tolist() == [[1, 3], [2, 2]]
    assert open_graph(tmp_path, scaling="rows").data.x.tolist() == [[0.25, 0.75], [0.5, 0.5]]


IDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Zs", "Cs"]),
            min_size=1, max_size=6).filter(lambda text: text.strip() == text),
    min_size=4, max_size=7, unique=True,
)  # fmt: skip


@given(ids=IDS, seed=st.integers(0, 10_000), data=st.data())
def test_a_written_folder_reads_as_the_same_graph(
    ids: list[str], seed: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    generator = torch.Generator().manual_seed(seed)
    number = len(ids)
    pairs = torch.randint(number, (2, 12), generator=generator)
    pairs = torch.cat([pairs, torch.tensor([[0], [1]])], dim=1)
    weighted, multilabel, split = (data.draw(st.booleans()) for _ in range(3))
    x = torch.randn(number, 3, generator=generator)
    graph = Data(
        x=x * (torch.rand(number, 3, generator=generator) < 0.1) if weighted else x,
        edge_index=pairs,
        y=torch.randint(2, (number, 3), generator=generator)
        if multilabel
        else torch.tensor([0, 1, 0, *[-1] * (number - 3)]),
    )
    if weighted:
        graph.edge_weight = torch.rand(pairs.size(1), generator=generator) + 0.1
    if split:
        for place, part in enumerate(("train", "val", "test")):
            graph[f"{part}_mask"] = torch.arange(number) == place
    classes = ("p", "q r", "s,t")[: 3 if multilabel else 2]
    before = LoadedGraph(
        "g",
        standardize(graph)[0],
        NodeIds(ids),
        classes,
        ("a", "b=é", "c"),
        default_split="public" if split else "stratified",
    )
    folder = tmp_path_factory.mktemp("graph")
    write_graph_folder(folder, before)
    after = open_graph(folder)
    assert list(after.ids) == ids
    assert (after.class_names, after.feature_names) == (classes, before.feature_names)
    assert graph_hash(after.data) == graph_hash(before.data)
    assert after.default_split == before.default_split
    if split:
        assert split_graph(after).hash == split_graph(before).hash


def test_sparse_features_are_written_as_scipy_reads_them(tmp_path: Path) -> None:
    karate = open_graph("karate")
    write_graph_folder(tmp_path, karate)
    assert karate.data.x.layout == torch.sparse_csr
    matrix = scipy.sparse.load_npz(tmp_path / "features.npz")
    assert (matrix - to_scipy_features(karate.data.x)).nnz == 0


def test_unlabeled_nodes_need_no_label_to_be_told_apart(tmp_path: Path) -> None:
    karate = open_graph("karate")
    plain = karate.data.clone()
    del plain.y
    write_graph_folder(tmp_path, dataclasses.replace(karate, data=plain, class_names=()))
    read = open_graph(tmp_path)
    assert read.data.y is None
    assert read.class_names == ()
    with pytest.raises(DataError, match="without labels"):
        split_graph(read)
