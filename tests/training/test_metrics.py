"""Micro-F1 against scikit-learn and by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from gaug.training.metrics import micro_f1


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
