"""The surest pairs within and between predicted classes, against a list of all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gaug.pairs.hashing import pair_hash
from gaug.pairs.predicted import Predicted, pairs_to_add, pairs_to_remove
from tests.tie_hash import tie_hash

Pair = tuple[int, int]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Predicted, list[Pair], float, int]:
    """A graph of 2 to 9 nodes, few distinct confidences so that many tie, and what is asked."""
    num_nodes = draw(st.integers(2, 9))
    every = list(itertools.combinations(range(num_nodes), 2))
    edges = sorted(draw(st.lists(st.sampled_from(every), unique=True)))
    labels = draw(st.lists(st.integers(0, 3), min_size=num_nodes, max_size=num_nodes))
    some = st.sampled_from([0.3, 0.5, 0.5000001, 0.8, 0.9, 1.0])
    confidence = draw(st.lists(some, min_size=num_nodes, max_size=num_nodes))
    predicted = Predicted(torch.tensor(labels), torch.tensor(confidence))
    least = draw(st.sampled_from([0.0, 0.5, 0.8, 1.0]))
    return predicted, edges, least, draw(st.integers(0, 40))


def as_tensor(pairs: list[Pair]) -> Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t()


def as_list(pairs: Tensor) -> list[Pair]:
    return [(u, v) for u, v in pairs.t().tolist()]


def surest(predicted: Predicted, candidates: list[Pair], least: float, count: int) -> list[Pair]:
    """All candidates, scored one by one and sorted."""
    scored = [
        (
            -min(predicted.confidence[u].item(), predicted.confidence[v].item()),
            tie_hash((u, v)),
            (u, v),
        )
        for u, v in candidates
    ]
    limit = torch.tensor(least).item()  # rounded to 32 bits, as the confidences are
    return [pair for score, _, pair in sorted(scored) if -score >= limit][:count]


@settings(max_examples=400)
@given(cases())
def test_the_pairs_to_add_are_those_that_a_list_of_all_pairs_gives(
    case: tuple[Predicted, list[Pair], float, int],
) -> None:
    predicted, edges, least, count = case
    label = predicted.label.tolist()
    candidates = [
        (u, v)
        for u, v in itertools.combinations(range(len(label)), 2)
        if label[u] == label[v] and (u, v) not in edges
    ]
    added = pairs_to_add(predicted, as_tensor(edges), least, count)
    assert as_list(added) == surest(predicted, candidates, least, count)


@settings(max_examples=200)
@given(cases())
def test_the_pairs_to_remove_are_those_that_a_list_of_all_edges_gives(
    case: tuple[Predicted, list[Pair], float, int],
) -> None:
    predicted, edges, least, count = case
    label = predicted.label.tolist()
    candidates = [(u, v) for u, v in edges if label[u] != label[v]]
    removed = pairs_to_remove(predicted, as_tensor(edges), least, count)
    assert as_list(removed) == surest(predicted, candidates, least, count)


def test_on_a_larger_graph_with_distinct_and_with_tied_confidences() -> None:
    generator = torch.Generator().manual_seed(0)
    every = list(itertools.combinations(range(60), 2))
    chosen = torch.randperm(len(every), generator=generator)[:300].sort().values
    edges = [every[i] for i in chosen.tolist()]
    label = torch.randint(4, (60,), generator=generator)
    candidates = [(u, v) for u, v in every if label[u] == label[v] and (u, v) not in set(edges)]
    for digits in (1, 2, 7):
        confidence = torch.rand(60, generator=generator).round(decimals=digits)
        predicted = Predicted(label, confidence)
        for count in (1, 17, 100, 250):
            added = pairs_to_add(predicted, as_tensor(edges), 0.2, count)
            assert as_list(added) == surest(predicted, candidates, 0.2, count)


def test_of_thousands_of_millions_of_ties_those_among_a_random_part_of_the_nodes_are_compared() -> (
    None
):
    num_nodes, enough = 100_000, 1 << 24  # five thousand million pairs
    predicted = Predicted(torch.zeros(num_nodes, dtype=torch.long), torch.ones(num_nodes))
    star = torch.stack([torch.zeros(num_nodes - 1, dtype=torch.long), torch.arange(1, num_nodes)])
    added = pairs_to_add(predicted, star, 0.9, 5)
    ids = np.arange(num_nodes)
    order = np.argsort(pair_hash(ids, ids))
    order = order[order != 0]  # all pairs of the center are edges
    part = np.sort(order[: next(n for n in range(num_nodes) if n * (n - 1) // 2 >= enough)])
    u, v = part[np.stack(np.triu_indices(part.size, 1))]
    hashes = pair_hash(u, v)
    lowest = np.argpartition(hashes, 5)[:5]
    lowest = lowest[np.argsort(hashes[lowest])]
    assert as_list(added) == list(zip(u[lowest].tolist(), v[lowest].tolist(), strict=True))


def test_a_class_that_no_node_is_predicted_in_brings_nothing() -> None:
    predicted = Predicted(torch.tensor([0, 5, 5, 0]), torch.tensor([0.9, 0.8, 0.7, 0.6]))
    assert as_list(pairs_to_add(predicted, as_tensor([]), 0.0, 9)) == [(1, 2), (0, 3)]


def test_a_node_with_several_labels_is_taken_for_the_most_probable() -> None:
    probabilities = torch.tensor([[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]])  # they need not sum to 1
    predicted = Predicted.of(probabilities)
    assert predicted.label.tolist() == [0, 1]
    torch.testing.assert_close(predicted.confidence, torch.tensor([0.9, 0.7]))
