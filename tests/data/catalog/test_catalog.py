from __future__ import annotations

import gzip
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_geometric.data
import torch_geometric.datasets

from gaug.data.catalog.entries import CATALOG, find_entry
from gaug.data.catalog.loading import fetch_graph, load_graph
from gaug.errors import ConfigError, DataError, MissingDataError
from gaug.graph.fingerprint import graph_hash
from gaug.graph.labels import num_classes
from gaug.graph.valid import standardize

OGB_TEXTS = {
    "raw/edge.csv.gz": "0,1\n0,2\n2,3\n",
    "raw/node-feat.csv.gz": "0.5,-1\n1,2\n3,4\n-2,1\n",
    "raw/node-label.csv.gz": "2\n0\n1\n0\n",
    "split/time/train.csv.gz": "0\n3\n",
    "split/time/valid.csv.gz": "1\n",
    "split/time/test.csv.gz": "2\n",
}


@pytest.fixture
def arxiv_root(tmp_path):
    root = tmp_path / "arxiv-root"
    for file, text in OGB_TEXTS.items():
        path = root / "OGB" / "ogbn_arxiv" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return root


@pytest.fixture
def no_network(monkeypatch):
    """Every way to download raises as it does without a network; gives the list of attempts."""
    attempts = []

    def download(*arguments, **options):
        attempts.append(arguments)
        raise OSError("Network is unreachable")

    for kind in ("Planetoid", "AttributedGraphDataset", "Airports"):
        monkeypatch.setattr(getattr(torch_geometric.datasets, kind), "download", download)
    monkeypatch.setattr(torch_geometric.data, "download_url", download)
    return attempts


def snapshot(root):
    """Every path below a folder with its size, time and kind."""
    return {
        path: (path.lstat().st_size, path.lstat().st_mtime_ns, path.lstat().st_mode)
        for path in [root, *root.rglob("*")]
    }


def cached_files(cache):
    return sorted((cache / "graphs").iterdir())


def files_named(message):
    """Every file that a message lists by folder, as in ``folder/{a, b}``."""
    return {
        f"{folder}/{name}"
        for folder, names in re.findall(r"([^\s{]+)/\{([^}]+)\}", message)
        for name in names.split(", ")
    }


def files_of(entry):
    return {f"{entry.folder}/{file}" for file in entry.files}


def files_below(root):
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def write_planetoid(root, content):
    for file in find_entry("cora").files:
        path = root / "Planetoid" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def assert_same(first, second):
    assert graph_hash(first) == graph_hash(second)
    assert set(first.keys()) == set(second.keys())
    for key, value in first.to_dict().items():
        if key.endswith("_mask"):
            assert torch.equal(value, second[key])


@pytest.mark.parametrize("use", [find_entry, load_graph, fetch_graph])
def test_an_unknown_name_is_refused_with_all_names(use):
    with pytest.raises(ConfigError, match=r"^Unknown graph 'coar'. Choose from: ") as error:
        use("coar")
    listed, hint = str(error.value).split("Choose from: ")[1].split(". ")
    assert listed.split(", ") == sorted(CATALOG)
    assert hint == "Did you mean 'cora'?"


def test_every_entry_is_found_by_its_name():
    for name in CATALOG:
        assert find_entry(name).name == name


@pytest.mark.parametrize("name", [name for name in CATALOG if name != "karate"])
def test_a_missing_graph_is_refused_with_its_files_and_the_command_to_fetch_it(tmp_path, name):
    with pytest.raises(MissingDataError) as error:
        load_graph(name, tmp_path)
    message = str(error.value)
    entry = find_entry(name)
    assert f"Graph '{name}' is not in the data folder {tmp_path}" in message
    assert files_named(message) == files_of(entry)
    assert f"gaug datasets fetch {name}" in message
    assert entry.source in message
    assert "\n" not in message


