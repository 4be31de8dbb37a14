"""Scores of single nodes: what is joined, subtracted and ranked by."""

from __future__ import annotations

import numpy as np
import pytest

from gaug.choosing.run_scores import RunScores

RIGHT = np.array([[100.0, 0.0], [100.0, 100.0]])
PROBABLE = np.array([[90.0, 40.0], [80.0, 60.0]])


def both(first: int = 0, lift: float = 0.0) -> RunScores:
    return RunScores((first, first + 1), (50.0, 100.0), RIGHT, PROBABLE + lift)


def test_candidates_are_ranked_by_score_and_probability_in_equal_parts():
    assert both().merit == pytest.approx((75.0 + 67.5) / 2)
    assert RunScores((0, 1), (50.0, 100.0), RIGHT).merit == 75.0


def test_the_merit_of_a_difference_is_the_difference_of_merits():
    assert both(lift=7.0).minus(both()).merit == pytest.approx(both(lift=7.0).merit - both().merit)


def test_probabilities_are_joined_and_subtracted_like_scores():
    joined = both().joined(both(first=2, lift=5.0))
    assert joined.by_probability.nodes.tolist() == [*PROBABLE.tolist(), *(PROBABLE + 5).tolist()]
    difference = joined.minus(both(first=1, lift=1.0))
    assert difference.runs == (1, 2)
    np.testing.assert_allclose(
        difference.by_probability.nodes,
        [PROBABLE[1] - PROBABLE[0] - 1, PROBABLE[0] + 5 - PROBABLE[1] - 1],
    )


def test_where_one_side_has_no_probabilities_the_score_counts_alone():
    scores = RunScores((0, 1), (50.0, 100.0), RIGHT)
    for found in (both().minus(scores), scores.minus(both()), both().joined(scores)):
        assert found.probabilities is None
        assert found.by_probability is found


def test_nodes_that_did_not_validate_do_not_count_in_the_mean_probability():
    some = RunScores((0,), (100.0,), np.array([[100.0, np.nan]]), np.array([[80.0, np.nan]]))
    assert some.by_probability.mean == 80.0
