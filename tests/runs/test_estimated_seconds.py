"""The time of a run is guessed by its graph, its epochs and its method."""

from __future__ import annotations

import pytest

from gaug.runs.estimated_seconds import estimated_seconds
from gaug.runs.plan import Plan


def test_a_larger_graph_more_epochs_and_a_costlier_method_are_guessed_to_take_longer():
    plain = estimated_seconds(Plan.of("cora", settings=["epochs=100"]))
    assert plain > 0
    assert estimated_seconds(Plan.of("cora", settings=["epochs=200"])) == pytest.approx(2 * plain)
    costlier = [
        Plan.of("flickr", settings=["epochs=100"]),
        Plan.of("cora", model="gat", settings=["epochs=100"]),
        Plan.of("cora", method="gaug-o", settings=["epochs=100"]),
    ]
    assert all(estimated_seconds(plan) > plain for plan in costlier)


def test_the_time_of_a_graph_that_is_not_in_the_catalog_can_be_guessed_too(two_cliques):
    assert estimated_seconds(Plan.of(two_cliques)) > 0
    assert estimated_seconds(Plan.of("./somewhere")) > 0