def test_missing_files_are_listed_by_folder_in_one_sentence(tmp_path):
    with pytest.raises(MissingDataError) as cora:
        load_graph("cora", tmp_path)
    assert (
        "Planetoid/Cora/raw/{ind.cora.x, ind.cora.tx, ind.cora.allx, ind.cora.y, ind.cora.ty,"
        " ind.cora.ally, ind.cora.graph, ind.cora.test.index} are missing."
    ) in str(cora.value)
    with pytest.raises(MissingDataError) as arxiv:
        load_graph("ogbn-arxiv", tmp_path)
    assert (
        "OGB/ogbn_arxiv/raw/{edge.csv.gz, node-feat.csv.gz, node-label.csv.gz} and"
        " OGB/ogbn_arxiv/split/time/{train.csv.gz, valid.csv.gz, test.csv.gz} are missing."
    ) in str(arxiv.value)


def test_only_the_files_that_are_missing_are_named(make_airports):
    root = make_airports()
    (root / "Airports" / "usa" / "raw" / "labels-usa-airports.txt").unlink()
    with pytest.raises(MissingDataError, match=r"raw/labels-usa-airports\.txt is missing") as error:
        load_graph("air-usa", root)
    assert "edgelist" not in str(error.value)


def test_karate_needs_no_files(tmp_path):
    data = load_graph("karate", tmp_path / "nowhere")
    assert (data.num_nodes, data.num_edges, num_classes(data)) == (34, 2 * 78, 2)


def test_a_loaded_graph_is_valid(make_airports, arxiv_root):
    for data in (
        load_graph("karate"),
        load_graph("air-usa", make_airports()),
        load_graph("ogbn-arxiv", arxiv_root),
    ):
        valid, notes = standardize(data)
        assert notes == []
        assert graph_hash(valid) == graph_hash(data)


def test_airports_in_the_data_root_are_loaded(make_airports):
    data = load_graph("air-usa", make_airports())
    assert data.edge_index.tolist() == [
        [0, 1, 1, 1, 2, 2, 3, 3, 3, 4],
        [1, 0, 2, 3, 1, 3, 1, 2, 4, 3],
    ]
    assert data.y.tolist() == [0, 1, 2, 3, 0]


def test_arxiv_in_the_data_root_is_loaded_undirected_with_its_split(arxiv_root):
    for _ in ("fresh", "cached"):
        data = load_graph("ogbn-arxiv", arxiv_root)
        assert data.edge_index.tolist() == [[0, 0, 1, 2, 2, 3], [1, 2, 0, 0, 3, 2]]
        assert data.x.tolist() == [[0.5, -1.0], [1.0, 2.0], [3.0, 4.0], [-2.0, 1.0]]
        assert data.y.tolist() == [2, 0, 1, 0]
        assert data.train_mask.tolist() == [True, False, False, True]
        assert data.val_mask.tolist() == [False, True, False, False]
        assert data.test_mask.tolist() == [False, False, True, False]


def test_the_environment_names_the_data_root(make_airports, monkeypatch):
    root = make_airports()
    monkeypatch.setenv("GAUG_DATA", str(root))
    assert_same(load_graph("air-usa"), load_graph("air-usa", root))


