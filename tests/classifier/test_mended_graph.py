"""GAug-M on other graphs: the change of the fit is kept, and new nodes are offered edges."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import gaug
from gaug import GAugM, GraphInfo, build_predictor
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError, DataError
from gaug.graph.edges import undirected_pairs

Pair = tuple[int, int]
NUM_OLD, NUM_NEW = 60, 6


def as_set(pairs: Tensor) -> set[Pair]:
    return {(min(u, v), max(u, v)) for u, v in pairs.t().tolist()}


@pytest.fixture(scope="module")
def whole() -> Data:
    """The grown graph; the graph of the fit is its first nodes."""
    return planted_graph(SyntheticConfig(num_nodes=NUM_OLD + NUM_NEW, degree=6.0, num_classes=3))


@pytest.fixture(scope="module")
def data(whole: Data) -> Data:
    edges = whole.edge_index[:, (whole.edge_index < NUM_OLD).all(dim=0)]
    return Data(x=whole.x.to_dense()[:NUM_OLD], edge_index=edges, y=whole.y[:NUM_OLD])


def mend(predictor: object = "features", **settings: object) -> GAugM:
    settings = {"add_fraction": 0.2, "remove_fraction": 0.3, "epochs": 3} | settings
    return GAugM(predictor=predictor, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("allocation", ["global", "per-node"])
def test_new_nodes_get_the_best_of_all_pairs_with_a_new_node(
    data: Data, whole: Data, allocation: str
) -> None:
    """Against the scores of all pairs by hand, with the weights of the fit."""
    fitted = mend(allocation=allocation).fit(data)
    better = fitted.augmented(whole)
    scores = build_predictor("features").fit(standard(data)).adapted(standard(whole))
    edges = as_set(undirected_pairs(whole.edge_index))
    every = torch.triu_indices(NUM_OLD + NUM_NEW, NUM_OLD + NUM_NEW, offset=1)
    of_new = every[:, every[1] >= NUM_OLD]
    score_of = dict(
        zip(map(tuple, of_new.t().tolist()), scores.edge_logits(of_new).tolist(), strict=True)
    )
    free = [pair for pair in score_of if pair not in edges]
    own = [pair for pair in score_of if pair in edges]
    old_added = as_set(fitted.change.added)
    count = math.ceil(len(old_added) / NUM_OLD * NUM_NEW)
    found = as_set(better.added_edges) - old_added
    assert len(found) == count
    if allocation == "global":
        limit = sorted((score_of[pair] for pair in free), reverse=True)[count - 1]
        assert all(score_of[pair] >= limit for pair in found)
    else:
        assert found <= first_offers(free, score_of, count)
    removed = as_set(better.removed_edges) - as_set(fitted.change.removed)
    assert len(removed) == math.floor(0.3 * len(own))
    worst = sorted(score_of[pair] for pair in own)[: len(removed)]
    assert sorted(score_of[pair] for pair in removed) == pytest.approx(worst)


def first_offers(free: list[Pair], score_of: dict[Pair, float], count: int) -> set[Pair]:
    """Pairs that new nodes offer in the rounds until there are enough; ties are all in."""
    offers: set[Pair] = set()
    for rounds in itertools.count(1):
        for node in range(NUM_OLD, NUM_OLD + NUM_NEW):
            own = [pair for pair in free if node in pair]
            limit = sorted((score_of[pair] for pair in own), reverse=True)[rounds - 1]
            offers |= {pair for pair in own if score_of[pair] >= limit}
        if len(offers) >= count:
            return offers
    raise AssertionError


def standard(data: Data) -> Data:
    return gaug.standardize(data)[0]


def test_the_change_of_old_pairs_is_kept(data: Data, whole: Data) -> None:
    fitted = mend().fit(data)
    before, after = (as_set(graph.edge_index) for graph in (whole, fitted.augmented(whole)))
    assert as_set(fitted.change.added) <= after - before
    assert as_set(fitted.change.removed) <= before - after
    old_only = {pair for pair in before ^ after if max(pair) < NUM_OLD}
    assert old_only == as_set(fitted.change.added) | as_set(fitted.change.removed)


def test_on_the_graph_of_the_fit_it_is_the_transform(data: Data) -> None:
    fitted = mend().fit(data)
    better = mend()(data)
    assert torch.equal(fitted.augmented(data).edge_index, better.edge_index)


def test_nodes_are_known_again_by_their_ids(data: Data, whole: Data) -> None:
    """The grown graph in another order gives the same predictions, node by node."""
    names = [f"n{number}" for number in range(NUM_OLD + NUM_NEW)]
    fitted = mend("gae").fit(data, info=GraphInfo(node_ids=names[:NUM_OLD]))
    plain = fitted.predict_proba(whole, info=GraphInfo(node_ids=names))
    order = torch.randperm(NUM_OLD + NUM_NEW, generator=torch.Generator().manual_seed(0))
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel())
    shuffled = Data(x=whole.x.to_dense()[order], edge_index=place[whole.edge_index])
    with pytest.raises(DataError, match="have no ids"):
        fitted.predict_proba(shuffled)
    ids = [names[node] for node in order.tolist()]
    moved = fitted.predict_proba(shuffled, info=GraphInfo(node_ids=ids))
    torch.testing.assert_close(moved[place], plain)


def test_nodes_that_are_gone_take_their_changes_with_them(data: Data) -> None:
    fitted = mend().fit(data)
    edges = data.edge_index[:, (data.edge_index < 40).all(dim=0)]
    smaller = Data(x=data.x[:40], edge_index=edges)
    better = fitted.augmented(smaller)
    expected = {pair for pair in as_set(fitted.change.added) if max(pair) < 40}
    assert as_set(better.added_edges) == expected


def test_a_node_without_edges_is_offered_one(data: Data) -> None:
    x = torch.cat([data.x, data.x[:1]])
    lonely = Data(x=x, edge_index=data.edge_index, num_nodes=NUM_OLD + 1)
    better = mend().fit(data).augmented(lonely)
    assert sum(NUM_OLD in pair for pair in as_set(better.added_edges)) == 1
    assert (0, NUM_OLD) in as_set(better.added_edges)  # the node with the same features


def test_with_inference_on_the_original_graph_nothing_is_offered(data: Data, whole: Data) -> None:
    fitted = mend(inference="original").fit(data)
    on_it = fitted.predict_proba(whole)
    plain = gaug.NodeClassifier(fitted.fitted).predict_proba(whole)
    assert torch.equal(on_it, plain)


class CloseIds:
    def fit(self, data: Data) -> None:
        self.num_nodes = data.num_nodes

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return -(pairs[0] - pairs[1]).abs()


class CloseIdsAnywhere(CloseIds):
    def adapted(self, data: Data) -> CloseIdsAnywhere:
        return self


def test_a_predictor_of_a_user_may_say_how_to_score_new_nodes(
    data: Data, whole: Data, tmp_path
) -> None:
    with pytest.raises(ConfigError, match=r"CloseIds cannot.*no method adapted\(data\)"):
        mend(CloseIds()).fit(data).predict(whole)
    fitted = mend(CloseIdsAnywhere()).fit(data)
    assert fitted.predict(whole).shape == (NUM_OLD + NUM_NEW,)
    fitted.save(tmp_path / "saved")
    loaded = gaug.load(tmp_path / "saved")
    assert torch.equal(loaded.predict_proba(data), fitted.predict_proba(data))
    with pytest.raises(DataError, match="6 nodes that the fit did not know"):
        loaded.predict(whole)


@pytest.mark.parametrize("predictor", ["gae", "smoothed", "features", "ra+features"])
def test_a_saved_one_offers_the_same_edges(
    data: Data, whole: Data, predictor: str, tmp_path
) -> None:
    fitted = mend(predictor).fit(data)
    fitted.save(tmp_path / "saved")
    loaded = gaug.load(tmp_path / "saved")
    assert torch.equal(loaded.predict_proba(whole), fitted.predict_proba(whole))
