"""How well embeddings tell edges from other pairs, against scikit-learn."""

from __future__ import annotations

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch.nn import functional

from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.edge_judge import EdgeJudge

NUM_NODES = 30
PAIRS = torch.triu_indices(NUM_NODES, NUM_NODES, offset=1)


def test_where_most_pairs_are_edges_all_others_are_set_against_them() -> None:
    generator = torch.Generator().manual_seed(0)
    is_edge = torch.rand(PAIRS.size(1), generator=generator) < 0.7
    z = torch.rand(NUM_NODES, 4, generator=generator)
    scores = (z[PAIRS[0]] * z[PAIRS[1]]).sum(dim=1)
    auc = EdgeJudge(Adjacency.of_pairs(PAIRS[:, is_edge], NUM_NODES)).auc(z)
    assert auc == pytest.approx(roc_auc_score(is_edge, scores))


def test_where_few_pairs_are_edges_none_of_them_stands_for_another_pair() -> None:
    """Three cliques, and embeddings that tell them apart: only an edge scores as an edge does."""
    clique = torch.arange(NUM_NODES) % 3
    within = clique[PAIRS[0]] == clique[PAIRS[1]]
    judge = EdgeJudge(Adjacency.of_pairs(PAIRS[:, within], NUM_NODES))
    assert judge.auc(functional.one_hot(clique).float()) == 1
    assert judge.auc(torch.ones(NUM_NODES, 1)) == 0.5


def test_the_same_embeddings_are_judged_the_same_each_time() -> None:
    few = Adjacency.of_pairs(PAIRS[:, ::7], NUM_NODES)
    z = torch.rand(NUM_NODES, 4, generator=torch.Generator().manual_seed(0))
    judge = EdgeJudge(few)
    assert judge.auc(z) == judge.auc(z) == EdgeJudge(few).auc(z)


def test_where_all_pairs_are_edges_there_is_nothing_to_tell() -> None:
    assert EdgeJudge(Adjacency.of_pairs(PAIRS, NUM_NODES)).auc(torch.ones(NUM_NODES, 1)) is None


def test_a_judge_of_some_edges_is_close_to_one_of_all() -> None:
    """Within 5 standard errors of an AUC of this size, at most 0.5 / sqrt(400)."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(200, 4, generator=generator)
    likely = torch.rand(200, 200, generator=generator) < (z @ z.t() - 2).sigmoid()
    graph = Adjacency.of_pairs(likely.triu(1).nonzero().t(), 200)
    every, some = EdgeJudge(graph).auc(z), EdgeJudge(graph, most=400).auc(z)
    assert every is not None
    assert some is not None
    assert abs(every - some) < 5 * 0.5 / 20
    assert some == EdgeJudge(graph, most=400).auc(z)
    assert EdgeJudge(graph, most=10**9).auc(z) == every
