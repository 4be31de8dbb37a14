"""Predictions as a table: one row per node, with the user's ids."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from gaug.classifier.fit_summary import FitSummary
from gaug.data.folders import written_atomically

# Digits that represent a single-precision number exactly.
_DIGITS = 9


def write_predictions(
    path: Path, probabilities: Tensor, summary: FitSummary, node_ids: Sequence[str] | None = None
) -> dict[str, int]:
    """Write a CSV file with node, class and the probability of each class.

    If nodes may have several labels, ``class`` lists those with a probability above one half,
    separated by semicolons.

    Args:
        path: Output file; written atomically.
        probabilities: Class probabilities of every node.  [N, C]
        summary: Summary of the classifier, for the class names.
        node_ids: One name per node; by default its number.

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
