"""The second round of GAug-M: what it changes, when it is taken, and what a fit of it keeps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import gaug
from gaug import DropEdge, GAugM, GAugMConfig, Stack, build_predictor
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.classes import JoinedPredictor
from gaug.edge_predictors.evaluation import random_pairs
from gaug.errors import ConfigError, DataError
from gaug.graph.edges import undirected_pairs
from gaug.models.spec import ModelSpec
from gaug.testing import check_method
from gaug.training.config import TrainingConfig
from gaug.training.hooks import best_round
from gaug.training.loop import RunResult
from gaug.training.run import PreparedRuns
from gaug.training.task import Task

Pair = tuple[int, ...]
NUM_NODES = 70
# The last round counts, so that it is the second.
LAST = TrainingConfig(epochs=15, selection="last")
TWO: dict[str, Any] = {"rounds": 2, "add_fraction": 0.3, "second_remove_fraction": 0.5}


@pytest.fixture(scope="module")
def data() -> Data:
    graph = planted_graph(
        SyntheticConfig(num_nodes=NUM_NODES, num_classes=3, degree=6.0, num_features=30)
    )
    return make_split(graph, "stratified").apply(graph)


def as_set(pairs: Tensor) -> set[Pair]:
    return {tuple(sorted(pair)) for pair in pairs.t().tolist()}


def trained(data: Data, method: Any, training: TrainingConfig) -> RunResult:
    runs = PreparedRuns.prepare(Task.of(data), ModelSpec.of("gcn"), method, training, seed=4)
    return runs.train(0)


@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize("predictor", ["ra", "ra+features"])
def test_the_second_change_is_by_the_sum_of_predictor_and_predicted_classes(
    data: Data, weight: float, predictor: str
) -> None:
    """Against all pairs by hand: both scores standardized over edges and random pairs."""
    result = trained(data, GAugM(predictor=predictor, class_weight=weight, **TWO), LAST)
    first, second = result.rounds
    classes = first.predict(first.round.adjacency).double()
    edges = undirected_pairs(data.edge_index)
    generator = torch.Generator().manual_seed(4)
    reference = torch.cat([edges, random_pairs(NUM_NODES, 100_000, generator)], dim=1)
    every = torch.triu_indices(NUM_NODES, NUM_NODES, offset=1)
    own = build_predictor(predictor).fit(data, 4)

    def standard(scores: Tensor, over: Tensor) -> Tensor:
        return (scores.double() - over.double().mean()) / over.double().std()

    total = standard(own.edge_logits(every), own.edge_logits(reference))
    alike = [(classes[pairs[0]] * classes[pairs[1]]).sum(dim=1) for pairs in (every, reference)]
    total += weight * standard(alike[0], alike[1])
    score_of = dict(zip(map(tuple, every.t().tolist()), total.tolist(), strict=True))
    before = as_set(edges)
    after = as_set(second.round.adjacency.pairs)
    count = math.floor(0.3 * len(before))
    best = sorted((score_of[pair] for pair in score_of if pair not in before), reverse=True)
    assert sorted((score_of[pair] for pair in after - before), reverse=True) == pytest.approx(
        best[:count], abs=1e-5
    )
    worst = sorted(score_of[pair] for pair in before)[: math.floor(0.5 * len(before))]
    assert sorted(score_of[pair] for pair in before - after) == pytest.approx(worst, abs=1e-5)


def test_the_first_round_is_that_of_a_single_one(data: Data) -> None:
    training = TrainingConfig(epochs=15)
    one = trained(data, GAugM(predictor="ra"), training)
    two = trained(data, GAugM(predictor="ra", rounds=2), training)
    assert torch.equal(one.rounds[0].round.adjacency.pairs, two.rounds[0].round.adjacency.pairs)
    for name, weight in one.rounds[0].weights.items():
        assert torch.equal(weight, two.rounds[0].weights[name])


@pytest.mark.parametrize("seed", range(4))
def test_the_round_that_is_better_on_validation_nodes_is_taken(seed: int) -> None:
    graph = planted_graph(SyntheticConfig(num_nodes=NUM_NODES, num_classes=3, seed=seed))
    data = make_split(graph, "stratified").apply(graph)
    result = trained(data, GAugM(predictor="ra", **TWO), TrainingConfig(epochs=15))
    first, second = ((one.val_score, -one.val_loss) for one in result.rounds)
    taken = result.rounds[1 if second > first else 0]
    assert torch.equal(result.probabilities, taken.predict(taken.round.adjacency))
    assert best_round(result.rounds) is taken


def grown(data: Data, new: int = 5) -> Data:
    """The graph with some more nodes, each joined to node 0 and like one of the first."""
    ids = torch.arange(NUM_NODES, NUM_NODES + new)
    pairs = torch.stack([torch.zeros_like(ids), ids])
    x = data.x.to_dense()
    return Data(
        x=torch.cat([x, x[:new]]),
        edge_index=torch.cat([data.edge_index, pairs, pairs.flip(0)], dim=1),
        num_nodes=NUM_NODES + new,
    )


@pytest.mark.parametrize("inference", ["modified", "original"])
@pytest.mark.parametrize("combination", ["standardized", "ranks"])
def test_a_fit_of_two_rounds_predicts_its_run_and_the_same_after_loading(
    data: Data, tmp_path: Path, inference: str, combination: str
) -> None:
    method = GAugM(
        predictor="gae", predictor_epochs=5, inference=inference, combination=combination,
        training=LAST, **TWO,
    )  # fmt: skip
    fitted = method.fit(data)
    assert isinstance(fitted, MendedGraphClassifier)
    assert fitted.first is not None
    runs = PreparedRuns.prepare(Task.of(data), method.model, GAugM(
        predictor="gae", predictor_epochs=5, inference=inference, combination=combination, **TWO,
    ), LAST)  # fmt: skip
    assert torch.equal(fitted.predict_proba(data), runs.train(0).probabilities)
    fitted.save(tmp_path / "saved")
    loaded = gaug.load(tmp_path / "saved")
    assert isinstance(loaded, MendedGraphClassifier)
    other = grown(data)
    for graph in (data, other):
        assert torch.equal(loaded.predict_proba(graph), fitted.predict_proba(graph))
    mine, yours = (as_set(one.augmented(other).edge_index) for one in (fitted, loaded))
    assert mine == yours


def test_new_nodes_are_offered_edges_by_the_classes_that_the_first_round_predicts(
    data: Data,
) -> None:
    fitted = GAugM(predictor="features", training=LAST, **TWO).fit(data)
    other = grown(data)
    better = fitted.augmented(other)
    assert fitted.first is not None
    assert isinstance(fitted.predictor, JoinedPredictor)
    classes = fitted.first.predict_proba(other)
    scores = fitted.predictor.of_nodes(classes).adapted(other)
    every = torch.triu_indices(NUM_NODES + 5, NUM_NODES + 5, offset=1)
    of_new = every[:, every[1] >= NUM_NODES]
    score_of = dict(
        zip(map(tuple, of_new.t().tolist()), scores.edge_logits(of_new).tolist(), strict=True)
    )
    edges = as_set(other.edge_index)
    found = as_set(better.added_edges) - as_set(fitted.change.added)
    count = math.ceil(fitted.change.added.size(1) / NUM_NODES * 5)
    best = sorted((score_of[pair] for pair in score_of if pair not in edges), reverse=True)
    assert sorted((score_of[pair] for pair in found), reverse=True) == pytest.approx(best[:count])
    own = [pair for pair in score_of if pair in edges]
    gone = as_set(better.removed_edges) - as_set(fitted.change.removed)
    assert len(gone) == math.floor(0.5 * len(own))


def test_a_first_round_that_stays_the_best_leaves_a_classifier_of_one_round(data: Data) -> None:
    """Removing every edge and adding none makes the second round worse."""
    method = GAugM(
        predictor="ra", add_fraction=0.0, rounds=2, second_remove_fraction=1.0, epochs=40
    )
    fitted = method.fit(data)
    assert isinstance(fitted, MendedGraphClassifier)
    assert fitted.first is None
    alone = GAugM(predictor="ra", add_fraction=0.0, epochs=40).fit(data)
    assert torch.equal(fitted.predict_proba(data), alone.predict_proba(data))


class CloseIds:
    def fit(self, data: Data) -> None:
        pass

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return -(pairs[0] - pairs[1]).abs()


def test_a_predictor_of_a_user_takes_part_in_the_second_round(data: Data, tmp_path: Path) -> None:
    fitted = GAugM(predictor=CloseIds(), training=LAST, **TWO).fit(data)
    fitted.save(tmp_path / "saved")
    loaded = gaug.load(tmp_path / "saved")
    assert torch.equal(loaded.predict_proba(data), fitted.predict_proba(data))
    with pytest.raises(DataError, match="5 nodes that the fit did not know"):
        loaded.predict(grown(data))


@pytest.mark.parametrize(
    "method",
    [
        GAugM(predictor="ra", class_weight=2.0, **TWO),
        Stack(GAugM(predictor="ra", inference="original", **TWO), DropEdge()),
    ],
    ids=repr,
)
def test_it_keeps_the_promises_of_every_method(method: Any) -> None:
    check_method(method)


@pytest.mark.parametrize("inference", ["modified", "original"])
def test_a_stack_on_two_rounds_keeps_what_the_second_one_needs(
    data: Data, tmp_path: Path, inference: str
) -> None:
    first = GAugM(predictor="ra", inference=inference, **TWO)
    fitted = Stack(first, DropEdge(), training=LAST).fit(data)
    assert isinstance(fitted, MendedGraphClassifier)
    assert fitted.first is not None
    fitted.save(tmp_path / "saved")
    other = grown(data)
    loaded = gaug.load(tmp_path / "saved")
    assert torch.equal(loaded.predict_proba(other), fitted.predict_proba(other))


def test_settings_of_a_second_round_need_one() -> None:
    with pytest.raises(ConfigError, match="class_weight=2 is a setting of a second round: set rou"):
        GAugMConfig(class_weight=2.0)
    with pytest.raises(ConfigError, match=r"second_remove_fraction=0\.5 is a setting of a second"):
        GAugMConfig(second_remove_fraction=0.5)
    with pytest.raises(ConfigError, match=r"rounds must be in \[1, 2\], got 3"):
        GAugMConfig(rounds=3)


def test_runs_of_one_round_keep_their_identity() -> None:
    later = {"rounds", "class_weight", "second_remove_fraction"}
    assert not later & GAugMConfig().identifying().keys()
    assert later - {"class_weight"} <= GAugMConfig(**TWO).identifying().keys()


def test_a_transform_has_no_second_round(data: Data) -> None:
    with pytest.raises(ConfigError, match="needs a classifier, and a transform has none"):
        GAugM(predictor="ra", rounds=2)(data)
