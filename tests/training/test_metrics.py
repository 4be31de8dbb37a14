"""Micro-F1 and counts of edges, against scikit-learn, NetworkX and by hand."""

from __future__ import annotations

import networkx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.graph.edges import undirected_pairs
from gaug.graph.homophily import edge_counts
from gaug.training.metrics import micro_f1, micro_f1_of_predictions, predicted_labels


@given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 10_000))
def test_with_one_class_a_node_it_is_sklearns_micro_f1_and_accuracy(
    count: int, classes: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, classes, generator=generator)
    labels = torch.randint(classes, (count,), generator=generator)
    predicted = logits.argmax(dim=1)
    score = micro_f1(logits, labels)
    assert score == pytest.approx(100 * f1_score(labels, predicted, average="micro"))
    assert score == pytest.approx(100 * accuracy_score(labels, predicted))


@given(st.integers(1, 20), st.integers(2, 6), st.integers(0, 10_000))
def test_with_several_labels_a_node_it_is_sklearns_micro_f1(
    count: int, classes: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, classes, generator=generator) - 0.5
    labels = (torch.rand(count, classes, generator=generator) < 0.3).float()
    expected = f1_score(labels, logits > 0, average="micro", zero_division=0)
    assert micro_f1(logits, labels) == pytest.approx(100 * expected)


def test_it_is_zero_and_no_error_when_nothing_is_predicted() -> None:
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert micro_f1(torch.full((2, 2), -1.0), labels) == 0.0


@given(st.integers(1, 20), st.integers(2, 6), st.booleans(), st.integers(0, 10_000))
def test_the_score_of_what_is_predicted_is_that_of_the_logits(
    count: int, classes: int, several: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, classes, generator=generator)
    labels = torch.randint(classes, (count,), generator=generator)
    if several:
        labels = (torch.rand(count, classes, generator=generator) < 0.4).float()
    predicted = predicted_labels(logits, several)
    assert micro_f1_of_predictions(predicted, labels) == micro_f1(logits, labels)


def test_a_label_is_predicted_where_its_logit_is_positive() -> None:
    logits = torch.tensor([[0.0, 0.1], [-2.0, 3.0]])
    assert predicted_labels(logits, True).tolist() == [[False, True], [False, True]]
    assert predicted_labels(logits, False).tolist() == [1, 1]


def test_edges_within_and_between_classes_are_those_that_networkx_counts() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, degree=5.0))
    counts = edge_counts(undirected_pairs(data.edge_index), data.y)
    graph: networkx.Graph = networkx.Graph(data.edge_index.t().tolist())
    networkx.set_node_attributes(graph, dict(enumerate(data.y.tolist())), "label")
    mixing = networkx.attribute_mixing_matrix(graph, "label", normalized=False)
    assert counts["edges"] == graph.number_of_edges()
    assert counts["intra_edges"] == mixing.trace() / 2  # both directions are in the matrix
    assert counts["inter_edges"] == (mixing.sum() - mixing.trace()) / 2


def test_an_edge_of_a_node_without_a_label_is_neither_within_nor_between_classes() -> None:
    pairs = torch.tensor([[0, 0, 1, 3], [1, 2, 2, 4]])
    labels = torch.tensor([0, 0, 1, -1, -1])
    assert edge_counts(pairs, labels) == {"edges": 4, "intra_edges": 1, "inter_edges": 2}
