from __future__ import annotations

import shlex

import pytest
import torch
from torch_geometric.data import Data

from gaug import Experiment
from gaug.choosing.candidates import CANDIDATES, FEATURES, GAUG_O, NONE, applicable, compares_nodes
from gaug.models.base import as_features
from gaug.training.task import Task


@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
def test_the_options_of_the_command_line_mean_the_same(candidate):
    words = shlex.split(candidate.options)
    settings = [value for name, value in zip(words[2::2], words[3::2], strict=True)]
    experiment = Experiment.of("karate", method=words[1], settings=settings)
    assert experiment.method == candidate.config
    assert experiment.parts == candidate.parts


def test_no_augmentation_comes_first():
    assert CANDIDATES[0] is NONE


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


def test_what_has_no_meaning_is_left_out_with_its_reason(two_cliques: Data):
    for number, part in enumerate(("train", "val", "test")):
        two_cliques[f"{part}_mask"] = torch.arange(6) % 3 == number
    assert applicable(Task.of(two_cliques)).candidates == list(CANDIDATES)
    two_cliques.x = torch.eye(6)
    two_cliques.edge_weight = torch.ones(two_cliques.num_edges)
    found = applicable(Task.of(two_cliques))
    assert [left.candidate for left in found.omissions] == [FEATURES, GAUG_O]
    assert "weights" in found.omissions[1].reason
    assert len(found.candidates) + len(found.omissions) == len(CANDIDATES)
