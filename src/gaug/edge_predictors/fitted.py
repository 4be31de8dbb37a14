"""Predictors that are fitted once and asked often, as a search over fractions does."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors import build_predictor, parse_predictor
from gaug.edge_predictors.base import EdgePredictor, PredictorConfig
from gaug.edge_predictors.combined import CombinedPredictor
from gaug.errors import ConfigError, DataError
from gaug.graph.fingerprint import graph_hash
from gaug.pairs.ranking import OnShare, RankedPairs, part_of_work

# Fitted predictors that are kept for the next one who asks.
_KEPT = 8
_kept: OrderedDict[str, RankedPredictor] = OrderedDict()


class RankedPredictor:
    """A fitted predictor that remembers its longest ranking: a shorter one is a part of it.

    Args:
        predictor: A fitted predictor.
    """

    def __init__(self, predictor: EdgePredictor) -> None:
        predictor.check_fitted()
        self.predictor = predictor
        self._longest: dict[bool, RankedPairs] = {}

    def top_non_edges(
        self, count: int, *, per_node: bool = False, on_share: OnShare | None = None
    ) -> RankedPairs:
        """The best non-edges, as `EdgePredictor.top_non_edges` gives them."""
        known = self._longest.get(per_node)
        if known is None or len(known) < count:
            known = self.predictor.top_non_edges(count, per_node=per_node, on_share=on_share)
            self._longest[per_node] = known
        return known.first(count)

    def bottom_edges(self, count: int) -> RankedPairs:
        """The worst edges."""
        return self.predictor.bottom_edges(count)


class FitsAndScores(Protocol):
    """What a predictor of a user's must have."""

    def fit(self, data: Data) -> object:
        """Learn from a graph."""
        ...

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair, higher for likelier edges.  [2, n] → [n]"""
        ...


class UserPredictor(EdgePredictor):
    """Any object with ``fit(data)`` and ``edge_logits(pairs)`` as an edge predictor.

    Args:
        wrapped: The object.
    """

    def __init__(self, wrapped: FitsAndScores) -> None:
        if isinstance(wrapped, type):
            raise ConfigError(f"predictor must be an object, got the class {wrapped.__name__}.")
        for name in ("fit", "edge_logits"):
            if not callable(getattr(wrapped, name, None)):
                raise ConfigError(
                    f"predictor must be a name or have fit(data) and edge_logits(pairs);"
                    f" {type(wrapped).__name__} has no {name}."
                )
        self.wrapped = wrapped

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self.wrapped.fit(data)

    def _adapt(self, data: Data) -> None:
        adapted = getattr(self.wrapped, "adapted", None)
        if not callable(adapted):
            raise ConfigError(
                f"{type(self.wrapped).__name__} cannot score the nodes of another graph: it has no"
                " method adapted(data), which gives a predictor for it without learning anew."
            )
        self.wrapped = adapted(data)

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """The score of each pair.  [2, n] → [n]"""
        self.check_pairs(pairs)
        scores = torch.as_tensor(self.wrapped.edge_logits(pairs)).detach().cpu()
        if scores.shape != pairs.shape[1:]:
            raise DataError(
                f"edge_logits of {type(self.wrapped).__name__} must give one score a pair"
                f" ({pairs.size(1)}), got shape {list(scores.shape)}."
            )
        return scores.float()


def fit_once(
    text: str,
    configs: Mapping[str, PredictorConfig],
    data: Data,
    seed: int,
    *,
    scale: str = "standardized",
    labels: Tensor | None = None,
    on_share: OnShare | None = None,
) -> RankedPredictor:
    """A predictor by name, fitted to this graph; taken over if it was fitted to it before.

    So are the parts of a sum: a search that tries ``gae`` and ``gae+features`` trains one GAE.
    """
    settings = {name: config.to_dict() for name, config in sorted(configs.items())}
    graph = graph_hash(data, with_labels=False)  # the same predictor whether labels are known
    known = None if labels is None else labels.tolist()
    key = repr((text, settings, scale, seed, graph, known))
    if key not in _kept:
        predictor = build_predictor(text, configs, scale=scale, labels=labels)
        if isinstance(predictor, CombinedPredictor):
            parts = parse_predictor(text)
            fitted = [
                fit_once(
                    name,
                    {name: configs[name]},
                    data,
                    seed,
                    labels=labels,
                    on_share=part_of_work(on_share, place, len(parts)),
                ).predictor
                for place, name in enumerate(parts)
            ]
            predictor = CombinedPredictor(fitted, list(parts.values()), scale, fitted=True)
        _kept[key] = RankedPredictor(predictor.fit(data, seed, on_share=on_share))
    _kept.move_to_end(key)
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)
    return _kept[key]
