"""Means and spreads over the runs of one experiment."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from gaug.runs.record import RunRecord


def summarize(records: Sequence[RunRecord]) -> dict[str, Any]:
    """Means and sample standard deviations over runs of one experiment, ready for JSON.

    The standard deviation of a single run is None.
    """
    if not records:
        raise ValueError("There are no records to summarize.")
    first = records[0]
    vals = [record.val_score for record in records if record.val_score is not None]
    tests = [record.test_score for record in records if record.test_score is not None]
    return {
        "graph": first.graph,
        "model": first.model,
        "method": first.method,
        "config": first.config,
        "split": {"name": first.split, "hash": first.split_hash},
        "protocol": first.protocol,
        "runs": len(records),
        "test_mean": statistics.fmean(tests) if tests else None,
        "test_std": _deviation(tests),
        "val_mean": statistics.fmean(vals) if vals else None,
        "val_std": _deviation(vals),
        "seconds_per_run": statistics.fmean(record.seconds for record in records),
        "peak_memory_mb": max(record.peak_memory_mb for record in records),
        "record_ids": [record.id for record in records],
        "warnings": warnings_of(records),
    }


def warnings_of(records: Sequence[RunRecord]) -> list[str]:
    """The distinct warnings of the runs, each with the number of runs it concerns."""
    told = [record.warning for record in records if record.warning]
    return [
        f"{told.count(warning)} of {len(records)} runs: {warning}"
        for warning in dict.fromkeys(told)
    ]


def spread(values: Sequence[float]) -> float:
    """Sample standard deviation; 0 for a single value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _deviation(values: Sequence[float]) -> float | None:
    return spread(values) if len(values) > 1 else None


def mean_and_spread(scores: Sequence[float]) -> str:
    """For example ``92.4 ± 1.3``; only the score if there is a single one."""
    mean = f"{statistics.fmean(scores):.1f}"
    return mean if len(scores) == 1 else f"{mean} ± {spread(scores):.1f}"
