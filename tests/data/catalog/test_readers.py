from __future__ import annotations

import gzip
from pathlib import Path

import networkx
import numpy as np
import pytest
import scipy.sparse
import torch

from gaug.data.catalog import readers
from gaug.errors import DataError
from gaug.graph.components import largest_components
from gaug.graph.edges import undirected_pairs
from gaug.graph.valid import standardize


def pairs_of(data):
    return set(map(tuple, undirected_pairs(standardize(data)[0].edge_index).t().tolist()))


def write_attributed(root, name, x, edges, labels):
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    scipy.sparse.save_npz(raw / "attrs.npz", scipy.sparse.csr_matrix(x))
    (raw / "edgelist.txt").write_text("".join(f"{u},{v}\n" for u, v in edges), encoding="utf-8")
    # The first word is the node; classes count from 1.
    lines = (f"{node} {' '.join(map(str, of))}\n" for node, of in enumerate(labels))
    (raw / "labels.txt").write_text("".join(lines), encoding="utf-8")


def write_gzip(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def arxiv(tmp_path):
    """Four papers in the layout of OGB: 0 cites 1 and 2, 2 cites 3."""
    folder = tmp_path / "ogbn_arxiv"
    write_gzip(folder / "raw" / "edge.csv.gz", "0,1\n0,2\n2,3\n")
    write_gzip(folder / "raw" / "node-feat.csv.gz", "0.5,-1\n1,2\n3,4\n-0.25,1e-3\n")
    write_gzip(folder / "raw" / "node-label.csv.gz", "2\n0\n1\n0\n")
    write_gzip(folder / "split" / "time" / "train.csv.gz", "3\n0\n")
    write_gzip(folder / "split" / "time" / "valid.csv.gz", "1\n")
    write_gzip(folder / "split" / "time" / "test.csv.gz", "2\n")
    return tmp_path


def test_karate_is_the_graph_of_networkx_with_its_two_factions(tmp_path):
    data = readers.read_karate(tmp_path)
    oracle = networkx.karate_club_graph()
    assert pairs_of(data) == {tuple(sorted(pair)) for pair in oracle.edges}
    factions = [{node for node in oracle if data.y[node] == label} for label in (0, 1)]
    by_name = networkx.get_node_attributes(oracle, "club")
    assert [{by_name[node] for node in faction} for faction in factions] == [
        {"Mr. Hi"},
        {"Officer"},
    ]
    assert torch.equal(data.x, torch.eye(34))


def test_air_usa_has_one_hot_degrees_and_each_route_in_both_directions(make_airports):
    data = readers.read_air_usa(make_airports() / "Airports")
    assert pairs_of(data) == {(0, 1), (1, 2), (2, 3), (3, 4), (1, 3)}
    assert data.edge_index.size(1) == 10
    degree_of_column = data.x.to_dense().argmax(dim=1) + 1
    assert degree_of_column.tolist() == [1, 3, 2, 3, 1]
    assert data.x.to_dense().sum(dim=1).tolist() == [1.0] * 5
    assert data.y.tolist() == [0, 1, 2, 3, 0]


def test_air_usa_counts_a_route_once_however_often_it_is_listed(make_airports):
    edges = "10 20\n20 10\n10 20\n20 20\n20 30\n30 40\n40 50\n20 40\n"
    data = readers.read_air_usa(make_airports(edges) / "Airports")
    degree = data.x.to_dense().argmax(dim=1) + 1
    assert degree.tolist() == [1, 3, 2, 3, 1]


def test_an_attributed_graph_has_its_features_edges_and_classes_from_zero(tmp_path):
    x = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]])
    write_attributed(tmp_path, "blogcatalog", x, [(0, 1), (1, 2)], [[1], [2], [1]])
    data = readers.read_attributed(tmp_path, "blogcatalog")
    assert data.x.to_dense().tolist() == x.tolist()
    assert data.y.tolist() == [0, 1, 0]
    assert pairs_of(data) == {(0, 1), (1, 2)}


def test_an_attributed_graph_with_very_wide_features_stays_sparse(tmp_path):
    values, rows, columns = np.array([1.0, 2.0, 3.0]), np.arange(3), np.array([10_000, 0, 7])
    x = scipy.sparse.coo_matrix((values, (rows, columns)), shape=(3, 10_001))
    write_attributed(tmp_path, "flickr", x, [(0, 1), (1, 2)], [[1], [2], [1]])
    data, _ = standardize(readers.read_attributed(tmp_path, "flickr"))
    assert data.x.layout == torch.sparse_csr
    assert np.array_equal(data.x.to_dense().numpy(), x.toarray())


def test_several_labels_a_node_become_columns(tmp_path):
    write_attributed(tmp_path, "ppi", np.eye(3), [(0, 1), (1, 2)], [[1, 3], [2], [3]])
    data = readers.read_attributed(tmp_path, "ppi")
    assert data.y.tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 1]]


def test_only_the_largest_components_are_kept_where_asked(tmp_path):
    x = np.arange(1.0, 9.0).reshape(8, 1)
    edges = [(0, 1), (2, 3), (3, 4), (5, 6)]  # of 2, 3, 2 and 1 nodes
    labels = [[1, 2]] * 4 + [[2]] * 4
    write_attributed(tmp_path, "ppi", x, edges, labels)
    whole = standardize(readers.read_attributed(tmp_path, "ppi"))[0]
    assert whole.num_nodes == 8
    one = readers.read_attributed(tmp_path, "ppi", 1)
    assert one.x.flatten().tolist() == [3.0, 4.0, 5.0]
    assert one.y.tolist() == [[1, 1], [1, 1], [0, 1]]
    assert torch.equal(one.edge_index, largest_components(whole, 1).edge_index)
    three = readers.read_attributed(tmp_path, "ppi", 3)
    assert three.x.flatten().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_arxiv_is_read_from_the_files_of_ogb(arxiv):
    data = readers.read_ogbn_arxiv(arxiv)
    expected = torch.tensor([[0.5, -1.0], [1.0, 2.0], [3.0, 4.0], [-0.25, 1e-3]])
    assert torch.equal(data.x, expected)
    assert data.edge_index.tolist() == [[0, 0, 2], [1, 2, 3]]
    assert data.y.tolist() == [2, 0, 1, 0]


def test_arxiv_is_split_as_its_files_say(arxiv):
    data = readers.read_ogbn_arxiv(arxiv)
    assert data.train_mask.tolist() == [True, False, False, True]
    assert data.val_mask.tolist() == [False, True, False, False]
    assert data.test_mask.tolist() == [False, False, True, False]


def test_a_planetoid_file_that_is_not_the_published_one_is_refused_with_its_name(tmp_path):
    file = tmp_path / "Cora" / "raw" / "ind.cora.allx"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"something else")
    with pytest.raises(DataError, match=r"^ind\.cora\.allx is damaged or is not the published"):
        readers.read_planetoid(tmp_path, "Cora")


@pytest.mark.real
def test_a_single_other_byte_in_a_planetoid_file_is_noticed(data_root, tmp_path):
    raw = tmp_path / "Cora" / "raw"
    raw.mkdir(parents=True)
    for file in (data_root / "Planetoid" / "Cora" / "raw").iterdir():
        (raw / file.name).write_bytes(file.read_bytes())
    labels: Path = raw / "ind.cora.ally"
    content = bytearray(labels.read_bytes())
    content[-10] ^= 1
    labels.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"^ind\.cora\.ally is damaged"):
        readers.read_planetoid(tmp_path, "Cora")
