"""Why a pair of nodes was joined, parted or left alone: what the graph says about it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gaug.drawing.names import cut
from gaug.graph.matrices import to_scipy_features

#: Shared features and common neighbors that are listed.
MOST_LISTED = 5


@dataclass(frozen=True)
class SharedFeature:
    """A feature that both nodes have.

    Attributes:
        name: Its name, or its number.
        part: What it contributes to the cosine similarity of the two nodes.
        nodes: How many nodes of the graph have it.
    """

    name: str
    part: float
    nodes: int


@dataclass(frozen=True)
class PairReasons:
    """What is known about a pair of nodes.

    Attributes:
        source: Id of one node.
        target: Id of the other.
        action: ``added``, ``removed``, ``kept`` or ``not joined``.
        score: Score of the edge predictor; None if it was not kept.
        rank: Place among the pairs of its action: of the added ones from the best, of the removed
            ones from the worst, of the kept ones from the best.
        count: Number of pairs of its action.
        above: Share of the graph's edges with a lower score.
        degrees: Number of neighbors of each in the original graph.
        num_common: Number of common neighbors in the original graph.
        common: Some of them, those with the fewest neighbors first.
        similarity: Cosine similarity of their features; None without features.
        shared: The features that contribute most to it, the rarest first among equals.
        classes: Class of each, several joined by commas; None if unknown.
    """

    source: str
    target: str
    action: str
    score: float | None
    rank: int | None
    count: int | None
    above: float | None
    degrees: tuple[int, int]
    num_common: int
    common: tuple[str, ...]
    similarity: float | None
    shared: tuple[SharedFeature, ...]
    classes: tuple[str | None, str | None]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)

    def lines(self) -> list[str]:
        """The reasons, one per line, with long names cut."""
        rows = [("score", self._score_words())]
        common = f"{self.num_common:,} of {self.degrees[0]:,} and {self.degrees[1]:,}"
        if self.common:
            common += f": {_listed(self.common, self.num_common)}"
        rows.append(("common neighbors", common))
        if self.similarity is not None:
            words = f"similarity {self.similarity:.2f}"
            if self.shared:
                named = [f"{cut(one.name)} ({one.nodes:,} nodes)" for one in self.shared]
                words += f"; most in common: {', '.join(named)}"
            rows.append(("features", words))
        if any(name is not None for name in self.classes):
            first, second = (cut(name) if name else "unknown" for name in self.classes)
            rows.append(
                ("classes", first if len(set(self.classes)) == 1 else f"{first} and {second}")
            )
        width = max(len(name) for name, _ in rows)
        head = f"{cut(self.source)} – {cut(self.target)}: {self.action}"
        return [head, *(f"  {name:<{width}}  {words}" for name, words in rows)]

    def _score_words(self) -> str:
        if self.score is None:
            return "not kept for pairs that are no edges and were not added"
        words = f"{self.score:.4g}"
        if self.rank is not None:
            side = "lowest" if self.action == "removed" else "highest"
            words += f", number {self.rank:,} of {self.count:,} {self.action}, {side} first"
        if self.above is not None:
            words += f"; above {self.above:.0%} of the edges"
        return words


def shared_features(
    x: Tensor, names: tuple[str, ...], counts: np.ndarray, u: int, v: int
) -> tuple[float, tuple[SharedFeature, ...]]:
    """Cosine similarity of two rows, and the columns that contribute most to it.

    Args:
        x: Features, dense or ``torch.sparse_csr``.  [N, F]
        names: A name for each column; may be empty.
        counts: How many nodes have each feature.  [F]
        u: One row.
        v: The other.
    """
    (columns, ours), (others, theirs) = _row(x, u), _row(x, v)
    both, at_u, at_v = np.intersect1d(columns, others, return_indices=True)
    norm = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
    if norm == 0:
        return 0.0, ()
    parts = ours[at_u] * theirs[at_v] / norm
    order = np.lexsort((both, counts[both], -parts.round(9)))
    listed = [place for place in order[:MOST_LISTED] if parts[place] > 0]
    shared = tuple(
        SharedFeature(
            names[both[place]] if names else f"feature {both[place]}",
            float(parts[place]),
            int(counts[both[place]]),
        )
        for place in listed
    )
    return float(parts.sum()), shared


def feature_counts(x: Tensor) -> np.ndarray:
    """How many nodes have each feature.  [F]"""
    if x.layout == torch.sparse_csr:
        matrix = to_scipy_features(x)
        return np.bincount(matrix.indices[matrix.data != 0], minlength=matrix.shape[1])
    return np.asarray(torch.count_nonzero(x, dim=0).numpy())


def _row(x: Tensor, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the non-zeros of a row."""
    if x.layout == torch.sparse_csr:
        matrix = to_scipy_features(x)
        part = slice(matrix.indptr[node], matrix.indptr[node + 1])
        return matrix.indices[part], matrix.data[part].astype(np.float64)
    row = x[node].double().numpy()
    columns = np.flatnonzero(row)
    return columns, row[columns]


def _listed(names: tuple[str, ...], total: int) -> str:
    return ", ".join(map(cut, names)) + (", …" if total > len(names) else "")
