"""Features from a file, and features for a graph that has none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gaug.data.files.arrays import only_array, read_npy, read_npz, sparse_matrix
from gaug.data.files.graph_files import MADE_FEATURES
from gaug.data.node_ids import NodeIds
from gaug.data.tables.column_choice import ColumnChoice
from gaug.data.tables.feature_table import NodeFeatures, features_of_table
from gaug.data.tables.node_table import open_node_table
from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import DataError, unknown_name
from gaug.graph.matrices import from_scipy, sparse_features


def read_features(
    path: Path,
    columns: ColumnChoice,
    known: NodeIds | None = None,
    column_means: Mapping[str, float] | None = None,
) -> NodeFeatures:
    """Features from a table with node ids, or from an array whose rows are nodes in their order.

    Args:
        path: ``.npy``, ``.npz`` (also one by `scipy.sparse.save_npz`), ``.parquet``, or text.
        columns: Which column holds the ids, and which to leave out.
        known: Ids that other files have, which tell a header.
        column_means: What to put where a table lacks a number, by the name of its column; None: the
            mean of the column.
    """
    suffix = plain_suffix(path)
    if suffix in (".npy", ".npz"):
        return _features_of_arrays(path, suffix)
    table, id_column = open_node_table(path, columns, known, "drop")
    return features_of_table(
        table, id_column, columns.find_all_present(table, "drop"), column_means
    )


def make_features(kind: str, edge_index: Tensor, num_nodes: int) -> Tensor:
    """Features for a graph without any: from degrees, or each node its own.  [N, F]

    Args:
        kind: ``one-hot-degree``, a column for each degree; ``scaled-degree``, the degree as a share
            of the largest; ``identity``, a column for each node. The first and the last are sparse.
        edge_index: Edges of a valid graph.
        num_nodes: Number of nodes.
    """
    degree = torch.bincount(edge_index[0], minlength=num_nodes)
    if kind == "scaled-degree":
        return (degree / degree.max().clamp(min=1)).unsqueeze(1).float()
    if kind not in MADE_FEATURES:
        raise unknown_name("features to make", kind, MADE_FEATURES)
    column = degree if kind == "one-hot-degree" else torch.arange(num_nodes)
    shape = (num_nodes, int(column.max()) + 1)
    return sparse_features(torch.arange(num_nodes + 1), column, torch.ones(num_nodes), shape)


def _features_of_arrays(path: Path, suffix: str) -> NodeFeatures:
    arrays = {path.stem: read_npy(path)} if suffix == ".npy" else read_npz(path)
    names = tuple(map(str, arrays.pop("feature_names", np.array([])).ravel().tolist()))
    matrix = sparse_matrix(path, arrays)
    notes: list[str] = []
    if matrix is not None:
        x = from_scipy(matrix)
        _check_finite(path, x.values())
    else:
        x = torch.from_numpy(_filled(path, _the_array(path, arrays), notes))
    if names and len(names) != x.size(1):
        raise DataError(
            f"{path}: feature_names must have one name per column ({x.size(1):,}), got"
            f" {len(names):,}."
        )
    return NodeFeatures(x, None, names, tuple(notes))


def _the_array(path: Path, arrays: dict[str, np.ndarray]) -> np.ndarray:
    array = only_array(path, arrays, ("x", "features"))
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind not in "biuf" or 0 in array.shape:
        raise DataError(
            f"{path} must hold a matrix of numbers, one row per node, got {array.dtype} of shape"
            f" {list(array.shape)}."
        )
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _filled(path: Path, array: np.ndarray, notes: list[str]) -> np.ndarray:
    if np.isinf(array).any():
        row, column = np.argwhere(np.isinf(array))[0]
        raise DataError(
            f"{path}, row {row:,}, column {column:,} (from 0): a feature must be a finite number."
        )
    unknown = np.isnan(array)
    if not unknown.any():
        return array
    if unknown.all(axis=0).any():
        column = int(np.flatnonzero(unknown.all(axis=0))[0])
        raise DataError(f"{path}: column {column:,} (from 0) holds no value. Leave it out.")
    notes.append(f"Filled {int(unknown.sum()):,} missing features with the mean of their column.")
    return np.where(unknown, np.nanmean(array, axis=0, dtype=np.float64), array).astype(np.float32)


def _check_finite(path: Path, values: Tensor) -> None:
    if not bool(torch.isfinite(values).all()):
        raise DataError(f"{path}: features must be finite numbers, got one that is not.")
