"""Features of one graph in the columns of another, for a model that was fitted to the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy.sparse
import torch

from gaug.data.loaded import LoadedGraph
from gaug.data.tables.table import shown
from gaug.errors import DataError
from gaug.graph.matrices import from_scipy, to_scipy_features

_SHOWN = 5


def align_features(graph: LoadedGraph, names: Sequence[str]) -> LoadedGraph:
    """The graph with its features in the order of the given names.

    A table of a grown graph may have its columns in another order, lack a category, or have a new
    one. A category that it lacks becomes a column of zeros; a new category of a known column is
    left out, with a note. Any other difference is refused.

    Args:
        graph: The graph.
        names: ``feature_names`` of the graph that a model was fitted to; empty if they had none.

    Raises:
        DataError: With the columns that are missing or too many.
    """
    if not names or not graph.feature_names:
        return graph  # only their number can be compared, which the model does
    if tuple(names) == graph.feature_names:
        return graph
    given = {name: column for column, name in enumerate(graph.feature_names)}
    wanted = set(names)
    categorical = _category_columns(names) & _category_columns(graph.feature_names)
    missing = [n for n in names if n not in given and _column_of(n) not in categorical]
    extra = [n for n in given if n not in wanted and _column_of(n) not in categorical]
    for fault, listed in (("lacks", missing), ("has, which were not there before,", extra)):
        if listed:
            some = ", ".join(map(shown, listed[:_SHOWN])) + (", …" if len(listed) > _SHOWN else "")
            raise DataError(
                f"Graph {graph.name!r} {fault} the features {some}. Give the features that the"
                " model was fitted to."
            )
    new = [name for name in given if name not in wanted]
    note = f"Left out categories that are new: {', '.join(map(shown, new[:_SHOWN]))}."
    sources = [given.get(name, -1) for name in names]
    data = graph.data.clone()
    x = data.x
    present = [place for place, source in enumerate(sources) if source >= 0]
    # A product with a matrix of ones in the right places keeps sparse features sparse.
    ones = np.ones(len(present), dtype=np.float32)
    places = ([sources[place] for place in present], present)
    chooser = scipy.sparse.csr_matrix((ones, places), shape=(x.size(1), len(names)))
    if x.layout == torch.sparse_csr:
        data.x = from_scipy(scipy.sparse.csr_matrix(to_scipy_features(x) @ chooser))
    else:
        data.x = torch.zeros(x.size(0), len(names))
        data.x[:, present] = x[:, [sources[place] for place in present]]
    notes = (*graph.notes, note) if new else graph.notes
    return dataclasses.replace(graph, data=data, feature_names=tuple(names), notes=notes)


def _column_of(name: str) -> str:
    return name.partition("=")[0]


def _category_columns(names: Sequence[str]) -> set[str]:
    return {_column_of(name) for name in names if "=" in name}
