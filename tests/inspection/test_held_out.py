"""Scores by class and by confidence, against scikit-learn and numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from gaug.inspection.held_out import calibration, class_scores, confusion


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_the_matrix_and_the_scores_of_classes_are_those_of_scikit_learn(
    pairs: list[tuple[int, int]],
) -> None:
    truth, predicted = np.array(pairs).T
    expected = confusion_matrix(truth, predicted, labels=range(4))
    assert confusion(truth, predicted, 4).tolist() == expected.tolist()
    found = class_scores(np.eye(4, dtype=bool)[truth], np.eye(4, dtype=bool)[predicted])
    precision, recall, _, nodes = precision_recall_fscore_support(
        truth, predicted, labels=range(4), zero_division=np.nan
    )
    for c, one in enumerate(found):
        assert one.nodes == nodes[c]
        assert (one.precision is None) == np.isnan(precision[c])
        assert one.precision is None or one.precision == pytest.approx(precision[c])
        assert one.recall is None or one.recall == pytest.approx(recall[c])


def test_calibration_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    confidence = random.random(500)
    right = random.random(500) < confidence**2
    found = calibration(confidence, right)
    accuracy, mean = calibration_curve(right, confidence, n_bins=10)
    assert found.accuracy == pytest.approx(accuracy.tolist())
    assert found.confidence == pytest.approx(mean.tolist())
    assert sum(found.count) == 500


def test_the_calibration_error_worked_out_by_hand() -> None:
    # Two predictions with confidence 0.9, one right: off by 0.4; two with 0.6, both right: by 0.4.
    confidence, right = np.array([0.9, 0.9, 0.6, 0.6]), np.array([True, False, True, True])
    assert calibration(confidence, right).error == pytest.approx(0.4)
    assert calibration(np.array([1.0]), np.array([True])).error == 0.0
    assert calibration(np.array([]), np.array([], dtype=bool)).error == 0.0
