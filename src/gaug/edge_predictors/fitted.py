"""Predictors that are fitted once and used many times, as in a search over fractions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import torch
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.build import build_predictor
from gaug.edge_predictors.combined import CombinedPredictor
from gaug.edge_predictors.config import PredictorConfig
from gaug.edge_predictors.terms import parse_predictor
from gaug.graph.fingerprint import graph_hash
from gaug.pairs.ranking import OnShare, RankedPairs, part_of_work

# Number of fitted predictors to keep for reuse.
_KEPT = 16
_kept: OrderedDict[str, RankedPredictor] = OrderedDict()


class RankedPredictor:
    """A fitted predictor that caches its longest ranking; shorter ones are prefixes of it.

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
        """The best non-edges, as in `EdgePredictor.top_non_edges`."""
        known = self._longest.get(per_node)
        if known is None or len(known) < count:
            known = self.predictor.top_non_edges(count, per_node=per_node, on_share=on_share)
            self._longest[per_node] = known
        return known.first(count)

    def bottom_edges(self, count: int) -> RankedPairs:
        """The worst edges."""
        return self.predictor.bottom_edges(count)


def fit_once(
    text: str,
    configs: Mapping[str, PredictorConfig],
    data: Data,
    seed: int,
    *,
    scale: str = "standardized",
    on_share: OnShare | None = None,
) -> RankedPredictor:
    """A predictor by name, fitted to this graph; reused if it was fitted to it before.

    The terms of a sum are reused, too: a search that tries ``gae`` and ``gae+features`` trains one
    GAE.
    """
    settings = {name: config.to_dict() for name, config in sorted(configs.items())}
    # A predictor that ignores labels is the same whether they are known or not.
    graph = graph_hash(data, with_labels=any(config.looks_at_labels for config in configs.values()))
    # Sums, and so the last digits of what is learned, depend on the number of threads.
    key = repr((text, settings, scale, seed, torch.get_num_threads(), graph))
    if key not in _kept:
        predictor = build_predictor(text, configs, scale=scale)
        if isinstance(predictor, CombinedPredictor):
            weights = parse_predictor(text)
            fitted = [
                fit_once(
                    name,
                    {name: configs[name]},
                    data,
                    seed,
                    on_share=part_of_work(on_share, place, len(weights)),
                ).predictor
                for place, name in enumerate(weights)
            ]
            predictor = CombinedPredictor(fitted, list(weights.values()), scale, fitted=True)
        _kept[key] = RankedPredictor(predictor.fit(data, seed, on_share=on_share))
    _kept.move_to_end(key)
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)
    return _kept[key]
