"""Advice by hand-made scores on 1,000 validation nodes, whose spread is at most 1.6 points."""

from __future__ import annotations

import pytest

from gaug.choosing.candidates import FEATURES, GAUG_O, SMOOTHED, STRUCTURE
from gaug.choosing.scores import ValidationScores
from gaug.graph.homophily import Homophily
from gaug.inspection.advice import Evidence, advise

GOOD_EDGES = Homophily(0.8, 0.2, 500)
NOISY_EDGES = Homophily(0.3, 0.2, 500)


def evidence(
    features: float,
    edges: float,
    places: float,
    homophily: Homophily | None = GOOD_EDGES,
    guess: float = 25.0,
    nodes: int = 1000,
) -> Evidence:
    def scores(value: float) -> ValidationScores:
        return ValidationScores((value,), nodes)

    return Evidence(scores(features), scores(edges), scores(places), scores(guess), homophily)


@pytest.mark.parametrize(
    ("measured", "kind", "candidates"),
    [
        pytest.param(evidence(26, 25, 24), "nothing", (), id="all as good as a guess"),
        pytest.param(evidence(87, 75, 30, NOISY_EDGES), "features", (FEATURES,), id="social graph"),
        pytest.param(evidence(57, 81, 30), "edges", (GAUG_O, SMOOTHED), id="citations"),
        pytest.param(evidence(57, 81, 30, NOISY_EDGES), "edges", (GAUG_O,), id="other edges"),
        pytest.param(evidence(57, 81, 30, None), "edges", (GAUG_O,), id="several labels a node"),
        pytest.param(evidence(50, 55, 62, NOISY_EDGES), "roles", (STRUCTURE,), id="airports"),
        pytest.param(evidence(50, 62, 62, NOISY_EDGES), "roles", (STRUCTURE,), id="as well as GCN"),
        pytest.param(evidence(50, 62, 62), "edges", (GAUG_O, SMOOTHED), id="homophilous, no roles"),
        pytest.param(evidence(80, 80.5, 30), "unclear", (), id="within the spread"),
        pytest.param(evidence(25, 25, 62), "unclear", (), id="places in a homophilous graph"),
    ],
)
def test_what_follows_from_what_is_measured(measured, kind, candidates):
    advice = advise(measured)
    assert (advice.kind, advice.candidates) == (kind, candidates)
    assert advice.reason.endswith(".")


def test_the_same_difference_on_few_nodes_says_nothing():
    assert advise(evidence(70, 80, 30)).kind == "edges"
    assert advise(evidence(70, 80, 30, nodes=10)).kind == "unclear"


def test_few_edges_say_nothing_of_homophily():
    assert Homophily(0.9, 0.2, 20).is_high is True
    assert Homophily(0.9, 0.2, 19).is_high is None
    assert Homophily(0.3, 0.2, 20).is_high is False
    assert Homophily(1.0, 1.0, 50).is_high is None


def test_homophily_is_high_from_three_tenths_above_chance():
    assert Homophily(0.65, 0.5, 100).adjusted == pytest.approx(0.3)
    assert Homophily(0.649, 0.5, 100).is_high is False
    assert Homophily(0.651, 0.5, 100).is_high is True
