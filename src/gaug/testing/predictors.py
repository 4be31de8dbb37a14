"""What every edge predictor promises."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.custom import CustomPredictor, PredictorLike
from gaug.errors import ConfigError
from gaug.graph.edges import pair_keys, undirected_pairs
from gaug.graph.matrices import from_scipy, to_scipy_features
from gaug.testing.surroundings import left_as_they_were, small_graph

_NUM_NODES = 60
_NUM_FIRST = 40
_PAIRS = torch.triu_indices(_NUM_NODES, _NUM_NODES, offset=1)


def check_predictor(predictor: EdgePredictor | PredictorLike) -> None:
    """Check that an edge predictor keeps the promises of every predictor.

    The score of a pair is a number that does not depend on the order of its ends or on the other
    pairs; the same seed gives the same scores; labels are not used, unless the predictor says so;
    the graph and the global random state do not change; rankings are those of all scores. If it can
    score the nodes of another graph, what it learned can be saved.

    Args:
        predictor: An unfitted predictor, or any object with ``fit`` and ``edge_logits``.

    Raises:
        AssertionError: If a promise is broken; the message says which.
    """
    name = type(predictor).__name__
    if not isinstance(predictor, EdgePredictor):
        predictor = CustomPredictor(predictor)
    for dense in (False, True):
        data = small_graph(_NUM_NODES, dense=dense)
        fresh = [copy.deepcopy(predictor) for _ in range(4)]
        with left_as_they_were(data, name):
            fitted = fresh[0].fit(data, 1)
            scores = fitted.edge_logits(_PAIRS)
        _check_scores(fitted, scores, name)
        assert torch.equal(fresh[1].fit(data, 1).edge_logits(_PAIRS), scores), (
            f"{name} must give the same scores for the same graph and seed."
        )
        if not predictor.looks_at_labels:
            other = copy.copy(data)
            other.y = (data.y + 1) % 2
            assert torch.equal(fresh[2].fit(other, 1).edge_logits(_PAIRS), scores), (
                f"{name} must not depend on the labels of the graph."
            )
        _check_ranking(fitted, scores, data, name)
        _check_other_graphs(fitted, fresh[3], data, name)


def _check_scores(fitted: EdgePredictor, scores: Tensor, name: str) -> None:
    assert scores.shape == _PAIRS.shape[1:], (
        f"edge_logits of {name} must give one score per pair, {_PAIRS.size(1)} of them, got shape"
        f" {list(scores.shape)}."
    )
    assert not bool(torch.isnan(scores).any()), f"edge_logits of {name} must be numbers, got NaN."
    torch.testing.assert_close(
        fitted.edge_logits(_PAIRS.flip(0)),
        scores,
        msg=lambda reason: f"{name} must score (u, v) as it scores (v, u): {reason}",
    )
    assert torch.equal(fitted.edge_logits(_PAIRS[:, ::7]), scores[::7]), (
        f"{name} must give a pair the same score whatever other pairs are scored."
    )
    rows = fitted.score_rows(10, 20, 5)  # [10, N - 5]
    pairs = torch.cartesian_prod(torch.arange(10, 20), torch.arange(5, _NUM_NODES)).t()
    away = (rows.flatten() - fitted.edge_logits(pairs)).abs()[pairs[0] != pairs[1]]
    assert float(away.max()) <= fitted.slack, (
        f"score_rows of {name} must be within its slack ({fitted.slack:g}) of edge_logits, got"
        f" {float(away.max()):g}."
    )


def _check_ranking(fitted: EdgePredictor, scores: Tensor, data: Data, name: str) -> None:
    edges = pair_keys(undirected_pairs(data.edge_index), _NUM_NODES)
    is_edge = torch.isin(pair_keys(_PAIRS, _NUM_NODES), edges)
    best = scores[~is_edge].sort(descending=True).values[:20]
    worst = scores[is_edge].sort().values[:20]
    assert torch.equal(fitted.top_non_edges(20).logits, best), (
        f"top_non_edges of {name} must be the best of all non-edges."
    )
    assert torch.equal(fitted.bottom_edges(20).logits, worst), (
        f"bottom_edges of {name} must be the worst of all edges."
    )


def _check_other_graphs(
    fitted: EdgePredictor, unfitted: EdgePredictor, data: Data, name: str
) -> None:
    try:
        adapted = fitted.adapted(data)
    except ConfigError:
        return  # it knows one graph only
    assert adapted is not fitted, f"adapted of {name} must give another predictor."
    torch.testing.assert_close(
        adapted.edge_logits(_PAIRS),
        fitted.edge_logits(_PAIRS),
        rtol=1e-4,
        atol=1e-4,
        msg=lambda reason: f"{name} must score the graph of its fit as before: {reason}",
    )
    if isinstance(fitted, CustomPredictor):
        return  # a user-defined object is not saved
    unfitted.restore(fitted.learned())
    part = _first_nodes(data, _NUM_FIRST)
    pairs = _PAIRS[:, (_PAIRS < _NUM_FIRST).all(dim=0)]
    expected = fitted.adapted(part).edge_logits(pairs)
    assert torch.equal(unfitted.adapted(part).edge_logits(pairs), expected), (
        f"{name} must score another graph the same after learned() and restore()."
    )


def _first_nodes(data: Data, count: int) -> Data:
    edges = data.edge_index[:, (data.edge_index < count).all(dim=0)]
    dense = data.x.layout == torch.strided
    x = data.x[:count] if dense else from_scipy(to_scipy_features(data.x)[:count])
    return Data(x=x, edge_index=edges, num_nodes=count)
