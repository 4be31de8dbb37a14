"""A graph written as a folder of files that can be opened again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gaug.data.config import PARTS
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.graph.labels import is_multilabel

#: What `write_graph_folder` may write.
GRAPH_FILES = ("edges.csv", "nodes.csv", "features.npz", "labels.csv", "split.csv")

# Every delimiter that a reader may look for, quotes, white space, and marks of comments.
_SPECIAL = re.compile(r'[\s,;|"#%]')


def write_graph_folder(folder: Path, graph: LoadedGraph) -> None:
    """Write edges, nodes, features and, where there are some, labels and a split.

    Read again, the folder gives the same nodes in the same order, edges, weights, features, labels
    and masks, with the same names.

    Args:
        folder: A folder that exists.
        graph: A valid graph.
    """
    data, ids = graph.data, graph.ids
    write_rows(folder / "nodes.csv", ["node"], ([text] for text in ids))
    upper = data.edge_index[0] < data.edge_index[1]
    weight = data.get("edge_weight")
    write_pairs(
        folder / "edges.csv",
        ids,
        data.edge_index[:, upper],
        {} if weight is None else {"weight": weight[upper]},
    )
    if data.x is not None:
        _write_features(folder / "features.npz", data.x, graph.feature_names)
    if data.y is not None:
        names = graph.class_names
        if is_multilabel(data):
            rows = ([text, *map(int, row)] for text, row in zip(ids, data.y.tolist(), strict=True))
            write_rows(folder / "labels.csv", ["node", *names], rows)
        else:
            labeled = ((ids[i], names[y]) for i, y in enumerate(data.y.tolist()) if y >= 0)
            write_rows(folder / "labels.csv", ["node", "label"], labeled)
    masks = {part: data.get(f"{part}_mask") for part in PARTS}
    if all(mask is not None for mask in masks.values()):
        split = ((ids[i], part) for part in PARTS for i in masks[part].nonzero().flatten().tolist())
        write_rows(folder / "split.csv", ["node", "split"], split)


def write_pairs(path: Path, ids: NodeIds, pairs: Tensor, numbers: dict[str, Tensor]) -> None:
    """Pairs of nodes in the user's ids, with columns of numbers beside them.

    Args:
        path: The file.
        ids: The ids of the nodes.
        pairs: Numbers of the nodes.  [2, n]
        numbers: Further columns by name, [n] each.
    """
    texts = list(ids)
    # Nine digits are enough to tell any two numbers of single precision apart.
    beside = [[f"{value:.9g}" for value in column.tolist()] for column in numbers.values()]
    ends = ([texts[u] for u in pairs[0].tolist()], [texts[v] for v in pairs[1].tolist()])
    write_rows(path, ["source", "target", *numbers], zip(*ends, *beside, strict=True))


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A comma-separated table; cells with anything in them that may mean something are quoted."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(map(_cell, header)) + "\n")
        file.writelines(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: Any) -> str:
    text = str(value)
    if _SPECIAL.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _write_features(path: Path, x: Tensor, names: tuple[str, ...]) -> None:
    arrays: dict[str, Any] = {}
    if x.layout == torch.sparse_csr:  # as scipy.sparse.save_npz does, so that SciPy reads it
        arrays["format"] = np.array(b"csr")
        arrays["shape"] = np.array(x.shape)
        arrays["indptr"] = x.crow_indices().numpy()
        arrays["indices"] = x.col_indices().numpy()
        arrays["data"] = x.values().numpy()
    else:
        arrays["x"] = x.numpy()
    if names:
        arrays["feature_names"] = np.array(names)
    np.savez(path, **arrays)
