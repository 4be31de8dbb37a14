"""Predictors that learn nothing, as controls: random scores, and scores from the true labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.config import OmniscientConfig, PredictorConfig, RandomConfig
from gaug.errors import ConfigError, DataError
from gaug.graph.labels import is_multilabel
from gaug.pairs.hashing import GOLDEN, mix
from gaug.pairs.ranking import OnShare


class RandomPredictor(EdgePredictor):
    """A random but fixed score for each pair.

    The score is a hash of the seed and the pair (the finalizer of SplitMix64; Steele, Lea and
    Flood, 2014), so the best non-edges are a uniform draw without replacement.

    Args:
        config: Its settings.
    """

    config_type: ClassVar[type[PredictorConfig]] = RandomConfig

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        self.seed_ = seed

    def _adapt(self, data: Data) -> None:
        pass

    def learned(self) -> dict[str, Tensor]:
        """The seed."""
        return {"seed": torch.tensor(self.seed_)}

    def restore(self, learned: Mapping[str, Tensor]) -> None:
        """Load the seed."""
        self.seed_ = int(learned["seed"])

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """A number in [0, 1) for each pair.  [2, n] → [n]"""
        self.check_pairs(pairs)
        return hashed_uniform(pairs, self.num_nodes_, self.seed_)


class OmniscientPredictor(RandomPredictor):
    """Pairs within a class score above pairs between classes, at random within each kind.

    It reads the labels of all nodes: an upper bound for figures, not a method. Pairs with an
    unknown label lie between the two kinds.

    Args:
        config: Its settings.
    """

    config_type = OmniscientConfig

    def _learn(self, data: Data, seed: int, on_share: OnShare) -> None:
        labels = data.get("y")
        if labels is None or is_multilabel(data):
            raise DataError("The omniscient predictor needs one class per node in data.y.")
        self.labels_ = labels
        super()._learn(data, seed, on_share)

    def _adapt(self, data: Data) -> None:
        raise ConfigError(
            "The omniscient predictor knows the classes of one graph only and cannot score another."
        )

    def edge_logits(self, pairs: Tensor) -> Tensor:
        """At least 1 within a class, below 0 between classes, else in [0, 1).  [2, n] → [n]"""
        ends = self.labels_[pairs]
        known = (ends >= 0).all(dim=0)
        side = torch.where(ends[0] == ends[1], 1.0, -1.0)
        return super().edge_logits(pairs) + torch.where(known, side, 0.0)


def hashed_uniform(pairs: Tensor, num_nodes: int, seed: int) -> Tensor:
    """A number in [0, 1) from each unordered pair and the seed.  [2, n] → [n]"""
    u, v = pairs.cpu().numpy().astype(np.uint64)
    bits = np.minimum(u, v) * np.uint64(num_nodes) + np.maximum(u, v)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is intended
        bits += np.uint64(seed + 1) * GOLDEN
    bits = mix(bits)
    return torch.from_numpy(((bits >> np.uint64(40)).astype(np.float64) / 2**24).astype(np.float32))
