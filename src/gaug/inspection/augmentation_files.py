"""The files of a folder that 'gaug augment' wrote, checked; nothing is unpickled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gaug.data.files.arrays import read_npz
from gaug.data.files.saved import read_saved
from gaug.data.loaded import LoadedGraph
from gaug.errors import DataError

#: The files that hold an augmentation.
GRAPH, SCORES, SUMMARY = "graph.pt", "scores.npz", "summary.json"


def read_parts(folder: Path) -> tuple[LoadedGraph, dict[str, np.ndarray], dict[str, Any]]:
    """The original graph, the arrays of pairs and scores, and how they were made.

    Raises:
        DataError: If the folder is something else, or damaged.
    """
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}. 'gaug augment' creates one.")
    for name in (GRAPH, SCORES, SUMMARY):
        if not (folder / name).is_file():
            raise DataError(
                f"{folder} is no result of this version's 'gaug augment': it has no {name}."
            )
    better = read_saved(folder / GRAPH, folder.name)
    arrays = _checked(folder / SCORES, int(better.data.num_nodes))
    before = better.data.clone()
    edges = torch.from_numpy(arrays["edges"])
    before.edge_index = torch.cat([edges, edges.flip(0)], dim=1)
    before.edge_weight = None
    made_by = _made_by(folder / SUMMARY)
    name = str(made_by.get("graph", folder.name))
    names = (better.ids, better.class_names, better.feature_names)
    return LoadedGraph(name, before, *names), arrays, made_by


def _made_by(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["made_by"]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise DataError(f"{path} is damaged: it was not written by 'gaug augment'.") from error
    return found if isinstance(found, dict) else {}


def _checked(path: Path, num_nodes: int) -> dict[str, np.ndarray]:
    """The arrays of a file of scores, in the right shapes and within the graph."""
    arrays = read_npz(path)
    names = [f"{kind}{part}" for kind in ("added", "removed") for part in ("", "_scores")]
    for name in ("edges", "edge_scores", "random_scores", *names):
        if name not in arrays:
            raise DataError(f"{path} is damaged: it has no array {name}.")
    for name, scores in (
        ("edges", "edge_scores"),
        ("added", "added_scores"),
        ("removed", "removed_scores"),
    ):
        pairs = arrays[name] = arrays[name].astype(np.int64)
        right = pairs.ndim == 2 and pairs.shape[0] == 2 and arrays[scores].ndim == 1
        if not right or pairs.shape[1] != arrays[scores].size:
            raise DataError(f"{path} is damaged: {name} and {scores} do not belong together.")
        if pairs.size and not 0 <= int(pairs.min()) <= int(pairs.max()) < num_nodes:
            raise DataError(f"{path} is damaged: {name} has a node that the graph does not have.")
    return arrays
