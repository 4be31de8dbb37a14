"""Arrays from ``.npy`` and ``.npz`` files, of a size that fits the file; nothing is unpickled."""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import scipy.sparse

from gaug.data.tables.table import shown
from gaug.data.tables.text_lines import allowance, check_file, too_large
from gaug.errors import DataError, reason_of

_FORMATS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_KINDS = "biufSU"


def read_npy(path: Path) -> np.ndarray:
    """The array in an ``.npy`` file."""
    check_file(path)
    with _damage_told(path), path.open("rb") as file:
        return _read_array(file, path, path.stat().st_size, path.name)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays in an ``.npz`` file by name."""
    check_file(path)
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not a readable .npz file of numbers. Make one by numpy.savez.")
    with _damage_told(path), zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        if not members:
            raise DataError(f"{path} holds no array.")
        # An archive gives no more bytes than it declares, so that looking at these is enough.
        if sum(member.file_size for member in members) > allowance(path):
            raise too_large(path, allowance(path))
        arrays = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                arrays[name] = _read_array(cast("BinaryIO", file), path, member.file_size, name)
        return arrays


def only_array(path: Path, arrays: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """The array with one of these names, or else the only one."""
    for name in names:
        if name in arrays:
            return arrays[name]
    if len(arrays) != 1:
        raise DataError(
            f"{path} must hold one array, or one called {names[0]}, got"
            f" {', '.join(map(shown, sorted(arrays)[:5]))}."
        )
    (array,) = arrays.values()
    return array


def sparse_matrix(path: Path, arrays: Mapping[str, np.ndarray]) -> scipy.sparse.csr_matrix | None:
    """The matrix that `scipy.sparse.save_npz` wrote, checked; None if it is none of these."""
    if not {"format", "shape", "data"} <= set(arrays):
        return None
    kind = arrays["format"].item()
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    with _damage_told(path):
        shape = tuple(int(size) for size in arrays["shape"])
        if len(shape) != 2 or min(shape) < 0 or max(shape) >= 2**31:
            raise DataError(f"{path}: a sparse matrix must have two sizes below 2³¹, got {shape}.")
        if arrays["data"].dtype.kind not in "biuf":
            raise DataError(f"{path}: data must be numbers, got {arrays['data'].dtype}.")
        _check_not_mostly_empty(path, shape, arrays["data"].size)
        if kind in ("csr", "csc"):
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            make = scipy.sparse.csr_matrix if kind == "csr" else scipy.sparse.csc_matrix
            matrix = make(parts, shape=shape)
            matrix.check_format(full_check=True)
        elif kind == "coo":
            places = (arrays["row"], arrays["col"])
            matrix = scipy.sparse.coo_matrix((arrays["data"], places), shape=shape).tocsr()
        else:
            raise DataError(f"{path}: a sparse matrix must be csr, csc or coo, got {kind!r}.")
        return scipy.sparse.csr_matrix(matrix)


def _check_not_mostly_empty(path: Path, shape: tuple[int, ...], stored: int) -> None:
    """A matrix of a billion empty rows takes gigabytes as soon as it is transposed."""
    most = 10_000_000 + 100 * stored
    if max(shape) > most:
        raise DataError(
            f"{path}: a matrix with {stored:,} stored numbers must have at most {most:,} rows and"
            f" columns, got {shape[0]:,} and {shape[1]:,}."
        )


def _read_array(file: BinaryIO, path: Path, size: int, name: str) -> np.ndarray:
    version = np.lib.format.read_magic(file)
    if version not in _FORMATS:
        raise DataError(f"{path}: {name} is of version {version}, which is not known here.")
    shape, fortran, dtype = _FORMATS[version](file)
    if dtype.kind not in _KINDS:
        raise DataError(
            f"{path}: {name} must hold numbers or texts, got {dtype}. Objects are not read, for"
            " they would run code; save it with a plain dtype."
        )
    count = math.prod(shape)  # of Python integers, so that nothing overflows
    if min(shape, default=1) < 0 or count * dtype.itemsize > size:
        raise DataError(f"{path}: {name} is cut off: {shape} do not fit into {size:,} bytes.")
    content = file.read(count * dtype.itemsize)
    values = np.frombuffer(content, dtype=dtype, count=count)
    array = values.reshape(shape[::-1]).T if fortran else values.reshape(shape)
    return array.astype(dtype.newbyteorder("="))


@contextlib.contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # a damaged archive makes its readers raise anything
        kind = path.suffix.lower()
        raise DataError(
            f"{path} is not a readable {kind} file of numbers, it is damaged or cut off"
            f" ({reason_of(error)})."
        ) from error
