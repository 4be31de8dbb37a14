"""Predictions as a table: a row a node, in its owner's names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from gaug.classifier.fit_summary import FitSummary
from gaug.data.folders import written_atomically

# Digits that bring a number of single precision back to the bit.
_DIGITS = 9


def write_predictions(
    path: Path, probabilities: Tensor, summary: FitSummary, node_ids: Sequence[str] | None = None
) -> dict[str, int]:
    """Write a CSV file with node, class and the probability of each class.

    Where a node may have several labels, ``class`` lists those above one half, with semicolons
    between them.

    Args:
        path: Where to; appears in one step.
        probabilities: Class probabilities of every node.  [N, C]
        summary: Of the classifier, for the names of classes.
        node_ids: A name for each node; by default its number.

    Returns:
        How many nodes each class has.
    """
    names = summary.class_names
    counts = dict.fromkeys(names, 0)
    ids = range(probabilities.size(0)) if node_ids is None else node_ids
    with (
        written_atomically(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["node", "class", *(f"probability_{name}" for name in names)])
        for node, row in zip(ids, probabilities.tolist(), strict=True):
            if summary.multilabel:
                chosen = [name for name, p in zip(names, row, strict=True) if p > 0.5]
            else:
                chosen = [names[max(range(len(row)), key=row.__getitem__)]]
            for name in chosen:
                counts[name] += 1
            table.writerow([node, ";".join(chosen), *(f"{p:.{_DIGITS}g}" for p in row)])
    return counts
