"""Arrays of a size that fits their file, equal to what NumPy and SciPy saved."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from gaug.data.files.arrays import read_npy, read_npz, sparse_matrix
from gaug.data.opening import open_graph
from gaug.data.tables.parquet_table import ParquetTable
from gaug.errors import ConfigError, DataError

KINDS = st.sampled_from(["<f4", ">f8", "<i8", ">i2", "|u1", "|b1", "<U3"])


@given(
    array=KINDS.flatmap(lambda kind: arrays_of.arrays(np.dtype(kind), arrays_of.array_shapes())),
    fortran=st.booleans(),
)
def test_an_array_comes_back(
    array: np.ndarray, fortran: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("arrays")
    given_array = np.asfortranarray(array) if fortran else array
    np.save(folder / "a.npy", given_array)
    np.savez_compressed(folder / "a.npz", first=given_array, second=np.arange(3))
    for read in (read_npy(folder / "a.npy"), read_npz(folder / "a.npz")["first"]):
        np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_sparse_matrix_comes_back(tmp_path: Path, kind: Literal["csr", "csc", "coo"]) -> None:
    matrix = scipy.sparse.random(9, 5, density=0.3, random_state=1).asformat(kind)
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    read = sparse_matrix(tmp_path / "m.npz", read_npz(tmp_path / "m.npz"))
    assert read is not None
    np.testing.assert_array_equal(read.toarray(), matrix.toarray())


def header_of(shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    values: dict[str, Any] = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, values)
    return buffer.getvalue()


@pytest.mark.parametrize("shape", [(10**15, 10), (10**200,), (-1, 5), (0, -5), (100,)])
def test_an_array_that_claims_more_than_it_has_is_refused(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "features.npy"
    path.write_bytes(header_of(shape) + b"\0" * 400)
    with pytest.raises(DataError, match=r"features\.npy"):
        read_npy(path)


def test_a_packed_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gaug.data.tables.text_lines._UNPACKED_ARRAY_BYTES", 32 * 2**20)
    path = tmp_path / "features.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as file,
    ):
        file.write(header_of((8 * 2**20,)))
        for _ in range(8):
            file.write(b"\0" * (8 * 2**20))
    assert path.stat().st_size < 2**20
    with pytest.raises(DataError, match="unpacks to more than"):
        read_npz(path)


def test_a_sparse_matrix_of_a_billion_rows_is_refused(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "features.npz",
        format=np.array(b"coo"),
        shape=np.array([2**30, 3]),
        data=np.ones(1),
        row=np.zeros(1, dtype=np.int64),
        col=np.zeros(1, dtype=np.int64),
    )
    (tmp_path / "edges.csv").write_text("0,1\n")
    with pytest.raises(DataError, match="must have at most 10,000,100 rows and columns"):
        open_graph(tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indices": np.array([0, 9])}, "is not a readable"),
        ({"indptr": np.array([0, 2, 1])}, "is not a readable"),
        ({"format": np.array(b"dia")}, "must be csr, csc or coo, got 'dia'"),
        ({"shape": np.array([2, 2, 2])}, "must have two sizes"),
        ({"data": np.array(["a", "b"])}, "data must be numbers"),
    ],
)
def test_a_damaged_sparse_matrix_is_refused(
    tmp_path: Path, changed: dict[str, np.ndarray], message: str
) -> None:
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "data": np.array([1.0, 2.0]),
        "indices": np.array([0, 2]),
        "indptr": np.array([0, 1, 2]),
    }
    np.savez(tmp_path / "m.npz", **(arrays | changed))
    with pytest.raises(DataError, match=message):
        sparse_matrix(tmp_path / "m.npz", read_npz(tmp_path / "m.npz"))


def test_objects_are_not_unpickled(tmp_path: Path, trap: Any) -> None:
    np.save(tmp_path / "features.npy", np.array([trap], dtype=object))
    with pytest.raises(DataError, match="must hold numbers or texts, got object"):
        read_npy(tmp_path / "features.npy")
    assert not trap.folder.exists()


def test_parquet_of_all_kinds_of_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "key": [3, 1, 2],
            "size": [0.5, None, 1.5],
            "count": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "kind": pd.Categorical(["x", "y", None]),
            "name": ["p", None, "q"],
        }
    )
    frame.to_parquet(tmp_path / "features.parquet")
    (tmp_path / "edges.csv").write_text("1,2\n2,3\n")
    graph = open_graph(tmp_path)
    assert list(graph.ids) == ["3", "1", "2"]
    assert graph.feature_names == ("size", "count", "flag", "kind=x", "kind=y", "name=p", "name=q")
    expected = [[0.5, 1, 1, 1, 0, 1, 0], [1, 2, 0, 0, 1, 0, 0], [1.5, 3, 1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(graph.data.x.to_dense().numpy(), np.array(expected, np.float32))


def test_parquet_that_claims_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edges.parquet"
    column = pyarrow.array(np.zeros(30_000_000, dtype=np.int8))
    pyarrow.parquet.write_table(pyarrow.table({"a": column, "b": column}), path)
    with pytest.raises(DataError, match="claims 30,000,000 rows of 2 columns"):
        ParquetTable.of(path)


def test_parquet_of_dates_names_the_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1], "born": pd.to_datetime(["2001-01-01"])})
    frame.to_parquet(tmp_path / "features.parquet")
    (tmp_path / "edges.csv").write_text("1,2\n")
    with pytest.raises(DataError, match="column 'born': a column must hold numbers or texts"):
        open_graph(tmp_path)


def test_without_pyarrow_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ConfigError, match=r"pip install 'gaug\[parquet\]'"):
        ParquetTable.of(tmp_path / "t.parquet")
