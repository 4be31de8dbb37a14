"""Whatever is in the files: a valid graph or an error of one line, never anything else.

A few hundred inputs in every test run; ``make fuzz`` tries ten thousand.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import resource
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaug.data.files.graph_files import GraphFiles
from gaug.data.loaded import LoadedGraph
from gaug.data.opening import open_graph, split_graph
from gaug.data.source import GraphSource
from gaug.errors import GaugError
from gaug.graph.valid import standardize

# Of all inputs together, spread over the tests below.
INPUTS = int(os.environ.get("GAUG_FUZZ", "300"))
MOST_MEMORY_MB = 700


def tries(share: float) -> settings:
    return settings(
        max_examples=max(1, round(INPUTS * share)),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )


@pytest.fixture(scope="module", autouse=True)
def _no_gigabyte():
    """What the inputs of this file take at most, beside what the libraries take."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "edges.csv").write_text("a,b\nb,c\n")
        open_graph(folder)  # so that everything is imported
    before = peak_memory_mb()
    yield
    assert peak_memory_mb() - before < MOST_MEMORY_MB


def peak_memory_mb() -> float:
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def check(files: dict[str, bytes], graph: str = "", columns: tuple[str, ...] = ()) -> None:
    """Read the files, and look at what comes of it."""
    folder = Path(tempfile.mkdtemp(prefix="gaug-fuzz-"))
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = open_graph(GraphSource(str(folder / graph), GraphFiles(columns=columns)))
            check_valid(loaded)
            event("a graph")
            if loaded.data.y is not None:
                split_graph(loaded)
    except GaugError as error:
        event("an error")
        message = str(error)
    else:
        return
    finally:
        shutil.rmtree(folder)
    assert "\n" not in message
    assert len(message) < 1000


def check_valid(loaded: LoadedGraph) -> None:
    data, notes = standardize(loaded.data)
    assert notes == []
    assert torch.equal(data.edge_index, loaded.data.edge_index)
    assert len(loaded.ids) == data.num_nodes == data.x.size(0) == len(set(loaded.ids))
    assert len(loaded.feature_names) in (0, data.x.size(1))
    if data.y is not None:
        top = data.y.size(1) if data.y.dim() == 2 else int(data.y.max()) + 1
        assert top <= len(loaded.class_names)


