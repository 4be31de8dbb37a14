"""A fitted classifier with its graph: its intended use and caveats, from facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gaug.classifier.base import NodeClassifier
from gaug.classifier.fit_summary import FitSummary
from gaug.data.loaded import LoadedGraph
from gaug.data.splits import Split
from gaug.drawing.names import cut
from gaug.graph.homophily import measure_homophily

# Fewer nodes than this say little about a class.
_FEW_NODES = 20
_MOST_NAMED = 8
_BADLY_CALIBRATED = 0.1


@dataclass(frozen=True)
class FittedModel:
    """A classifier with what it was fitted to and what it predicts there.

    Attributes:
        classifier: The classifier.
        graph: Its graph.
        split: The training, validation and test nodes.
        probabilities: Its predictions on that graph.  [N, C]
        config: All settings, by group.
        seconds: How long the fit took.
        folder: Where it is saved.
    """

    classifier: NodeClassifier
    graph: LoadedGraph
    split: Split
    probabilities: Tensor
    config: Mapping[str, Any]
    seconds: float
    folder: str

    @property
    def held_out(self) -> tuple[str, np.ndarray]:
        """The nodes that judge it: test nodes, or else validation nodes."""
        part = "test" if self.split.test.numel() else "validation"
        nodes = self.split.test if part == "test" else self.split.val
        return part, nodes.numpy()


def intended_use(summary: FitSummary, folder: str) -> list[str]:
    """What the classifier can be used for."""
    names = [cut(name, 40) for name in summary.class_names]
    listed = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    how = "any number of" if summary.multilabel else "exactly one of"
    return [
        f"It gives every node {how} {summary.num_classes:,} classes: {listed}.",
        f"It takes the graph of its fit, or another one, also with new nodes, whose nodes have the"
        f" same {summary.in_features:,} features: gaug predict {cut(folder)} GRAPH.",
        "It is not meant for graphs with other features or classes: a node of an unknown kind gets"
        " one of the known classes, too.",
    ]


def caveats(fitted: FittedModel, calibration_error: float | None = None) -> list[str]:
    """What to know before relying on the classifier.

    Args:
        fitted: The classifier and its graph.
        calibration_error: Mean distance of its confidence from its accuracy, if known.
    """
    summary, split = fitted.classifier.summary, fitted.split
    found = [] if summary.warning is None else [summary.warning]
    if summary.test_score is None:
        found.append(
            "There were no test nodes, so no score comes from nodes that had no part in the fit."
        )
    elif split.test.numel() < 100:
        found.append(
            f"The test score comes from {split.test.numel():,} nodes: by chance alone it varies by"
            f" about {_chance(summary.test_score, split.test.numel()):.0f} points."
        )
    if split.val.numel():
        found.append(
            f"The epoch was chosen on {split.val.numel():,} validation nodes, so the validation"
            " score is a little too good."
        )
    else:
        found.append("There were no validation nodes: the last epoch was used.")
    found.append("It is one fit with one seed; 'gaug train' shows how much scores vary over runs.")
    if calibration_error is not None and calibration_error > _BADLY_CALIBRATED:
        found.append(
            f"Its probabilities are off by {100 * calibration_error:.0f} points on average: use"
            " them to compare nodes, not as probabilities."
        )
    found += _classes(fitted)
    found += _edges(fitted)
    return found


def _chance(score: float, nodes: int) -> float:
    """Standard error of a share in percent."""
    share = score / 100
    return float(100 * np.sqrt(max(share * (1 - share), 1e-9) / nodes))


def _classes(fitted: FittedModel) -> list[str]:
    y, names = fitted.graph.data.y, fitted.classifier.class_names
    if y is None:
        return []
    labels = y[fitted.split.train]
    counts = (
        labels.sum(dim=0).long()
        if y.dim() == 2
        else torch.bincount(labels.clamp(min=0), minlength=len(names))
    ).tolist()
    few = [name for name, count in zip(names, counts, strict=True) if count < _FEW_NODES]
    found = []
    if few:
        listed = ", ".join(cut(name, 40) for name in few[:_MOST_NAMED])
        more = ", …" if len(few) > _MOST_NAMED else ""
        found.append(
            f"{len(few):,} of {len(names):,} classes have fewer than {_FEW_NODES} training nodes:"
            f" {listed}{more}."
        )
    if counts and min(counts) > 0 and max(counts) >= 10 * min(counts):
        found.append(
            f"Classes are unequal: from {min(counts):,} to {max(counts):,} training nodes. Rare"
            " classes are found less often than the overall score says."
        )
    return found


def _edges(fitted: FittedModel) -> list[str]:
    data = fitted.graph.data
    degree = torch.bincount(data.edge_index[0], minlength=int(data.num_nodes))
    found = []
    lonely = int((degree == 0).sum())
    if lonely:
        found.append(f"{lonely:,} nodes have no edge: they are classified by their features alone.")
    if data.y is not None and data.y.dim() == 1:
        known = torch.full_like(data.y, -1)
        for nodes in (fitted.split.train, fitted.split.val):
            known[nodes] = data.y[nodes]
        homophily = measure_homophily(data, known)
        if homophily is not None and homophily.is_high is False:
            found.append(
                f"Only {homophily.share:.0%} of the edges between labeled nodes are within a class"
                f" ({homophily.by_chance:.0%} by chance), so neighbors say little about a node."
            )
    return found
