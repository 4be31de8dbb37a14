"""The output of 'gaug augment': files, a summary, a picture of the scores, and a page."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse.csgraph
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.files.folder import GRAPH_FILES, write_graph_folder, write_pairs
from gaug.data.loaded import LoadedGraph
from gaug.drawing.names import literal
from gaug.errors import DataError
from gaug.graph.homophily import edge_homophily
from gaug.graph.matrices import to_scipy
from gaug.inspection.augmentation import Augmentation
from gaug.inspection.augmentation_files import GRAPH, SCORES, SUMMARY
from gaug.methods.gaug_m.method import ScoredChange
from gaug.report.augmentation_page import augmentation_page
from gaug.report.page.charts import bins

_ADDED, _REMOVED = "#0060c0", "#c04000"
_BESIDE = ("#aaaaaa", "#e69f00")

#: The page in a folder of results.
PAGE = "report.html"
#: Files written by `write_augmentation`.
FILES = (*GRAPH_FILES, "added.csv", "removed.csv", GRAPH, SUMMARY, SCORES, "scores.png", PAGE)


def summarize_change(data: Data, better: Data, found: ScoredChange) -> dict[str, Any]:
    """Sizes, homophily, degrees and components before and after, ready for JSON."""
    summary: dict[str, Any] = {"nodes": int(data.num_nodes)}
    for name, graph in (("before", data), ("after", better)):
        degree = torch.bincount(graph.edge_index[0], minlength=int(data.num_nodes))
        adjacency = to_scipy(graph.edge_index, int(data.num_nodes))
        components = scipy.sparse.csgraph.connected_components(adjacency, directed=False)[0]
        summary[name] = {
            "edges": graph.num_edges // 2,
            "edge_homophily": None if data.y is None else edge_homophily(graph.edge_index, data.y),
            "mean_degree": float(degree.double().mean()),
            "largest_degree": int(degree.max()),
            "isolated_nodes": int((degree == 0).sum()),
            "components": int(components),
        }
    for name, ranked in (("added", found.added), ("removed", found.removed)):
        has_labels = data.y is not None and data.y.dim() == 1 and len(ranked) > 0
        summary[name] = {
            "edges": len(ranked),
            "intra_class_share": edge_homophily(ranked.pairs, data.y) if has_labels else None,
            "tied_at_the_last_score": int((ranked.logits == ranked.logits[-1:]).sum()),
        }
    return summary


def write_augmentation(
    folder: Path,
    done: Augmentation,
    title: str,
    *,
    force: bool = False,
    command: str | None = None,
) -> dict[str, Any]:
    """Write the augmented graph and its changes; the folder is written atomically.

    It holds the augmented graph as ``edges.csv``, ``nodes.csv``, ``features.npz``, ``labels.csv``
    and ``split.csv``, so the folder can be read again as a graph; ``added.csv`` and ``removed.csv``
    with scores; ``summary.json`` and ``scores.png``; ``scores.npz`` with the scores of all original
    edges and of random pairs, which `gaug.Augmentation.read` takes; ``report.html``, the page; and
    ``graph.pt``, with the added and removed edges, which is read by
    ``Data.from_dict(torch.load("graph.pt", weights_only=True))``. Nodes have the user's ids.

    Args:
        folder: Output folder; must not exist or must be empty, unless forced.
        done: The augmentation.
        title: Title of the picture.
        force: Whether to replace an earlier result in the folder.
        command: The command that made it, for the page.

    Returns:
        The summary.
    """
    folder = folder.resolve()  # "." cannot be replaced
    check_folder(folder, force=force)
    graph, better, found = done.graph, done.better, done.change
    summary = {"made_by": dict(done.made_by), **summarize_change(graph.data, better, found)}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        write_graph_folder(new, dataclasses.replace(graph, data=better))
        for name, ranked in (("added", found.added), ("removed", found.removed)):
            write_pairs(new / f"{name}.csv", graph.ids, ranked.pairs, {"score": ranked.logits})
        # A plain dict of tensors and strings, which loads without unpickling any class.
        changes = {
            f"{name}_{part}": value
            for name, ranked in (("added", found.added), ("removed", found.removed))
            for part, value in (("edges", ranked.pairs), ("logits", ranked.logits))
        }
        torch.save(better.to_dict() | changes | _names(graph), new / GRAPH)
        (new / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        done.write_scores(new / SCORES)
        beside = {"random pairs": done.random_scores, "edges": done.edge_scores}
        draw_scores(new / "scores.png", found, beside, title)
        page = augmentation_page(done, summary, command)
        (new / PAGE).write_text(page.render(), encoding="utf-8")
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        new.rename(folder)
    return summary


def _names(graph: LoadedGraph) -> dict[str, list[str]]:
    """Names of nodes, classes and features, unless they are just numbers."""
    names = {
        "node_id": [] if graph.ids.are_numbers else list(graph.ids),
        "class_names": list(graph.class_names),
        "feature_names": list(graph.feature_names),
    }
    plain = [str(number) for number in range(len(graph.class_names))]
    return {key: value for key, value in names.items() if value and value != plain}


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise if results cannot be written there."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file. Use a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise DataError(f"The folder {folder} is not empty. Use another one.", topic="not-empty")
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    others = sorted(present - set(FILES))
    if others:
        raise DataError(
            f"The folder {folder} contains a file that 'gaug augment' did not write"
            f" ({others[0]}) and will not delete. Use another one."
        )


def draw_scores(path: Path, found: ScoredChange, scores: Mapping[str, Tensor], title: str) -> None:
    """Histograms of the scores of the added and removed edges, and of other pairs."""
    parts = {
        **{
            name: (values, color, 0.5)
            for (name, values), color in zip(scores.items(), _BESIDE, strict=False)
        },
        "added": (found.added.logits, _ADDED, 1.0),
        "removed": (found.removed.logits, _REMOVED, 1.0),
    }
    shown = [values.double().numpy() for values, _, _ in parts.values() if values.numel()]
    edges = bins(np.concatenate(shown)) if shown else np.array([0.0, 1.0])
    canvas, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, (values, color, alpha) in parts.items():
        if values.numel():
            axis.hist(
                values.double().numpy(),
                bins=edges.tolist(),
                histtype="stepfilled" if name in scores else "step",
                color=color,
                alpha=alpha,
                label=f"{name} ({values.numel():,})",
                linewidth=2,
            )
    axis.set_title(literal(title))
    axis.set_xlabel("score of the edge predictor")
    axis.set_ylabel("pairs of nodes")
    axis.set_yscale("log")
    axis.set_ylim(bottom=0.5)
    canvas.legend(loc="outside lower center", ncols=2, frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    try:
        canvas.savefig(path, dpi=120)
    finally:
        plt.close(canvas)
