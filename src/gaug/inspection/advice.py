"""Suggest methods from measurements on a graph."""

from __future__ import annotations

from dataclasses import dataclass

from gaug.choosing.candidates import FEATURES, GAUG_O, SMOOTHED, STRUCTURE, Candidate
from gaug.choosing.scores import ValidationScores
from gaug.graph.homophily import Homophily


@dataclass(frozen=True)
class Evidence:
    """Scores that show which part of a graph predicts the classes.

    Attributes:
        features: Validation scores of an MLP, which sees features and no edges.
        edges: Validation scores of a GCN, which sees both.
        places: Validation scores of an MLP that sees only the degrees and triangles of a node and
            its neighbors.
        guess: Validation score of the most frequent class of the training nodes.
        homophily: Homophily of the edges between training and validation nodes; None if it is not
            defined.
    """

    features: ValidationScores
    edges: ValidationScores
    places: ValidationScores
    guess: ValidationScores
    homophily: Homophily | None = None


@dataclass(frozen=True)
class Advice:
    """What to try, and why.

    Attributes:
        kind: ``nothing``, ``roles``, ``features``, ``edges`` or ``unclear``.
        reason: The findings, in a sentence or two.
        candidates: What to try first; empty if no method stands out.
    """

    kind: str
    reason: str
    candidates: tuple[Candidate, ...] = ()


def advise(evidence: Evidence) -> Advice:
    """Which method is likely to help; the first rule that holds decides.

    A score is above another if the difference is larger than the spread of both
    (`ValidationScores.clearly_above`); "not above" includes differences within the spread.

    1. ``nothing``: neither features, edges nor places are above guessing. No method can help.
    2. ``roles``: edges are not homophilous (adjusted homophily below 0.3), places are above
       guessing, and neither features nor edges are above places. The classes are roles in the
       graph: GAug-M with ``predictor=structure`` joins nodes at similar places.
    3. ``features``: features are above edges. The edges are noise to a GCN: GAug-M with
       ``predictor=features`` joins similar nodes and removes edges between others.
    4. ``edges``: edges are above features. Where edges are homophilous, GAug-O and GAug-M with
       ``predictor=smoothed`` find more edges of that kind; otherwise they carry something that no
       rule here knows, and GAug-O, which learns with the classes, is the one to try.
    5. ``unclear``: features and edges are within the spread of each other.
    """
    features, edges, places, guess = (
        evidence.features,
        evidence.edges,
        evidence.places,
        evidence.guess,
    )
    high = evidence.homophily.is_high if evidence.homophily is not None else None
    if not any(scores.clearly_above(guess) for scores in (features, edges, places)):
        return Advice(
            "nothing",
            "Neither features nor edges predict the classes of the validation nodes better than a"
            " guess, beyond the spread. No augmentation is likely to help: first look for more"
            " labels or other features.",
        )
    beaten = features.clearly_above(places) or edges.clearly_above(places)
    if high is False and places.clearly_above(guess) and not beaten:
        return Advice(
            "roles",
            "The position of a node in the graph predicts its class as well as anything else, and"
            " edges connect nodes of one class little more often than by chance: the classes look"
            " like roles. GAug-M can connect nodes in similar positions; only a trial shows"
            " whether that helps.",
            (STRUCTURE,),
        )
    if features.clearly_above(edges):
        return Advice(
            "features",
            f"Features alone are {features.gain_over(edges):.1f} points above a GCN, more than"
            f" {features.chance_in_words(edges)}: the edges are noise to it. GAug-M can connect"
            " nodes with similar features and remove other edges.",
            (FEATURES,),
        )
    if edges.clearly_above(features):
        gain = f"A GCN is {edges.gain_over(features):.1f} points above features alone"
        if high:
            return Advice(
                "edges",
                f"{gain}, and edges connect nodes of one class. GAug-O and GAug-M with smoothed"
                " features look for more such edges; the gain is often small if edges are good.",
                (GAUG_O, SMOOTHED),
            )
        return Advice(
            "edges",
            f"{gain}, but edges are not known to connect nodes of one class. GAug-O learns edges"
            " together with the classes.",
            (GAUG_O,),
        )
    chance = features.chance_in_words(edges)
    return Advice(
        "unclear",
        f"The difference between features alone and a GCN is not more than {chance}, so it does"
        " not show which method helps. Try several with auto.",
    )
