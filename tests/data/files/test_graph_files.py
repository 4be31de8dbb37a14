"""A graph from files: hand-written ones, with what each reader must make of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.preprocessing import OneHotEncoder

from gaug.data.files.graph_files import GraphFiles
from gaug.data.loaded import LoadedGraph
from gaug.data.opening import open_graph, split_graph
from gaug.data.source import GraphSource
from gaug.errors import ConfigError, DataError
from gaug.graph.edges import undirected_pairs

EDGES = "source,target\nann,bob\nbob,cid\ncid,dee\n"
FEATURES = "node,age,height\nann,31,1.7\nbob,40,1.8\ncid,44,1.6\ndee,25,1.9\n"
LABELS = "node,label\nann,red\nbob,blue\ndee,red\n"

Write = Callable[..., LoadedGraph]


@pytest.fixture
def read(tmp_path: Path) -> Write:
    """Writes the files given by name and reads the folder."""

    def go(columns: tuple[str, ...] = (), make: str | None = None, **files: str) -> LoadedGraph:
        for name, content in files.items():
            kind, _, suffix = name.partition("_")
            (tmp_path / f"{kind}.{suffix or 'csv'}").write_text(content, encoding="utf-8")
        return open_graph(
            GraphSource(str(tmp_path), GraphFiles(columns=columns, make_features=make)),
            scaling="as-is",
        )

    return go


def named_edges(graph: LoadedGraph) -> set[frozenset[str]]:
    return {
        frozenset((graph.ids[u], graph.ids[v]))
        for u, v in undirected_pairs(graph.data.edge_index).t().tolist()
    }


def test_columns_of_different_scales_are_scaled_unless_told_otherwise(
    read: Write, tmp_path: Path
) -> None:
    plain = read(edges=EDGES, features=FEATURES, labels=LABELS)
    scaled = open_graph(tmp_path)
    x = plain.data.x.double().numpy()
    expected = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(scaled.data.x.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(scaled.data.feature_statistics[0], x.mean(axis=0))
    assert "Scaled each column of features" in scaled.notes[-1]
    assert not any("Scaled" in note for note in plain.notes)
    (tmp_path / "features.csv").write_text("who,a,b\nann,3,4\nbob,4,5\ncid,4,1\ndee,2,9\n")
    assert open_graph(tmp_path).data.x.tolist()[0] == [3.0, 4.0]


def test_a_folder_of_three_tables(read: Write) -> None:
    graph = read(edges=EDGES, features=FEATURES, labels=LABELS)
    assert list(graph.ids) == ["ann", "bob", "cid", "dee"]
    assert named_edges(graph) == {
        frozenset(pair) for pair in [("ann", "bob"), ("bob", "cid"), ("cid", "dee")]
    }
    assert graph.feature_names == ("age", "height")
    assert torch.equal(graph.data.x, torch.tensor([[31, 1.7], [40, 1.8], [44, 1.6], [25, 1.9]]))
    assert graph.class_names == ("blue", "red")
    assert graph.data.y.tolist() == [1, 0, -1, 1]
    assert any("3 of 4 nodes have a label" in note for note in graph.notes)
    assert any(note.startswith("Classes with a single labeled node") for note in graph.notes)
    assert any("'blue'" in note and "'red'" not in note for note in graph.notes)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", " ; ", ", "])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_headers_and_line_ends_do_not_matter(
    read: Write, delimiter: str, header: bool, end: str
) -> None:
    def table(text: str) -> str:
        lines = text.splitlines()[0 if header else 1 :]
        return end.join(line.replace(",", delimiter) for line in lines)

    plain = read(edges=EDGES, features=FEATURES, labels=LABELS)
    other = read(edges=table(EDGES), features=table(FEATURES), labels=table(LABELS))
    assert other.ids == plain.ids
    assert named_edges(other) == named_edges(plain)
    assert torch.equal(other.data.x, plain.data.x)
    assert torch.equal(other.data.y, plain.data.y)


def test_headers_of_any_words_are_told_by_the_ids(read: Write) -> None:
    """Between texts a header looks like a row: here only the other files tell."""
    graph = read(
        edges="person,friend\nann,bob\nbob,cid\n",
        features="who,town\nann,Rome\nbob,Oslo\ncid,Rome\n",
        labels="who,team\nann,red\ncid,blue\n",
    )
    assert list(graph.ids) == ["ann", "bob", "cid"]
    assert len(named_edges(graph)) == 2
    assert graph.class_names == ("blue", "red")
    assert any("first row of edges.csv as a header" in note for note in graph.notes)


def test_comments_blank_lines_quotes_and_a_byte_order_mark(read: Write) -> None:
    graph = read(edges='\ufeff# from SNAP\n% or KONECT\n\n"a,1"," b"\n\n b ,c\n')
    assert named_edges(graph) == {frozenset(("a,1", "b")), frozenset(("b", "c"))}


def test_integer_ids_with_gaps_come_in_their_order(read: Write) -> None:
    graph = read(edges="100 7\n7 20\n")
    assert list(graph.ids) == ["7", "20", "100"]


@pytest.mark.parametrize(
    "pack",
    [
        ("csv.gz", lambda text: gzip.compress(text)),
        ("csv.xz", lambda text: lzma.compress(text)),
        ("tsv.bz2", lambda text: bz2.compress(text)),
    ],
    ids=lambda pack: pack[0],
)
def test_compressed_tables(tmp_path: Path, pack: tuple[str, Callable[[bytes], bytes]]) -> None:
    suffix, compress = pack
    (tmp_path / f"edges.{suffix}").write_bytes(compress(EDGES.encode()))
    assert len(named_edges(open_graph(tmp_path))) == 3


def test_a_zip_with_one_table(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "edges.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("whatever.csv", EDGES)
    assert len(named_edges(open_graph(tmp_path))) == 3


def test_columns_by_name_and_by_number(read: Write) -> None:
    graph = read(
        columns=("source=giver", "target=taker", "weight=sum", "id=key", "label=2", "drop=note"),
        edges="sum,giver,taker\n2,a,b\n3,b,c\n",
        features="x,note,key\n1,hello,a\n2,there,b\n3,you,c\n",
        labels="key,kind,other\na,p,0\nb,q,1\n",
    )
    assert list(graph.ids) == ["a", "b", "c"]
    assert graph.feature_names == ("x",)
    assert graph.class_names == ("p", "q")
    weights = dict(
        zip(
            map(tuple, graph.data.edge_index.t().tolist()),
            graph.data.edge_weight.tolist(),
            strict=True,
        )
    )
    assert weights == {(0, 1): 2, (1, 0): 2, (1, 2): 3, (2, 1): 3}


def test_categories_are_one_hot_and_gaps_are_filled_with_the_mean(read: Write) -> None:
    table = pd.DataFrame(
        {
            "id": list("abcde"),
            "age": ["10", "", "20", "NA", "60"],
            "town": ["Rome", "Oslo", "", "Rome", "Bern"],
            "empty": [""] * 5,
        }
    )
    graph = read(edges="a,b\nb,c\nc,d\nd,e\n", features=table.to_csv(index=False))
    known = table[table.town != ""][["town"]].to_numpy()
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(known)
    expected = np.column_stack(
        [[10, 30, 20, 30, 60], encoder.transform(table[["town"]].to_numpy())]
    )
    assert np.array_equal(graph.data.x.to_dense().numpy(), expected)
    assert graph.feature_names == ("age", "town=Bern", "town=Oslo", "town=Rome")
    notes = " ".join(graph.notes)
    assert "Filled 2 missing cells of column 'age' with the mean" in notes
    assert "Made column 'town' one-hot: 3 categories" in notes
    assert "Left out column 'empty'" in notes


def test_mostly_empty_features_stay_sparse_over_many_chunks(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    matrix = scipy.sparse.random(700, 300, density=0.02, random_state=0).tocsr()
    matrix.data = generator.integers(1, 9, matrix.nnz).astype(float)
    frame = pd.DataFrame(matrix.toarray(), index=[f"n{i}" for i in range(700)])
    frame.to_csv(tmp_path / "features.csv")  # the header is ",0,1,2,…"
    ring = pd.DataFrame({"s": frame.index, "t": np.roll(frame.index, 1)})
    ring.to_csv(tmp_path / "edges.csv", index=False, header=False)
    graph = open_graph(tmp_path)
    assert graph.data.x.layout == torch.sparse_csr
    assert np.array_equal(graph.data.x.to_dense().numpy(), matrix.toarray())
    assert graph.feature_names == tuple(map(str, range(300)))


@pytest.mark.parametrize("suffix", ["npy", "npz", "sparse", "parquet"])
def test_features_in_arrays_and_parquet_equal_those_in_text(tmp_path: Path, suffix: str) -> None:
    x = np.array([[1.5, 0], [2, 0], [0, 3], [0, 1]], dtype=np.float32)
    if suffix == "npy":
        np.save(tmp_path / "features.npy", x)
    elif suffix == "npz":
        np.savez_compressed(tmp_path / "features.npz", x=x)
    elif suffix == "sparse":
        scipy.sparse.save_npz(tmp_path / "features.npz", scipy.sparse.csc_matrix(x))
    else:
        pd.DataFrame({"id": range(4), "a": x[:, 0], "b": x[:, 1]}).to_parquet(
            tmp_path / "features.parquet"
        )
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n2,3\n")
    graph = open_graph(tmp_path)
    assert np.array_equal(graph.data.x.to_dense().numpy(), x)
    assert graph.data.x.layout == (torch.sparse_csr if suffix == "sparse" else torch.strided)
    assert list(graph.ids) == ["0", "1", "2", "3"]


def test_nodes_give_the_order_of_rows_without_ids(tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.array([[1.0], [2.0], [3.0]]))
    (tmp_path / "nodes.csv").write_text("node\nzoe\nann\nbob\n")
    (tmp_path / "edges.csv").write_text("ann,bob\nbob,zoe\n")
    graph = open_graph(tmp_path)
    assert list(graph.ids) == ["zoe", "ann", "bob"]
    assert named_edges(graph) == {frozenset(("ann", "bob")), frozenset(("bob", "zoe"))}
    assert graph.data.x[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["pairs", "columns", "adjacency", "npy"])
def test_edges_in_arrays(tmp_path: Path, kind: str) -> None:
    pairs = np.array([[0, 1, 4], [1, 2, 0]])
    if kind == "npy":
        np.save(tmp_path / "edges.npy", pairs)
    elif kind == "adjacency":
        matrix = scipy.sparse.coo_matrix((np.ones(3), tuple(pairs)), shape=(5, 5))
        scipy.sparse.save_npz(tmp_path / "edges.npz", matrix)
    else:
        np.savez(tmp_path / "edges.npz", edge_index=pairs if kind == "pairs" else pairs.T)
    assert named_edges(open_graph(tmp_path)) == {
        frozenset(pair) for pair in [("0", "1"), ("1", "2"), ("4", "0")]
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("one-hot-degree", [[0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]]),
        ("scaled-degree", [[1 / 3], [1], [1 / 3], [1 / 3]]),
        ("identity", np.eye(4).tolist()),
    ],
)
def test_features_made_from_the_edges_of_a_star(
    read: Write, kind: str, expected: list[list[float]]
) -> None:
    graph = read(edges="0,1\n1,2\n1,3\n3,1\n2,2\n", make=kind)
    assert torch.equal(graph.data.x.to_dense(), torch.tensor(expected).float())
    assert (graph.data.x.layout == torch.sparse_csr) == (kind != "scaled-degree")
    assert any(f"made {kind}" in note for note in graph.notes)
    assert any("self-loops (1)" in note for note in graph.notes)


def test_several_labels_a_node(read: Write) -> None:
    graph = read(
        edges="a,b\nb,c\n", labels="node,sport,music\nc,1,1\na,0,1\nb,1,0\n", make="identity"
    )
    by_id = dict(zip(graph.ids, graph.data.y.tolist(), strict=True))
    assert by_id == {"a": [0, 1], "b": [1, 0], "c": [1, 1]}
    assert graph.class_names == ("sport", "music")


def test_labels_by_number_keep_their_order_and_minus_one_is_unknown(read: Write) -> None:
    graph = read(edges="a,b\nb,c\nc,d\n", labels="a,10\nb,9\nc,-1\nd,10\n")
    assert graph.class_names == ("9", "10")
    assert dict(zip(graph.ids, graph.data.y.tolist(), strict=True)) == {
        "a": 1, "b": 0, "c": -1, "d": 1,
    }  # fmt: skip


def test_labels_without_ids_are_in_the_order_of_nodes(read: Write) -> None:
    graph = read(edges="0,1\n1,2\n", labels="x\ny\nx\n")
    assert graph.data.y.tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_a_split_in_the_users_ids(tmp_path: Path, read: Write, kind: str) -> None:
    parts: dict[str, Any] = {"train": ["dee"], "val": ["bob"], "test": ["ann"]}
    if kind == "npz":
        np.savez(tmp_path / "split.npz", **parts)
    else:
        (tmp_path / "split.csv").write_text("dee,Train\nbob,validation\nann,test\ncid,\n")
    graph = read(edges=EDGES, features=FEATURES, labels=LABELS)
    assert graph.default_split == "public"
    split = split_graph(graph)
    for part, names in parts.items():
        assert [graph.ids[i] for i in getattr(split, part).tolist()] == names
    # and as a file of its own
    path = next(tmp_path.glob("split.*"))
    assert split_graph(graph, str(path)).hash == split.hash


def test_a_drawn_split_takes_labeled_nodes_alone(read: Write) -> None:
    edges = "\n".join(f"{i},{(i + 1) % 40}" for i in range(40))
    graph = read(edges=edges, labels="\n".join(f"{i},{'pq'[i % 4 // 2]}" for i in range(0, 40, 2)))
    split = split_graph(graph)
    drawn = torch.cat([split.train, split.val, split.test])
    assert sorted(drawn.tolist()) == (graph.data.y >= 0).nonzero().flatten().tolist()


def test_explicit_files_replace_those_of_the_folder(tmp_path: Path, read: Write) -> None:
    read(edges=EDGES, features=FEATURES, labels=LABELS)
    other = tmp_path / "mine.txt"
    other.write_text("ann up\ncid down\n")
    graph = open_graph(GraphSource(str(tmp_path), GraphFiles(labels=other)))
    assert graph.class_names == ("down", "up")
    alone = open_graph(GraphSource(None, GraphFiles(edges=tmp_path / "edges.csv", labels=other)))
    assert alone.class_names == ("down", "up")
    assert alone.name == tmp_path.name


NUMBERS = "id,age\n" + "".join(f"n{i},{i}\n" for i in range(200))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"edges": EDGES + "dee,zed\n", "features": FEATURES},
         r"edges.csv, line 5, column 'target': there is no node 'zed' in .*features.csv"),
        ({"edges": "a,b\nb\n"},
         r"edges.csv, line 2: a row must have 2 cells as the first one has, got 1"),
        ({"edges": "a,b\n\n# no comment here\nb,c,d\n"}, r"edges.csv, line 3: .* got 1"),
        ({"edges": 'a,b\nb,"c\n'}, r"edges.csv, line 2: the row cannot be taken apart"),
        ({"edges": ""}, "edges.csv is empty"),
        ({"edges": "a,b\nb,\n"}, "edges.csv, line 2, column 2: an edge must have two node ids"),
        ({"edges": "\n \n"}, "edges.csv holds no row"),
        ({"edges": "alone\nagain\n"}, "must have two columns, source and target"),
        ({"edges": "a,a\nb,b\n"}, "edges.csv: The graph has no edges but self-loops"),
        ({"edges": "source,target,weight\na,b,2\nb,c,-1\n"},
         r"line 3, column 'weight': a weight must be a number that is finite and not"),
        ({"edges": "source,target,weight\na,b,2\nb,c,heavy\n"},
         r"line 3, column 'weight'.* 'heavy'"),
        ({"edges": "n1,n2\n", "features": NUMBERS.replace("n150,150", "n150,old")},
         r"features.csv, line 152, column 'age': most rows have a number here, got 'old'"),
        ({"edges": "n1,n2\n", "features": NUMBERS.replace("n150,150", "n150,1e999")},
         r"features.csv, line 152, column 'age': a feature must be a finite number, got '1e999'"),
        ({"edges": "n1,n2\n", "features": NUMBERS + "n7,1\n"},
         r"line 202, column 'id': node 'n7' comes a second time"),
        ({"edges": "a,b\n", "features": "a;1,5\nb;2,5\n"},
         r"line 1, column 2: a number must have a decimal point, got '1,5'"),
        ({"edges": "a,b\n", "features": "a\nb\n"}, "must have a column of features"),
        ({"edges": EDGES, "features": FEATURES, "labels": LABELS + "zed,red\n"},
         r"labels.csv, line 5, column 'node': there is no node 'zed'"),
        ({"edges": EDGES, "features": FEATURES, "labels": LABELS + "ann,blue\n"},
         r"line 5, .*'ann' comes a second time"),
        ({"edges": EDGES, "features": FEATURES, "labels": "red\nblue\n"},
         r"labels.csv has 2 rows, and the graph 4 nodes"),
        ({"edges": EDGES, "labels": "node,x,y2\nann,0,1\nbob,2,1\n"},
         r"line 3, column 'x': several columns of labels must hold 0 and 1"),
        ({"edges": EDGES, "labels": "node,x,y2\nann,0,1\nbob,1,1\n"},
         r"labels.csv has 2 rows, and the graph 4 nodes"),
        ({"edges": EDGES, "labels": "node,label\nann,\n"}, "holds no label"),
        ({"edges": "\n".join(f"{i},{i + 1}" for i in range(50)),
          "labels": "\n".join(f"{i},{i / 7}" for i in range(50))},
         "50 different labels for 50 nodes are not classes"),
        ({"edges": EDGES, "labels": LABELS, "split": "ann,train\nbob,val\ncid,test\n"},
         r"split.csv, line 3: node 'cid' of the test part has no label"),
        ({"edges": EDGES, "labels": LABELS, "split": "ann,train\nbob,left\n"},
         r"line 2, column 2: a part must be train, val or test"),
        ({"edges": EDGES, "split": "ann,train\n"}, "splits a graph without labels"),
        ({"edges": EDGES, "features": FEATURES, "features_tsv": FEATURES},
         "has both features.csv and features.tsv"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line_and_column(
    read: Write, files: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(**files)


def test_a_column_of_too_many_texts_names_the_remedy(read: Write) -> None:
    rows = "".join(f"n{i},name of {i}\n" for i in range(1001))
    with pytest.raises(DataError, match=r"holds 1,001 different texts.*drop='title'") as error:
        read(edges="n1,n2\n", features="id,title\n" + rows)
    assert error.value.topic == "drop-column"


def test_a_column_that_no_file_has_is_refused(read: Write) -> None:
    with pytest.raises(ConfigError, match="No file has the column 'nowhere' to take as id"):
        read(edges=EDGES, features=FEATURES, columns=("id=nowhere",))
    with pytest.raises(DataError, match=r"has no column 'nowhere'. It has: 'source', 'target'"):
        read(edges=EDGES, columns=("source=nowhere",))


def test_what_edges_carry_beside_a_weight_is_told(read: Write) -> None:
    graph = read(edges="a,b,1999\nb,c,2001\n")
    assert any(
        "column 3. To take one as weight, choose weight=NAME." in note for note in graph.notes
    )
    assert graph.data.get("edge_weight") is None


def test_weights_can_be_left_out_of_a_file(read: Write) -> None:
    edges = "source,target,weight\na,b,2\nb,c,3\n"
    assert read(edges=edges).data.get("edge_weight") is not None
    graph = read(edges=edges, columns=("drop=weight",))
    assert graph.data.get("edge_weight") is None
    assert not any("weight" in note for note in graph.notes)


def test_direction_and_repeats_are_told(read: Write) -> None:
    graph = read(edges="a,b\na,b\nb,c\n")
    assert any("Merged 1 repeated edges" in note for note in graph.notes)
    assert any("undirected" in note for note in graph.notes)


def test_opposite_edges_of_different_weights_are_told(read: Write) -> None:
    graph = read(edges="source,target,weight\na,b,1\nb,a,3\nb,c,5\nc,b,5\n")
    assert graph.data.edge_weight.tolist() == [2, 2, 5, 5]
    assert any("Averaged the weights of 1 pairs of opposite edges" in note for note in graph.notes)
