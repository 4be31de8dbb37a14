"""What every edge predictor promises, checked for each one by name; and that checks can fail."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug import build_predictor
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.config import (
    GAEConfig,
    PredictorConfig,
    SmoothedFeaturesConfig,
    VGAEConfig,
)
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError
from gaug.testing import check_predictor


def predictor(name: str, scale: str = "standardized") -> EdgePredictor:
    small: list[PredictorConfig] = [
        GAEConfig(predictor_epochs=10),
        VGAEConfig(predictor_epochs=10),
        SmoothedFeaturesConfig(components=8),
    ]
    fewer = {config.name: config for config in small if config.name in name}
    return build_predictor(name, fewer, scale=scale)


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_registered_predictor_keeps_its_promises(name: str) -> None:
    check_predictor(predictor(name))


@pytest.mark.parametrize("scale", ["standardized", "ranks"])
@pytest.mark.parametrize("name", ["gae+features", "ra+2*smoothed"])
def test_so_does_a_sum(name: str, scale: str) -> None:
    check_predictor(predictor(name, scale))


def test_weights_of_features_stay_those_of_the_fit() -> None:
    """The weight of a feature is 1 + log((1 + N) / (1 + n)), here of the two nodes of the fit."""
    edges = torch.tensor([[0, 1], [1, 0]])
    fit = Data(x=torch.tensor([[1.0, 1.0], [1.0, 0.0]]), edge_index=edges, num_nodes=2)
    other = Data(x=torch.tensor([[1.0, 1.0], [0.0, 1.0]]), edge_index=edges, num_nodes=2)
    score = predictor("features").fit(fit).adapted(other).edge_logits(torch.tensor([[0], [1]]))
    rare = 1 + torch.log(torch.tensor(3 / 2))
    torch.testing.assert_close(score, (rare / (1 + rare**2).sqrt()).reshape(1))


def test_the_omniscient_control_knows_one_graph() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, degree=6.0))
    fitted = build_predictor("omniscient").fit(data)
    with pytest.raises(ConfigError, match="knows the classes of one graph"):
        fitted.adapted(data)


class Own:
    """A predictor that can break a promise."""

    def fit(self, data: Data) -> None:
        self.degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes).float()

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return self.degree[pairs[0]] + self.degree[pairs[1]]


class OneWay(Own):
    def edge_logits(self, pairs: Tensor) -> Tensor:
        return self.degree[pairs[0]]


class Relative(Own):
    def edge_logits(self, pairs: Tensor) -> Tensor:
        return super().edge_logits(pairs) / pairs.size(1)


class Cheating(Own):
    def fit(self, data: Data) -> None:
        self.degree = data.y.float()


class Changing(Own):
    def fit(self, data: Data) -> None:
        super().fit(data)
        data.edge_index[:, 0] = 0


class Random(Own):
    def fit(self, data: Data) -> None:
        self.degree = torch.rand(data.num_nodes)


def test_any_object_can_be_checked() -> None:
    check_predictor(Own())


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (OneWay, r"OneWay must score \(u, v\) as it scores"),
        (Relative, "whatever other pairs are scored"),
        (Cheating, "must not depend on the labels"),
        (Changing, "must not change edge_index of the graph in place"),
        (Random, "must leave the global random state alone"),
    ],
)
def test_a_broken_promise_is_named(broken: type[Own], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_predictor(broken())
