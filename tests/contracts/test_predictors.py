"""What every edge predictor promises about graphs that it was not fitted to."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors import PREDICTOR_CONFIGS, build_predictor
from gaug.edge_predictors.base import EdgePredictor
from gaug.errors import ConfigError
from gaug.graph.matrices import from_scipy, to_scipy_features

NAMES = [name for name in PREDICTOR_CONFIGS if name != "omniscient"]
SUMS = ["gae+features", "ra+2*smoothed"]
PAIRS = torch.triu_indices(60, 60, offset=1)


def predictor(name: str, scale: str = "standardized") -> EdgePredictor:
    fewer: dict[str, Any] = {
        part: PREDICTOR_CONFIGS[part](predictor_epochs=10)
        for part in ("gae", "vgae")
        if part in name
    }
    if "smoothed" in name:
        fewer["smoothed"] = PREDICTOR_CONFIGS["smoothed"](components=8)
    return build_predictor(name, fewer, scale=scale)


@pytest.fixture(scope="module", params=["sparse", "dense"])
def data(request: pytest.FixtureRequest) -> Data:
    graph = planted_graph(SyntheticConfig(num_nodes=60, degree=6.0, num_classes=3))
    if request.param == "dense":
        graph.x = graph.x.to_dense()
    return graph


@pytest.mark.parametrize("name", [*NAMES, *SUMS])
def test_the_same_graph_is_scored_the_same(data: Data, name: str) -> None:
    fitted = predictor(name).fit(data, 1)
    again = fitted.adapted(data)
    torch.testing.assert_close(
        again.edge_logits(PAIRS), fitted.edge_logits(PAIRS), rtol=1e-4, atol=1e-4
    )
    assert again is not fitted


@pytest.mark.parametrize("scale", ["standardized", "ranks"])
@pytest.mark.parametrize("name", [*NAMES, *SUMS])
def test_what_it_learned_can_be_taken_over(data: Data, name: str, scale: str) -> None:
    fitted, other = predictor(name, scale).fit(data, 1), predictor(name, scale)
    other.restore(fitted.learned())
    part = first_nodes(data, 40)
    pairs = PAIRS[:, (PAIRS < 40).all(dim=0)]
    expected = fitted.adapted(part).edge_logits(pairs)
    assert torch.equal(other.adapted(part).edge_logits(pairs), expected)


def test_weights_of_features_stay_those_of_the_fit() -> None:
    """The weight of a feature is 1 + log((1 + N) / (1 + n)), here of the two nodes of the fit."""
    edges = torch.tensor([[0, 1], [1, 0]])
    fit = Data(x=torch.tensor([[1.0, 1.0], [1.0, 0.0]]), edge_index=edges, num_nodes=2)
    other = Data(x=torch.tensor([[1.0, 1.0], [0.0, 1.0]]), edge_index=edges, num_nodes=2)
    score = predictor("features").fit(fit).adapted(other).edge_logits(torch.tensor([[0], [1]]))
    rare = 1 + torch.log(torch.tensor(3 / 2))
    torch.testing.assert_close(score, (rare / (1 + rare**2).sqrt()).reshape(1))


def test_the_omniscient_control_knows_one_graph(data: Data) -> None:
    fitted = build_predictor("omniscient", labels=data.y).fit(data)
    with pytest.raises(ConfigError, match="knows the classes of one graph"):
        fitted.adapted(data)


def first_nodes(data: Data, count: int) -> Data:
    edges = data.edge_index[:, (data.edge_index < count).all(dim=0)]
    dense = data.x.layout == torch.strided
    x = data.x[:count] if dense else from_scipy(to_scipy_features(data.x)[:count])
    return Data(x=x, edge_index=edges, num_nodes=count)
