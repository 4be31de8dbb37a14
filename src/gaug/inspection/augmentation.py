"""What GAug-M did to a graph, with the scores, and why."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.data.opening import as_loaded
from gaug.edge_predictors.evaluation import random_pairs
from gaug.errors import DataError
from gaug.graph.edges import pair_keys, undirected_pairs
from gaug.graph.matrices import to_scipy
from gaug.inspection.augmentation_files import read_parts
from gaug.inspection.pair_reasons import (
    MOST_LISTED,
    PairReasons,
    SharedFeature,
    feature_counts,
    shared_features,
)
from gaug.methods.gaug_m.method import GAugM, ScoredChange
from gaug.pairs.ranking import RankedPairs

#: Random pairs whose scores are shown next to those of the edges.
SHOWN_PAIRS = 10_000


@dataclass(frozen=True)
class Augmentation:
    """A graph, what was added to it and removed from it, and the scores that decided.

    Attributes:
        graph: The original graph, with names.
        change: Added and removed edges with their scores.
        edge_scores: Scores of all original edges, in the order of `edges`.
        random_scores: Scores of some random pairs.
        made_by: Graph, settings, seed and versions, if known.
        score: Scores of any pairs, if the edge predictor is at hand.  [2, n] → [n]

    Examples:
        >>> from gaug import Augmentation, GAugM, open_graph
        >>> done = Augmentation.of(open_graph("karate"), GAugM(predictor="ra", add_fraction=0.1))
        >>> reasons = done.explain_pair(2, 33)
        >>> reasons.action, reasons.rank, reasons.num_common
        ('added', 1, 6)
    """

    graph: LoadedGraph
    change: ScoredChange
    edge_scores: Tensor
    random_scores: Tensor
    made_by: Mapping[str, Any] = field(default_factory=dict)
    score: Callable[[Tensor], Tensor] | None = None

    @classmethod
    def of(
        cls,
        graph: LoadedGraph | Data,
        method: GAugM,
        *,
        scored: Data | None = None,
        change: ScoredChange | None = None,
        made_by: Mapping[str, Any] | None = None,
    ) -> Augmentation:
        """Augment a graph.

        Args:
            graph: The graph.
            method: GAug-M with its settings.
            scored: The same graph as the edge predictor sees it, if its features are scaled.
            change: The change, if it was found before.
            made_by: Graph, settings, seed and versions.
        """
        loaded = graph if isinstance(graph, LoadedGraph) else as_loaded(graph)
        data = loaded.data if scored is None else scored
        change = change or method.find_change(data)
        generator = torch.Generator().manual_seed(method.seed)
        others = random_pairs(int(data.num_nodes), SHOWN_PAIRS, generator)
        return cls(
            loaded,
            change,
            method.edge_logits(data, undirected_pairs(data.edge_index)),
            method.edge_logits(data, others),
            made_by or {},
            lambda pairs: method.edge_logits(data, pairs),
        )

    @classmethod
    def read(cls, folder: str | Path) -> Augmentation:
        """The augmentation in a folder that 'gaug augment' wrote.

        Raises:
            DataError: If the folder is something else, or damaged.
        """
        graph, arrays, made_by = read_parts(Path(folder))
        added, removed = (
            RankedPairs(torch.from_numpy(arrays[kind]), torch.from_numpy(arrays[f"{kind}_scores"]))
            for kind in ("added", "removed")
        )
        edges, others = (torch.from_numpy(arrays[f"{kind}_scores"]) for kind in ("edge", "random"))
        return cls(graph, ScoredChange(added, removed), edges, others, made_by)

    def write_scores(self, path: Path) -> None:
        """Write pairs and scores as an ``.npz`` file of plain arrays, for `read`."""
        arrays = {
            "edges": self.edges.numpy().astype(np.int32),
            "edge_scores": self.edge_scores.numpy(),
            "random_scores": self.random_scores.numpy(),
        }
        for kind, ranked in (("added", self.change.added), ("removed", self.change.removed)):
            arrays[kind] = ranked.pairs.numpy().astype(np.int32)
            arrays[f"{kind}_scores"] = ranked.logits.numpy()
        np.savez_compressed(path, allow_pickle=False, **arrays)

    @property
    def edges(self) -> Tensor:
        """The original edges, each once.  [2, E]"""
        return undirected_pairs(self.graph.data.edge_index)

    @functools.cached_property
    def kept(self) -> Tensor:
        """Which original edges were kept.  [E]"""
        count = int(self.graph.data.num_nodes)
        removed = pair_keys(self.change.removed.pairs, count)
        return ~torch.isin(pair_keys(self.edges, count), removed)

    @functools.cached_property
    def better(self) -> Data:
        """The augmented graph."""
        return self.change.change.apply(self.graph.data)

    def explain_pair(self, u: str | int, v: str | int) -> PairReasons:
        """Why two nodes were joined, parted or left alone.

        Args:
            u: Id of a node, as the graph has it.
            v: Id of another.

        Raises:
            DataError: If there is no such node, or both are the same.
        """
        ends = self.graph.ids.positions([str(u), str(v)])
        for name, end in zip((u, v), ends, strict=True):
            if end < 0:
                raise DataError(f"There is no node {str(name)!r:.80} in {self.graph.name:.80}.")
        if ends[0] == ends[1]:
            raise DataError(f"A pair must have two different nodes, got {str(u)!r:.80} twice.")
        first, second = sorted(int(end) for end in ends)
        return self.explain(first, second)

    def explain(self, u: int, v: int) -> PairReasons:
        """`explain_pair` by the numbers of the nodes, the smaller one first."""
        graph, ids = self.graph, self.graph.ids
        action, rank, count, score = self._place(u, v)
        above = None
        if score is not None and self.edge_scores.numel():
            above = float(np.searchsorted(self._sorted_scores, score) / self.edge_scores.numel())
        ours, theirs = self._neighbors(u), self._neighbors(v)
        common = np.intersect1d(ours, theirs)
        degrees = np.diff(self._adjacency.indptr)
        listed = common[np.argsort(degrees[common], kind="stable")][:MOST_LISTED]
        similarity: float | None = None
        shared: tuple[SharedFeature, ...] = ()
        if graph.data.x is not None:
            similarity, shared = shared_features(
                graph.data.x, graph.feature_names, self._feature_counts, u, v
            )
        return PairReasons(
            ids[u],
            ids[v],
            action,
            score,
            rank,
            count,
            above,
            (len(ours), len(theirs)),
            len(common),
            tuple(ids[int(node)] for node in listed),
            similarity,
            shared,
            (self.class_of(u), self.class_of(v)),
        )

    def class_of(self, node: int) -> str | None:
        """The class of a node, several joined by commas; None if unknown."""
        y, names = self.graph.data.y, self.graph.class_names
        if y is None:
            return None
        if y.dim() == 2:
            return ", ".join(names[i] for i in y[node].nonzero().flatten().tolist()) or None
        label = int(y[node])
        return names[label] if label >= 0 else None

    def _place(self, u: int, v: int) -> tuple[str, int | None, int | None, float | None]:
        """Action, rank, number of pairs of that action, and score."""
        count = int(self.graph.data.num_nodes)
        kept = self.kept
        for action, pairs, scores in (
            ("added", self.change.added.pairs, self.change.added.logits),
            ("removed", self.change.removed.pairs, self.change.removed.logits),
            ("kept", self.edges[:, kept], self.edge_scores[kept]),
        ):
            places = (pair_keys(pairs, count) == u * count + v).nonzero()
            if places.numel():
                place = int(places[0])
                score = float(scores[place])
                rank = place + 1 if action != "kept" else int((scores > score).sum()) + 1
                return action, rank, scores.numel(), score
        if self.score is None:
            return "not joined", None, None, None
        return "not joined", None, None, float(self.score(torch.tensor([[u], [v]]))[0])

    @functools.cached_property
    def _sorted_scores(self) -> np.ndarray:
        return np.sort(self.edge_scores.double().numpy())

    @functools.cached_property
    def _adjacency(self) -> scipy.sparse.csr_matrix:
        return to_scipy(self.graph.data.edge_index, int(self.graph.data.num_nodes))

    @functools.cached_property
    def _feature_counts(self) -> np.ndarray:
        return feature_counts(self.graph.data.x)

    def _neighbors(self, node: int) -> np.ndarray:
        start, stop = self._adjacency.indptr[node : node + 2]
        return np.asarray(self._adjacency.indices[start:stop])
