"""User-defined objects as predictors, and the fast ranking of those with embeddings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug import EmbeddingPredictor, GAugM, PredictorConfig
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.custom import CustomPredictor
from gaug.errors import ConfigError, DataError
from gaug.pairs.ranking import OnShare


class Slow:
    """Scores by random embeddings that it does not show; counts the pairs that it is asked for."""

    def __init__(self, scoring: str = "inner-product") -> None:
        self.kind = scoring
        self.asked = 0

    def fit(self, data: Data) -> None:
        generator = torch.Generator().manual_seed(1)
        self.z = torch.randn(data.num_nodes, 5, generator=generator)

    def edge_logits(self, pairs: Tensor) -> Tensor:
        self.asked += pairs.size(1)
        u, v = self.z[pairs].double()
        if self.kind == "distance":
            return -(u - v).square().sum(dim=1)
        return (u * v).sum(dim=1)


class Fast(Slow):
    """The same, shown."""

    def __init__(self, scoring: str = "inner-product") -> None:
        super().__init__(scoring)
        if scoring != "inner-product":  # which is the default
            self.scoring = scoring

    @property
    def embeddings_(self) -> Tensor:
        return self.z


@pytest.fixture(scope="module")
def data() -> Data:
    return planted_graph(SyntheticConfig(num_nodes=150, degree=6.0))


@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("scoring", ["inner-product", "distance"])
def test_embeddings_rank_as_all_pairs_do_and_few_pairs_are_asked_for(
    data: Data, scoring: str, per_node: bool
) -> None:
    slow, fast = Slow(scoring), Fast(scoring)
    expected = CustomPredictor(slow).fit(data).top_non_edges(300, per_node=per_node)
    found = CustomPredictor(fast).fit(data).top_non_edges(300, per_node=per_node)
    assert torch.equal(found.pairs, expected.pairs)
    assert torch.equal(found.logits, expected.logits)
    assert slow.asked >= 150 * 149 // 2
    assert fast.asked <= 100


def test_gaug_m_ranks_by_them(data: Data) -> None:
    slow, fast = Slow(), Fast()
    expected, found = (GAugM(predictor=own, add_fraction=0.2)(data) for own in (slow, fast))
    assert torch.equal(found.edge_index, expected.edge_index)
    assert fast.asked <= 100


def test_embeddings_that_say_something_else_are_refused(data: Data) -> None:
    class Cosine(Fast):
        def edge_logits(self, pairs: Tensor) -> Tensor:
            first, second = self.z[pairs]
            return torch.cosine_similarity(first, second, dim=1)

    with pytest.raises(DataError, match=r"edge_logits of Cosine must be the inner-product of its"):
        CustomPredictor(Cosine()).fit(data)
    wrong = Fast()
    wrong.scoring = "distance"
    with pytest.raises(DataError, match=r"must be the distance of its embeddings_, got"):
        CustomPredictor(wrong).fit(data)


def test_embeddings_of_another_shape_and_unknown_scorings_are_refused(data: Data) -> None:
    class Short(Fast):
        @property
        def embeddings_(self) -> Tensor:
            return self.z[:7]

    with pytest.raises(DataError, match=r"one row per node \(150\), got shape \[7, 5\]"):
        CustomPredictor(Short()).fit(data)
    unknown = Fast("distance")
    unknown.scoring = "cosine"
    with pytest.raises(ConfigError, match=r"Unknown scoring 'cosine'\. Choose from: distance"):
        CustomPredictor(unknown).fit(data)


def test_new_nodes_are_scored_by_the_embeddings_of_the_adapted_object(data: Data) -> None:
    class Adapting(Fast):
        def adapted(self, data: Data) -> Fast:
            other = Fast()
            other.fit(data)
            return other

    larger = planted_graph(SyntheticConfig(num_nodes=170, degree=6.0))
    adapted = CustomPredictor(Adapting()).fit(data).adapted(larger)
    expected = CustomPredictor(Slow()).fit(larger)
    assert torch.equal(adapted.top_non_edges(50).pairs, expected.top_non_edges(50).pairs)


def test_an_embedding_predictor_needs_an_embedding_and_nothing_else(data: Data) -> None:
    class Degrees(EmbeddingPredictor):
        looks_at_features = False
        scoring = "distance"

        def _embed(self, data: Data, seed: int, on_share: OnShare) -> Tensor:
            return torch.bincount(data.edge_index[0], minlength=data.num_nodes).float()[:, None]

    fitted = Degrees().fit(data)
    best: Any = fitted.top_non_edges(10)
    assert best.logits.tolist() == [0.0] * 10  # pairs of one degree
    assert isinstance(fitted.config, PredictorConfig)
    with pytest.raises(ConfigError, match="Degrees cannot score the nodes of another graph"):
        fitted.adapted(data)
