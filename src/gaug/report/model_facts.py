"""A fitted classifier with its graph: its intended use and caveats, from facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import binomtest
from torch import Tensor

from gaug.classifier.base import NodeClassifier
from gaug.classifier.fit_summary import FitSummary
from gaug.data.loaded import LoadedGraph
from gaug.data.splits import Split
from gaug.drawing.names import cut
from gaug.graph.homophily import measure_homophily
from gaug.report.page.html import Html, counted, escape, join, tag

# Fewer nodes than this say little about a class.
_FEW_NODES = 20
# Fewer test nodes than this leave a score largely to chance.
_FEW_TO_TEST = 100
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


def intended_use(summary: FitSummary, folder: str) -> list[Html]:
    """What the classifier can be used for."""
    names = [cut(name, 40) for name in summary.class_names]
    listed = ", ".join(names[:_MOST_NAMED]) + (" and others" if len(names) > _MOST_NAMED else "")
    how = "any number of" if summary.multilabel else "exactly one of"
    command = tag("code", f"gaug predict {cut(folder)} GRAPH")
    return [
        escape(f"It gives every node {how} {counted(summary.num_classes, 'class')}: {listed}."),
        join(
            [
                "It predicts on the graph it was fitted to, on the same graph with new nodes, and"
                f" on others with the same {counted(summary.in_features, 'feature')}: ",
                command,
                ".",
            ]
        ),
        escape(
            "It is not meant for graphs with other features or classes: a node of an unknown kind"
            " gets one of the known classes, too."
        ),
    ]


def caveats(
    fitted: FittedModel, calibration_error: float | None = None, never_predicted: int = 0
) -> list[str]:
    """What to know before relying on the classifier.

    Args:
        fitted: The classifier and its graph.
        calibration_error: Mean distance of its confidence from its accuracy, if known.
        never_predicted: Number of classes that no held-out node is predicted to have.
    """
    summary, split = fitted.classifier.summary, fitted.split
    found = [] if summary.warning is None else [summary.warning]
    if summary.test_score is None:
        found.append(
            "There were no test nodes, so no score comes from nodes that had no part in the fit."
        )
    elif split.test.numel() < _FEW_TO_TEST:
        found.append(_few_test_nodes(summary, split.test.numel()))
    if split.val.numel():
        found.append(
            f"The epoch was chosen on {counted(split.val.numel(), 'validation node')}, so the"
            " validation score tends to be too high."
        )
    else:
        found.append("There were no validation nodes: the last epoch was used.")
    found.append("It is one fit with one seed; 'gaug train' shows how much scores vary over runs.")
    if calibration_error is not None and calibration_error > _BADLY_CALIBRATED:
        found.append(
            f"Its probabilities are off by {100 * calibration_error:.0f} points on average: use"
            " them to compare nodes, not as probabilities."
        )
    if never_predicted:
        found.append(
            f"Of {counted(summary.num_classes, 'class')}, {never_predicted:,} that"
            f" {fitted.held_out[0]} nodes have {'was' if never_predicted == 1 else 'were'} never"
            " predicted there."
        )
    found += _classes(fitted)
    found += _edges(fitted)
    return found


def _few_test_nodes(summary: FitSummary, nodes: int) -> str:
    """How far a score from few nodes may be off."""
    assert summary.test_score is not None
    told = f"The test score comes from {counted(nodes, 'node')}"
    if summary.multilabel:  # its score is no share of nodes
        return f"{told}, so chance has a large part in it."
    right = round(summary.test_score / 100 * nodes)
    low, high = binomtest(right, nodes).proportion_ci(0.95, "wilson")
    return (
        f"{told}: on many nodes like them it could be anything from {100 * low:.0f} to"
        f" {100 * high:.0f} % (95 % confidence interval of Wilson)."
    )


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
        more = " and others" if len(few) > _MOST_NAMED else ""
        found.append(
            f"{len(few):,} of {counted(len(names), 'class')}"
            f" {'has' if len(few) == 1 else 'have'} fewer than {_FEW_NODES} training nodes:"
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
        they = "it is" if lonely == 1 else "they are"
        has = "has" if lonely == 1 else "have"
        found.append(
            f"{counted(lonely, 'node')} {has} no edge: {they} classified by features alone."
        )
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
