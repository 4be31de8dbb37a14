"""What is tried on a graph, and what is left out with which reason."""

from __future__ import annotations

import itertools
import math
import time

import pytest
import torch
from torch_geometric.data import Data

from gaug.choosing import candidates as candidates_module
from gaug.choosing.candidates import (
    CANDIDATES,
    DROPEDGE,
    FEATURES,
    GAE,
    GAUG_O,
    NONE,
    CandidateList,
    compares_nodes,
    unsuitable,
)
from gaug.models.base import as_features
from gaug.runs.plan import Plan
from gaug.training.config import TrainingConfig
from gaug.training.task import Task
from tests.known import known

PLAN = Plan.of("karate", settings=["epochs=3", "hidden=8"], seed=2)


@pytest.fixture
def cliques(two_cliques: Data) -> Data:
    for number, part in enumerate(("train", "val", "test")):
        two_cliques[f"{part}_mask"] = torch.arange(6) % 3 == number
    return two_cliques


def proposed(candidates: CandidateList) -> list[str]:
    """The names of all candidates that are proposed, one after the other."""
    batches = iter(candidates.propose, [])
    return [trial.name for trial in itertools.chain.from_iterable(batches)]


@pytest.mark.parametrize("candidate", [NONE, *CANDIDATES], ids=str)
def test_the_settings_by_which_it_is_called_mean_the_same(candidate):
    plan = Plan.of("karate", method=candidate.config.name, settings=candidate.changed)
    assert plan.method == candidate.trial(PLAN).plan.method
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


def test_all_are_proposed_one_by_one_in_their_order(cliques: Data):
    candidates = CandidateList(PLAN, Task.of(cliques))
    assert len(candidates) == len(CANDIDATES)
    assert proposed(candidates) == [str(candidate) for candidate in CANDIDATES]
    assert candidates.left_out == []


def test_what_has_no_meaning_is_left_out_with_its_reason(cliques: Data):
    cliques.x = torch.eye(6)
    cliques.edge_weight = torch.ones(cliques.num_edges)
    task = Task.of(cliques)
    candidates = CandidateList(PLAN, task)
    names = proposed(candidates)
    assert [left.name for left in candidates.left_out] == [str(FEATURES), str(GAUG_O)]
    assert "weights" in known(candidates.left_out[1].failure)
    assert "no two nodes have a feature in common" in known(candidates.left_out[0].failure)
    assert len(names) + len(candidates.left_out) == len(CANDIDATES)
    assert unsuitable(DROPEDGE, task) is None


def test_what_cannot_end_in_time_is_not_proposed(cliques: Data, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(candidates_module, "_PAIRS_PER_SECOND", 1.0)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    task = Task.of(cliques)  # 15 pairs, looked at once at least: 15 seconds
    candidates = CandidateList(PLAN, task, deadline=110.0)
    assert proposed(candidates) == ["dropedge"]
    assert {left.failure for left in candidates.left_out} == {
        "it would take longer than the time left"
    }
    enough = CandidateList(PLAN, task, deadline=116.0)
    assert str(FEATURES) in proposed(enough)


def test_what_is_waiting_when_the_time_is_over_is_left_out_with_that_reason(cliques: Data):
    task = Task.of(cliques)
    late = CandidateList(PLAN, task, deadline=-math.inf)
    assert proposed(late) == []
    begun = CandidateList(PLAN, task, candidates=[DROPEDGE, FEATURES])
    begun.propose()
    for candidates, count in ((late, len(CANDIDATES)), (begun, 1)):
        assert [left.failure for left in candidates.left_out] == ["no time was left"] * count
        assert not any(left.counts for left in candidates.left_out)


def test_the_least_time_counts_how_often_all_pairs_are_looked_at():
    training = TrainingConfig(epochs=50)
    one_pass = FEATURES.least_seconds(1000, training)
    assert one_pass > 0
    assert DROPEDGE.least_seconds(1000, training) == 0
    assert GAE.least_seconds(1000, training) > 10 * one_pass
    patient = TrainingConfig(epochs=50, patience=10)
    saved = GAUG_O.least_seconds(1000, training) - GAUG_O.least_seconds(1000, patient)
    assert saved == pytest.approx(40 * one_pass)
