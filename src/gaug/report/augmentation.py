"""What GAug-M did to a graph: files, a summary, and a picture of the scores."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse.csgraph
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.augment.gaug_m import ScoredChange
from gaug.edge_predictors.evaluation import intra_class_share
from gaug.errors import DataError
from gaug.graph import edge_homophily, to_scipy, undirected_pairs

_ADDED, _REMOVED = "#0060c0", "#c04000"


def summarise_change(data: Data, better: Data, found: ScoredChange) -> dict[str, Any]:
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
            "intra_class_share": intra_class_share(ranked.pairs, data.y) if has_labels else None,
        }
    return summary


def write_augmentation(
    folder: Path,
    data: Data,
    better: Data,
    found: ScoredChange,
    scores_of_edges: Tensor,
    *,
    force: bool = False,
) -> dict[str, Any]:
    """Write the better graph and what was changed; the folder appears whole or not at all.

    It holds ``edges.csv``, ``added.csv`` and ``removed.csv`` with scores, ``graph.pt``,
    ``summary.json`` and ``scores.png``. The graph is read back by
    ``Data.from_dict(torch.load("graph.pt", weights_only=True))``.

    Args:
        folder: Where to write; must not exist or be empty, unless forced.
        data: The graph as it was.
        better: The graph as it is now.
        found: What was changed, with scores.
        scores_of_edges: Scores of the edges of ``data``.  [E]
        force: Whether to replace what is in the folder.

    Returns:
        The summary.
    """
    check_folder(folder, force=force)
    summary = summarise_change(data, better, found)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        _write_pairs(new / "edges.csv", undirected_pairs(better.edge_index), None)
        _write_pairs(new / "added.csv", found.added.pairs, found.added.logits)
        _write_pairs(new / "removed.csv", found.removed.pairs, found.removed.logits)
        # A plain dict of tensors, which loads without unpickling any class.
        torch.save(better.to_dict(), new / "graph.pt")
        (new / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        draw_scores(new / "scores.png", found, scores_of_edges)
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        new.rename(folder)
    return summary


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise if results cannot go there."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file. Give a folder to write to.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise DataError(
            f"The folder {folder} is not empty. Give another, or --force to replace it."
        )


def draw_scores(path: Path, found: ScoredChange, scores_of_edges: Tensor) -> None:
    """Histograms of the scores of the edges, the added ones and the removed ones."""
    parts = {
        "edges": (scores_of_edges, "#999999"),
        "added": (found.added.logits, _ADDED),
        "removed": (found.removed.logits, _REMOVED),
    }
    shown = [scores.numpy() for scores, _ in parts.values() if scores.numel()]
    bins = np.histogram_bin_edges(np.concatenate(shown), bins=60).tolist() if shown else 10
    canvas, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, (scores, colour) in parts.items():
        if scores.numel():
            label = f"{name} ({scores.numel():,})"
            filled = name == "edges"
            axis.hist(
                scores.numpy(),
                bins=bins,
                histtype="stepfilled" if filled else "step",
                color=colour,
                label=label,
                linewidth=2,
            )
    axis.set_xlabel("score of the edge predictor")
    axis.set_ylabel("pairs of nodes")
    axis.set_yscale("log")
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    try:
        canvas.savefig(path, dpi=120)
    finally:
        plt.close(canvas)


def _write_pairs(path: Path, pairs: Tensor, scores: Tensor | None) -> None:
    header = "source,target" if scores is None else "source,target,score"
    rows = pairs.t().tolist()
    with path.open("w", encoding="utf-8") as file:
        file.write(header + "\n")
        if scores is None:
            file.writelines(f"{u},{v}\n" for u, v in rows)
        else:
            file.writelines(
                f"{u},{v},{score:.9g}\n"
                for (u, v), score in zip(rows, scores.tolist(), strict=True)
            )
