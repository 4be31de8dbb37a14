"""Means and sample deviations over the runs of a plan, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gaug.runs.execute import execute
from gaug.runs.plan import Plan
from gaug.runs.summary import mean_and_spread, spread, summarize
from tests.known import known


def karate() -> Plan:
    return Plan.of("karate", split="stratified", settings=["train_fraction=0.2", "epochs=5"])


def test_a_summary_agrees_with_numpy():
    records = execute(karate(), runs=5)
    summary = summarize(records)
    tests = [known(record.test_score) for record in records]
    vals = [known(record.val_score) for record in records]
    assert summary["runs"] == 5
    assert summary["test_mean"] == pytest.approx(np.mean(tests), rel=1e-12)
    assert summary["test_std"] == pytest.approx(np.std(tests, ddof=1), rel=1e-12)
    assert summary["val_mean"] == pytest.approx(np.mean(vals), rel=1e-12)
    assert summary["val_std"] == pytest.approx(np.std(vals, ddof=1), rel=1e-12)
    seconds = [record.seconds for record in records]
    assert summary["seconds_per_run"] == pytest.approx(np.mean(seconds), rel=1e-12)
    assert summary["peak_memory_mb"] == max(record.peak_memory_mb for record in records)


def test_a_summary_of_runs_without_validation_has_no_validation_score():
    records = execute(karate(), runs=2)
    for record in records:
        record.val_score = None
    summary = summarize(records)
    assert summary["val_mean"] is None
    assert summary["val_std"] is None


def test_a_summary_of_one_run_has_no_deviation():
    summary = summarize(execute(karate(), runs=1))
    assert summary["test_std"] is None
    assert summary["val_std"] is None


def test_a_summary_tells_of_how_many_runs_a_warning_is_true():
    records = execute(karate(), runs=3)
    assert summarize(records)["warnings"] == []
    records[1].warning = "It went wrong."
    assert summarize(records)["warnings"] == ["1 of 3 runs: It went wrong."]


def test_a_single_value_has_no_spread_and_others_the_sample_deviation():
    assert spread([80.0]) == 0.0
    assert spread([1.0, 3.0]) == pytest.approx(math.sqrt(2))
    values = [81.5, 80.25, 83.0, 79.75]
    assert spread(values) == pytest.approx(np.std(values, ddof=1), rel=1e-12)


def test_nothing_cannot_be_summarized():
    with pytest.raises(ValueError, match="no records"):
        summarize([])


def test_a_summary_of_runs_whose_test_labels_were_hidden_has_no_test_score():
    summary = summarize(execute(karate(), runs=2, hide_test=True))
    assert (summary["test_mean"], summary["test_std"]) == (None, None)
    assert summary["val_mean"] is not None


def test_scores_are_told_with_their_spread_and_a_single_one_without():
    assert mean_and_spread([80.0, 82.0]) == "81.0 ± 1.4"
    assert mean_and_spread([80.04]) == "80.0"