WORDS = st.sampled_from(
    ["a", "b", "c", "0", "1", "2", "3", "7", "-1", "1.5", "", " ", "nan", "NA", "inf", "1e400", "?",
     "id", "source", "target", "label", "weight", "split", "train", "val", "test", '"', '""', "'",
     "1,5", "#", "%", "\ufeff", "é", "\u2028", "a b", "0x1", "1_0", "007", "true", "9" * 30]
)  # fmt: skip
CELLS = st.one_of(
    WORDS,
    st.integers(-2, 9).map(str),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=8),
)
DELIMITERS = st.sampled_from([",", ";", "\t", "|", " ", ", ", "  "])
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", ""])


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Mostly tables of one width over few ids, now and then with anything in them."""
    delimiter, end = draw(DELIMITERS), draw(ENDS)
    width = draw(st.integers(1, 5))
    simple = draw(st.booleans())
    cells = st.sampled_from("abcde") if simple else CELLS
    ragged = draw(st.integers(0, 5)) == 0
    size = (
        st.lists(cells, max_size=7) if ragged else st.lists(cells, min_size=width, max_size=width)
    )
    rows = draw(st.lists(size, max_size=12))
    header = draw(st.sampled_from(["", "id", "source", "node", "x"]))
    if header:
        rows.insert(0, [header, *(f"c{i}" for i in range(1, width))])
    text = end.join(delimiter.join(row) for row in rows) + draw(st.sampled_from(["", end]))
    return text.encode("utf-8", errors="surrogatepass")


CONTENT = st.one_of(tables(), tables(), tables(), st.binary(max_size=200))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
}


@tries(0.3)
@given(data=st.data())
def test_tables_of_anything(data: st.DataObject) -> None:
    files = {}
    for kind in ("edges", "features", "labels", "split", "nodes"):
        if kind == "edges" or data.draw(st.booleans()):
            suffix = data.draw(st.sampled_from(["", "", "", ".gz", ".bz2"]))
            files[f"{kind}.csv{suffix}"] = PACKERS[suffix](data.draw(CONTENT))
    roles = st.sampled_from(["source", "target", "weight", "id", "label", "drop"])
    names = st.sampled_from(["1", "2", "c1", "id", "99"])
    choice = st.builds("{}={}".format, roles, names)
    columns = tuple(data.draw(st.lists(choice, max_size=2))) if data.draw(st.booleans()) else ()
    check(files, columns=columns)


@st.composite
def plausible_graphs(draw: st.DrawFn) -> dict[str, bytes]:
    """Files that fit one another, with now and then a cell that does not."""
    number = draw(st.integers(3, 8))
    styles = [
        list("abcdefgh"),
        list("01234567"),
        ["10", "7", "x y", "é", "-3", "A,B", "1.0", '"q"'],
    ]
    ids = draw(st.sampled_from(styles))[:number]
    node, odd = st.sampled_from(ids), draw(st.integers(0, 2)) == 0
    numbers = st.floats(-100, 100, width=16).map(str)
    kinds = [numbers, st.integers(0, 1).map(str), st.sampled_from(["red", "blue", ""])]
    features = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    some = st.lists(node, min_size=2, max_size=number, unique=True)
    rows: dict[str, Sequence[tuple[str, ...]]] = {
        "edges": draw(st.lists(st.tuples(node, node), min_size=1, max_size=12)),
        "features": [(text, *(draw(kind) for kind in features)) for text in ids],
        "labels": [(text, draw(st.sampled_from(["p", "q", "NA"]))) for text in draw(some)],
        "split": [(text, draw(st.sampled_from(["train", "val", "test"]))) for text in draw(some)],
        "nodes": [(text,) for text in draw(st.permutations(ids))],
    }
    left_out = draw(st.sets(st.sampled_from(["features", "labels", "split", "split", "nodes"])))
    files = {}
    for kind in rows.keys() - left_out:
        table = [list(row) for row in rows[kind]]
        if odd and draw(st.booleans()):
            row = table[draw(st.integers(0, len(table) - 1))]
            row[draw(st.integers(0, len(row) - 1))] = draw(CELLS)
        if draw(st.booleans()):
            table.insert(0, ["id", *(f"column {i}" for i in range(1, len(table[0])))])
        buffer = io.StringIO(newline="")
        delimiter = draw(st.sampled_from(",;\t|"))
        csv.writer(buffer, delimiter=delimiter, lineterminator=draw(LINE_ENDS)).writerows(table)
        files[f"{kind}.csv"] = buffer.getvalue().encode("utf-8", errors="surrogatepass")
    return files


@tries(0.4)
@given(files=plausible_graphs())
def test_files_that_fit_one_another(files: dict[str, bytes]) -> None:
    check(files)


EDGES = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])


def _saved(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _valid_files() -> dict[str, tuple[str, bytes]]:
    """For each kind of file a valid one, and what it is called in a folder."""
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    sparse = scipy.sparse.csr_matrix(np.roll(np.eye(4), 1, axis=0))
    data = Data(x=torch.eye(4), edge_index=torch.tensor(EDGES), y=torch.tensor([0, 1, 0, 1]))
    graph = networkx.karate_club_graph()
    table = pyarrow.table({"id": [0, 1, 2, 3], "a": [1.0, None, 2.0, 3.0], "b": list("xyxy")})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("edges.csv", "0,1\n1,2\n2,3\n")
    parts: dict[str, Any] = {"train": [0], "val": [1], "test": [2]}
    return {
        "npy": ("features.npy", _saved(lambda file: np.save(file, x))),
        "npz": ("features.npz", _saved(lambda file: np.savez(file, x=x))),
        "packed npz": ("features.npz", _saved(lambda file: np.savez_compressed(file, x=x))),
        "sparse": ("features.npz", _saved(lambda file: scipy.sparse.save_npz(file, sparse))),
        "adjacency": ("edges.npz", _saved(lambda file: scipy.sparse.save_npz(file, sparse))),
        "split": ("split.npz", _saved(lambda file: np.savez(file, **parts))),
        "parquet": (
            "features.parquet",
            _saved(lambda file: pyarrow.parquet.write_table(table, file)),
        ),
        "pt": ("graph.pt", _saved(lambda file: torch.save(data, file))),
        "graphml": ("graph.graphml", _saved(lambda file: networkx.write_graphml(graph, file))),
        "zip": ("edges.csv.zip", packed.getvalue()),
        "gz": ("edges.csv.gz", gzip.compress(b"0,1\n1,2\n2,3\n")),
        "xz": ("edges.csv.xz", lzma.compress(b"0,1\n1,2\n2,3\n")),
    }


VALID = _valid_files()


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes changed, cut out, put in, or cut off."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        if not changed:
            break
        at = draw(st.integers(0, len(changed) - 1))
        kind = draw(st.integers(0, 4))
        if kind <= 1:
            changed[at] = draw(st.integers(0, 255))
        elif kind == 2:
            del changed[at : at + draw(st.integers(1, 20))]
        elif kind == 3:
            changed[at:at] = draw(st.binary(min_size=1, max_size=20))
        else:
            del changed[at:]
    return bytes(changed)


@tries(0.3)
@given(data=st.data())
def test_damaged_files(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(VALID)))
    name, content = VALID[kind]
    files = {name: data.draw(damaged(content))}
    if kind in ("pt", "graphml"):
        check(files, graph=name)
        return
    if not name.startswith("edges"):
        files["edges.csv"] = b"0,1\n1,2\n2,3\n"
    if kind == "split":
        files["labels.csv"] = b"0,a\n1,b\n2,a\n3,b\n"
    check(files)


@pytest.mark.parametrize("kind", sorted(VALID))
def test_the_files_are_valid_before_they_are_damaged(kind: str, tmp_path: Path) -> None:
    name, content = VALID[kind]
    (tmp_path / name).write_bytes(content)
    if kind not in ("pt", "graphml") and not name.startswith("edges"):
        (tmp_path / "edges.csv").write_text("0,1\n1,2\n2,3\n")
    if kind == "split":
        (tmp_path / "labels.csv").write_text("0,a\n1,b\n2,a\n3,b\n")
    graph = tmp_path / name if kind in ("pt", "graphml") else tmp_path
    check_valid(open_graph(graph))