def test_features_are_scaled_as_asked_whatever_is_cached(arxiv_root):
    as_is = load_graph("ogbn-arxiv", arxiv_root).x
    rows = load_graph("ogbn-arxiv", arxiv_root, scaling="rows").x
    columns = load_graph("ogbn-arxiv", arxiv_root, scaling="columns").x
    assert torch.equal(load_graph("ogbn-arxiv", arxiv_root).x, as_is)
    torch.testing.assert_close(rows.abs().sum(dim=1), torch.ones(4))
    torch.testing.assert_close(columns.mean(dim=0), torch.zeros(2))


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ("10 20\n20 30\n30 40\n40 50\n20 40\n", "node label\n10 0\n20 1\n30"),  # cut off
        ("10 20\n20 30\n30 40\n40 50\n20 40\n", ""),
        ("", "node label\n10 0\n20 1\n30 2\n40 3\n50 0\n"),
        ("10 20\n20 3", "node label\n10 0\n20 1\n30 2\n40 3\n50 0\n"),  # cut off
        ("10 20\n20 thirty\n", "node label\n10 0\n20 1\n30 2\n"),
        ("10 20\n20\n", "node label\n10 0\n20 1\n"),
        ("10 20\n20 99\n", "node label\n10 0\n20 1\n"),
        ("10 20\n20 30\n", "node label\n10 0\n20 1\n30 7\n"),
    ],
    ids=[
        "cut labels", "no labels", "no edges", "cut edges", "word", "half an edge",
        "unknown airport", "label out of range",
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_with_the_graph_and_nothing_is_cached(
    make_airports, own_cache, edges, labels
):
    root = make_airports(edges, labels)
    with pytest.raises(DataError, match=r"^Graph 'air-usa' in .*Airports") as error:
        load_graph("air-usa", root)
    assert "\n" not in str(error.value)
    assert not list(own_cache.rglob("*.npz"))


@pytest.mark.parametrize("file", OGB_TEXTS)
def test_a_truncated_archive_is_refused_with_the_graph(arxiv_root, file):
    path = arxiv_root / "OGB" / "ogbn_arxiv" / file
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(
        DataError, match=r"^Graph 'ogbn-arxiv' in .*'gaug datasets fetch ogbn-arxiv"
    ):
        load_graph("ogbn-arxiv", arxiv_root)


def test_a_planetoid_pickle_of_somebody_else_is_refused_and_not_unpickled(tmp_path, trap):
    payload = pickle.dumps(trap)
    write_planetoid(tmp_path, payload)
    with pytest.raises(DataError, match=r"^Graph 'cora' in .*ind\.cora\..*SHA-256 differs"):
        load_graph("cora", tmp_path)
    assert not trap.folder.exists()
    pickle.loads(payload)  # the trap does work
    assert trap.folder.exists()


def test_garbage_in_place_of_a_planetoid_pickle_is_refused(tmp_path):
    write_planetoid(tmp_path, b"\x00garbage")
    with pytest.raises(DataError, match=r"^Graph 'cora' in .*SHA-256 differs"):
        load_graph("cora", tmp_path)


def test_loading_never_writes_to_the_data_root(make_airports, arxiv_root, own_cache):
    for name, root in (("air-usa", make_airports()), ("ogbn-arxiv", arxiv_root)):
        before = snapshot(root)
        load_graph(name, root)
        load_graph(name, root)
        assert snapshot(root) == before


@pytest.mark.parametrize("name", ["air-usa", "ogbn-arxiv"])
def test_a_cached_graph_equals_a_fresh_one_and_needs_no_parsing(
    make_airports, arxiv_root, own_cache, monkeypatch, name
):
    root = {"air-usa": make_airports(), "ogbn-arxiv": arxiv_root}[name]
    fresh = load_graph(name, root)
    assert len(cached_files(own_cache)) == 1
    monkeypatch.setattr(torch_geometric.datasets, "Airports", None)  # reading again would fail
    monkeypatch.setattr(gzip, "open", None)
    assert_same(load_graph(name, root), fresh)


def test_a_sparse_graph_comes_back_sparse_from_the_cache(make_airports, own_cache):
    labels = "node label\n" + "".join(f"{node} 0\n" for node in range(9))
    root = make_airports("".join(f"0 {node}\n" for node in range(1, 9)), labels)
    fresh, cached = (load_graph("air-usa", root) for _ in range(2))
    assert fresh.x.layout == cached.x.layout == torch.sparse_csr
    assert_same(fresh, cached)


def test_a_changed_raw_file_is_read_again(make_airports, own_cache):
    before = load_graph("air-usa", make_airports())
    after = load_graph("air-usa", make_airports("10 20\n20 30\n30 40\n40 50\n10 50\n"))
    assert before.num_edges == after.num_edges
    assert after.edge_index.tolist() != before.edge_index.tolist()


def _cut(path):
    path.write_bytes(path.read_bytes()[:200])


def _garbage(path):
    path.write_bytes(b"not an archive at all")


def _other_bytes(path):
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = b"\xff" * 40
    path.write_bytes(bytes(content))


def _other_arrays(path):
    np.savez(path, edge_index=np.zeros((2, 1), dtype=np.int64))


def _empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [_cut, _garbage, _other_bytes, _other_arrays, _empty])
def test_a_damaged_cache_file_is_made_anew(make_airports, own_cache, damage):
    root = make_airports()
    fresh = load_graph("air-usa", root)
    (path,) = cached_files(own_cache)
    whole = path.read_bytes()
    damage(path)
    assert_same(load_graph("air-usa", root), fresh)
    assert cached_files(own_cache) == [path]
    with np.load(path) as mended, zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert np.array_equal(mended["edge_index"], fresh.edge_index.numpy())
    assert len(path.read_bytes()) == len(whole)


