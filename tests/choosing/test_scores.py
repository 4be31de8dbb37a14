from __future__ import annotations

import statistics

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gaug.choosing.scores import ValidationScores


@given(values=st.lists(st.floats(0, 100), min_size=1, max_size=5), num_nodes=st.integers(1, 10_000))
def test_the_spread_is_the_larger_of_runs_and_nodes(values, num_nodes):
    scores = ValidationScores(tuple(values), num_nodes)
    runs = statistics.stdev(values) if len(values) > 1 else 0.0
    share = (num_nodes * statistics.fmean(values) / 100 + 1) / (num_nodes + 2)
    nodes = 100 * scipy.stats.binom(num_nodes, share).std() / num_nodes
    assert scores.spread == pytest.approx(max(runs, nodes))
    assert scores.spread > 0


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 1000))
def test_of_two_at_most_one_is_clearly_above(one, other, num_nodes):
    first, second = (ValidationScores((value,), num_nodes) for value in (one, other))
    assert not (first.clearly_above(second) and second.clearly_above(first))
    if first.clearly_above(second):
        assert one > other


def test_one_node_of_six_is_not_clearly_above():
    assert not ValidationScores((100.0,), 6).clearly_above(ValidationScores((500 / 6,), 6))
    assert ValidationScores((100.0,), 600).clearly_above(ValidationScores((500 / 6,), 600))


def test_words_say_whether_runs_or_nodes_leave_the_doubt():
    steady, shaky = ValidationScores((80.0, 80.0), 50), ValidationScores((60.0, 90.0), 50)
    assert "50 nodes leave to chance" in steady.chance_in_words(steady)
    assert "21.2 points by which runs differ" in steady.chance_in_words(shaky)
