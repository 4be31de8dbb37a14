"""What is tried on a graph, and what is left out with which reason."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch_geometric.data import Data

from gaug.choosing.candidates import (
    CANDIDATES,
    CONSISTENT,
    DROPEDGE,
    FEATURES,
    GAUG_O,
    NONE,
    SMOOTHED,
    STUDENT,
    Candidate,
    built_upon,
    compares_nodes,
    joined,
    unsuitable,
    variants,
)
from gaug.edge_predictors.registry import PREDICTORS
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.stack.config import StackConfig
from gaug.models.base import as_features
from gaug.runs.plan import Plan
from gaug.training.config import TrainingConfig
from gaug.training.task import Task

PLAN = Plan.of("karate", settings=["epochs=3", "hidden=8"], seed=2)


@pytest.fixture
def cliques(two_cliques: Data) -> Data:
    for number, part in enumerate(("train", "val", "test")):
        two_cliques[f"{part}_mask"] = torch.arange(6) % 3 == number
    return two_cliques


@pytest.mark.parametrize(
    "candidate", [NONE, *CANDIDATES, *variants(FEATURES), *built_upon(FEATURES)], ids=str
)
def test_the_settings_by_which_it_is_called_mean_the_same(candidate):
    settings = ["epochs=3", *candidate.changed]
    plan = Plan.of("karate", method=candidate.config.name, settings=settings)
    assert plan.method == candidate.trial(PLAN).plan.method
    assert plan.training == candidate.trial(PLAN).plan.training
    assert str(candidate) == " ".join([candidate.config.name, *candidate.changed])


def test_a_trial_of_a_candidate_has_its_method_and_all_else_as_planned():
    trial = DROPEDGE.trial(PLAN)
    assert trial.plan == PLAN.with_method("dropedge")
    assert (trial.name, trial.settings) == ("dropedge", DROPEDGE.config.to_dict())


def test_no_augmentation_is_not_among_what_is_proposed():
    assert NONE not in CANDIDATES


@pytest.mark.parametrize(
    ("features", "compared"),
    [
        (torch.eye(4), False),
        (torch.ones(4, 2), False),
        (torch.zeros(4, 2), False),
        (torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), True),
        (torch.tensor([[0.0, 0.0, 1.0]] * 2 + [[0.0, 1.0, 0.0]]), True),
    ],
)
def test_features_compare_nodes_if_some_are_alike_and_others_not(features, compared):
    assert compares_nodes(as_features(features)) is compared
    assert compares_nodes(as_features(features.to_sparse_csr())) is compared


def test_every_predictor_that_is_no_control_is_tried():
    tried = {
        name
        for candidate in CANDIDATES
        if isinstance(candidate.config, GAugMConfig)
        for name in candidate.config.predictor_configs()
    }
    controls = {"random", "omniscient"}
    assert tried == set(PREDICTORS) - controls


def test_what_has_no_meaning_on_a_graph_is_told(cliques: Data):
    assert all(unsuitable(candidate, Task.of(cliques)) is None for candidate in CANDIDATES)
    cliques.x = torch.eye(6)
    cliques.edge_weight = torch.ones(cliques.num_edges)
    task = Task.of(cliques)
    reasons = {str(candidate): unsuitable(candidate, task) for candidate in CANDIDATES}
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    assert list(left_out) == [str(FEATURES), str(GAUG_O)]
    assert "no two nodes have a feature in common" in left_out[str(FEATURES)]
    assert "weights" in left_out[str(GAUG_O)]


def test_around_a_predictor_the_shares_of_edges_vary():
    around = variants(FEATURES)
    assert FEATURES not in around
    assert len({str(variant) for variant in around}) == len(around) > 4
    for variant in around:
        assert isinstance(variant.config, GAugMConfig)
        assert variant.config.predictor == "features"
        assert variant.config.add_fraction + variant.config.remove_fraction > 0
    assert variants(DROPEDGE) == []


def test_a_second_round_and_stacks_build_upon_a_changed_graph():
    upon = [candidate for candidate in built_upon(FEATURES) if not candidate.added]
    assert {candidate.config.name for candidate in upon} == {
        "gaug-m",
        "gaug-m+dropedge",
        "gaug-m+gaug-o",
    }
    for candidate in upon:
        config = candidate.config
        first = config.changing if isinstance(config, StackConfig) else config
        assert isinstance(first, GAugMConfig)
        assert first.predictor == "features"
        assert (first.add_fraction, first.remove_fraction) == (0.5, 0.3)


def test_what_pays_with_few_labels_builds_upon_everything():
    student, both = {"students": 1}, {"students": 1, "consistency_passes": 2}
    for candidate in (FEATURES, DROPEDGE, GAUG_O):
        upon = [one for one in built_upon(candidate) if one.added]
        assert [one.added for one in upon] == [student, {"consistency_passes": 2}, both]
        assert {one.config for one in upon} == {candidate.config}
        assert upon[2].added_alone == [STUDENT, CONSISTENT]
    assert [one.added for one in built_upon(STUDENT)][-1] == both


def test_what_is_added_does_not_take_away_from_what_is_asked_for():
    training = TrainingConfig(students=2, consistency_passes=4, epochs=7)
    plan = dataclasses.replace(PLAN, training=training)
    assert [one.trial(plan).key for one in (STUDENT, CONSISTENT)] == [NONE.trial(plan).key] * 2
    added = STUDENT.trial(PLAN)
    assert added.plan.training == dataclasses.replace(PLAN.training, students=1)
    assert (added.name, added.settings) == ("none students=1", {"students": 1})


def test_two_predictors_are_added_up():
    (sum_of_both,) = joined(FEATURES, SMOOTHED)
    assert isinstance(sum_of_both.config, GAugMConfig)
    assert sum_of_both.config.predictor == "features+smoothed"
    assert joined(FEATURES, DROPEDGE) == joined(FEATURES, variants(FEATURES)[0]) == []


def test_the_least_time_counts_how_often_all_pairs_are_looked_at():
    training = TrainingConfig(epochs=50)
    one_pass = FEATURES.least_seconds(1000, training, 0.0)
    assert one_pass > 0
    assert DROPEDGE.least_seconds(1000, training, 0.0) == 0
    gae = Candidate(GAugMConfig(predictor="gae"))
    assert gae.least_seconds(1000, training, 0.0) > 10 * one_pass
    # Large graphs have a loss of samples, which grows with the nodes, and GAug-O its sparse engine.
    fitting = [
        gae.least_seconds(nodes, training, 0.0) - FEATURES.least_seconds(nodes, training, 0.0)
        for nodes in (100_000, 200_000)
    ]
    assert fitting[1] == pytest.approx(2 * fitting[0])
    assert fitting[0] > 0
    assert GAUG_O.least_seconds(100_000, training, 0.0) == 0
    patient = TrainingConfig(epochs=50, patience=10)
    least = [GAUG_O.least_seconds(1000, one, 0.0) for one in (training, patient)]
    # A joint epoch takes as long as two rankings.
    assert least[0] - least[1] == pytest.approx(40 * 2 * one_pass)


def test_the_least_time_counts_epochs():
    training, second = TrainingConfig(epochs=50), 1.0
    pairs = FEATURES.least_seconds(100_000, training, 0.0)
    assert FEATURES.least_seconds(100_000, training, second) == pairs + 50
    assert DROPEDGE.least_seconds(100_000, training, second) == 50
    twice = Candidate(GAugMConfig(predictor="features", rounds=2))
    assert twice.least_seconds(100_000, training, second) == pairs + 100
    student = dataclasses.replace(training, students=1)
    assert FEATURES.least_seconds(100_000, student, second) == pairs + 100
    both = dataclasses.replace(student, consistency_passes=2)
    assert DROPEDGE.least_seconds(100_000, both, second) == 200
    gae = Candidate(GAugMConfig(predictor="gae"))
    alone = gae.least_seconds(100_000, training, 0.0)
    assert gae.least_seconds(100_000, training, second) == alone + 50  # a GAE is no classifier
    config = GAugOConfig()
    pretraining = config.pretrain_predictor_epochs + config.pretrain_classifier_epochs
    assert GAUG_O.least_seconds(100_000, training, second) > pretraining + 5 * 50
    assert GAUG_O.least_seconds(1000, training, second) < pretraining + 2 * 50