def test_a_cache_with_pickled_objects_is_made_anew_and_not_unpickled(
    make_airports, own_cache, trap
):
    root = make_airports()
    fresh = load_graph("air-usa", root)
    (path,) = cached_files(own_cache)
    np.savez(path, x=np.array([trap], dtype=object), edge_index=np.zeros((2, 1), dtype=np.int64))
    assert_same(load_graph("air-usa", root), fresh)
    assert not trap.folder.exists()


def test_a_cache_that_cannot_be_written_only_costs_time(make_airports, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("a file, where a folder is needed", encoding="utf-8")
    root = make_airports()
    expected = load_graph("air-usa", root)
    monkeypatch.setenv("GAUG_CACHE", str(tmp_path / "file" / "cache"))
    assert_same(load_graph("air-usa", root), expected)


def test_two_processes_at_once_get_the_same_graph_and_leave_one_cache_file(
    make_airports, own_cache
):
    root = make_airports()
    program = (
        "import dataclasses, sys\n"
        "from pathlib import Path\n"
        "from gaug.data.catalog.entries import CATALOG\n"
        "from gaug.data.catalog.loading import load_graph\n"
        "from gaug.graph.fingerprint import graph_hash\n"
        "CATALOG['air-usa'] = dataclasses.replace(CATALOG['air-usa'], size=None)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(graph_hash(load_graph('air-usa', Path(sys.argv[1]))))\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:  # both have imported all they need and start together
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [process.communicate()[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(cached_files(own_cache)) == 1
    assert results == [graph_hash(load_graph("air-usa", root))] * 2


@pytest.mark.parametrize("name", ["cora", "flickr", "air-usa", "ogbn-arxiv"])
def test_fetching_without_network_is_refused_with_files_and_source(tmp_path, no_network, name):
    root = tmp_path / "root"
    with pytest.raises(MissingDataError) as error:
        fetch_graph(name, root)
    message = str(error.value)
    entry = find_entry(name)
    assert f"Graph '{name}' could not be downloaded (Network is unreachable)" in message
    assert f"Get it from {entry.source}" in message
    assert files_named(message) == files_of(entry)
    assert f"below {root}" in message
    assert "\n" not in message
    assert len(no_network) == 1
    assert list(root.rglob("*")) == []  # nothing half-written


def test_a_graph_that_is_there_is_not_fetched_again(make_airports, no_network):
    root = make_airports()
    before = snapshot(root)
    assert fetch_graph("air-usa", root) == root / "Airports"
    assert no_network == []
    assert snapshot(root) == before


def test_karate_is_never_fetched(tmp_path, no_network):
    fetch_graph("karate", tmp_path)
    assert no_network == []


def test_fetching_puts_exactly_the_raw_files_in_their_place(make_airports, monkeypatch, tmp_path):
    source = make_airports() / "Airports" / "usa" / "raw"

    def download(dataset):
        for file in dataset.raw_file_names:
            (Path(dataset.raw_dir) / file).write_bytes((source / file).read_bytes())

    monkeypatch.setattr(torch_geometric.datasets.Airports, "download", download)
    root = tmp_path / "fetched"
    assert fetch_graph("air-usa", root) == root / "Airports"
    assert files_below(root) == files_of(find_entry("air-usa"))
    assert_same(load_graph("air-usa", root), load_graph("air-usa", make_airports()))


def test_a_download_without_all_files_is_refused_and_leaves_nothing(monkeypatch, tmp_path):
    def download(dataset):
        (Path(dataset.raw_dir) / dataset.raw_file_names[0]).write_text("10 20\n", encoding="utf-8")

    monkeypatch.setattr(torch_geometric.datasets.Airports, "download", download)
    with pytest.raises(
        MissingDataError, match=r"could not be downloaded \(the download lacks files\)"
    ):
        fetch_graph("air-usa", tmp_path / "root")
    assert list((tmp_path / "root").rglob("*")) == []


def test_fetching_completes_a_folder_that_lacks_a_file(make_airports, monkeypatch):
    root = make_airports()
    missing = root / "Airports" / "usa" / "raw" / "labels-usa-airports.txt"
    whole = missing.read_bytes()
    missing.unlink()

    def download(dataset):
        for file in dataset.raw_file_names:
            (Path(dataset.raw_dir) / file).write_bytes(whole)

    monkeypatch.setattr(torch_geometric.datasets.Airports, "download", download)
    fetch_graph("air-usa", root)
    assert missing.read_bytes() == whole
    assert files_below(root) == files_of(find_entry("air-usa"))


def _copy_planetoid(monkeypatch, served):
    def copy(url, folder):
        (Path(folder) / url.rpartition("/")[2]).write_bytes(served)

    monkeypatch.setattr("torch_geometric.io.fs.cp", copy)


def _download_airports(monkeypatch, served):
    def download(url, folder):
        (Path(folder) / url.rpartition("/")[2]).write_bytes(served)

    monkeypatch.setattr("torch_geometric.datasets.airports.download_url", download)


def _download_attributed(monkeypatch, served):
    def download(key, folder, name):
        path = Path(folder) / name
        with zipfile.ZipFile(path, "w") as archive:
            for file in ("attrs.npz", "edgelist.txt", "labels.txt"):
                archive.writestr(f"flickr.attr/{file}", served)
        return str(path)

    module = "torch_geometric.datasets.attributed_graph_dataset"
    monkeypatch.setattr(f"{module}.download_google_url", download)


@pytest.mark.parametrize(
    ("name", "serve"),
    [
        ("cora", _copy_planetoid),
        ("air-usa", _download_airports),
        ("flickr", _download_attributed),
    ],
)
def test_each_class_of_pytorch_geometric_downloads_exactly_the_raw_files(
    tmp_path, monkeypatch, name, serve
):
    serve(monkeypatch, b"what the server has")
    fetch_graph(name, tmp_path)
    entry = find_entry(name)
    assert files_below(tmp_path) == files_of(entry)
    for file in files_of(entry):
        assert (tmp_path / file).read_bytes() == b"what the server has"


def test_arxiv_is_fetched_from_the_archive_of_ogb(arxiv_root, monkeypatch, tmp_path):
    def download(url, folder, **options):
        assert url == "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
        path = Path(folder) / "arxiv.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in OGB_TEXTS:
                source = arxiv_root / "OGB" / "ogbn_arxiv" / file
                archive.write(source, f"arxiv/{file}")
        return str(path)

    monkeypatch.setattr(torch_geometric.data, "download_url", download)
    root = tmp_path / "fetched"
    fetch_graph("ogbn-arxiv", root)
    assert files_below(root) == files_of(find_entry("ogbn-arxiv"))
    assert_same(load_graph("ogbn-arxiv", root), load_graph("ogbn-arxiv", arxiv_root))


def test_a_downloaded_pickle_of_somebody_else_is_not_unpickled(tmp_path, monkeypatch, trap):
    payload = pickle.dumps(trap)

    def download(dataset):
        for file in dataset.raw_file_names:
            (Path(dataset.raw_dir) / file).write_bytes(payload)

    monkeypatch.setattr(torch_geometric.datasets.Planetoid, "download", download)
    root = tmp_path / "root"
    fetch_graph("cora", root)
    assert (root / "Planetoid" / "Cora" / "raw" / "ind.cora.x").read_bytes() == payload
    assert not trap.folder.exists()
    with pytest.raises(DataError, match=r"^Graph 'cora' in .*SHA-256 differs"):
        load_graph("cora", root)
    assert not trap.folder.exists()


def test_an_edge_out_of_range_in_a_file_is_refused_with_the_graph(arxiv_root):
    path = arxiv_root / "OGB" / "ogbn_arxiv" / "raw" / "edge.csv.gz"
    path.write_bytes(gzip.compress(b"0,1\n0,9\n"))
    with pytest.raises(DataError, match=r"^Graph 'ogbn-arxiv' in .*got 9"):
        load_graph("ogbn-arxiv", arxiv_root)


@pytest.mark.parametrize("bad", [-2, 4])
def test_an_id_out_of_range_in_a_split_file_is_refused(arxiv_root, bad):
    path = arxiv_root / "OGB" / "ogbn_arxiv" / "split" / "time" / "test.csv.gz"
    path.write_bytes(gzip.compress(f"{bad}\n".encode()))
    with pytest.raises(
        DataError, match=r"^Graph 'ogbn-arxiv' in .*test\.csv\.gz must hold node ids from 0 to 3\.$"
    ):
        load_graph("ogbn-arxiv", arxiv_root)


@pytest.mark.parametrize("last", ["", "20 4"], ids=["after a line", "within a line"])
def test_an_edge_list_that_is_cut_off_is_refused_with_the_counts(make_airports, own_cache, last):
    root = make_airports("10 20\n20 30\n30 40\n40 50\n" + last, size=(5, 5))
    with pytest.raises(
        DataError,
        match=r"^Graph 'air-usa' in .*: it has 5 nodes and 4 edges, where it should have 5 and 5\."
        r" .*'gaug datasets fetch air-usa'\.$",
    ):
        load_graph("air-usa", root)
    assert not list(own_cache.rglob("*.npz"))


def test_a_graph_with_the_counts_of_the_catalog_is_loaded(make_airports):
    data = load_graph("air-usa", make_airports(size=(5, 5)))
    assert (data.num_nodes, data.num_edges) == (5, 2 * 5)


def test_another_graph_in_the_place_of_a_known_one_is_refused(make_airports):
    root = make_airports(size=find_entry("air-usa").size)
    with pytest.raises(
        DataError, match=r"it has 5 nodes and 5 edges, where it should have 1,190 and 13,599"
    ):
        load_graph("air-usa", root)


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes"),
    [
        ("cora", 2708, 5278, 1433, 7),
        ("citeseer", 3327, 4552, 3703, 6),
        ("pubmed", 19717, 44324, 500, 3),
        ("blogcatalog", 5196, 171743, 8189, 6),
        ("flickr", 7575, 239738, 12047, 9),
        ("air-usa", 1190, 13599, 238, 4),
        ("ppi", 9701, 152137, 50, 121),  # three components of GraphSAGE's smaller release
    ],
)
def test_a_real_graph_has_its_known_counts(data_root, name, nodes, edges, features, classes):
    data = load_graph(name, data_root)
    counts = (data.num_nodes, data.num_edges, data.num_features, num_classes(data))
    assert counts == (nodes, 2 * edges, features, classes)
    assert find_entry(name).size in (None, (nodes, edges))
    assert standardize(data)[1] == []


@pytest.mark.real
def test_loading_never_writes_to_the_folder_of_real_graphs(data_root, own_cache):
    before = snapshot(data_root)
    for name in ("cora", "air-usa"):
        load_graph(name, data_root)
        load_graph(name, data_root)
    assert snapshot(data_root) == before


@pytest.mark.real
def test_a_cached_real_graph_equals_a_fresh_one(data_root, own_cache):
    fresh = load_graph("cora", data_root)
    assert len(cached_files(own_cache)) == 1
    assert_same(load_graph("cora", data_root), fresh)


@pytest.mark.real
def test_the_features_of_cora_are_scaled_by_rows_by_default(data_root):
    x = load_graph("cora", data_root).x
    assert x.layout == torch.sparse_csr
    torch.testing.assert_close(x.to_dense().sum(dim=1), torch.ones(2708))
