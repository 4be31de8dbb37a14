"""How many workers a command takes without being told."""

from __future__ import annotations

import os

import pytest

from gaug.cli.executor import sensible_workers
from gaug.errors import ConfigError


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)


@pytest.mark.parametrize("workers", [1, 3, 100])
def test_workers_are_as_many_as_asked(eight_cores, workers):
    assert sensible_workers(workers, runs=5) == workers


@pytest.mark.parametrize("workers", [0, -1])
def test_less_than_one_worker_is_refused(workers):
    with pytest.raises(ConfigError, match=f"workers must be at least 1, got {workers}"):
        sensible_workers(workers, runs=5)


def test_by_default_a_worker_has_four_runs_at_least(eight_cores):
    for runs in range(1, 100):
        workers = sensible_workers(None, runs)
        assert workers == 1 or runs / workers >= 4


def test_by_default_there_is_no_more_than_a_worker_a_core(eight_cores):
    assert sensible_workers(None, 32) == 8
    assert max(sensible_workers(None, runs) for runs in range(1, 1000)) == 8


def test_a_few_runs_stay_in_this_process(eight_cores):
    assert [sensible_workers(None, runs) for runs in (1, 4, 7)] == [1, 1, 1]


def test_the_cores_are_counted_where_affinity_is_not_known(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert sensible_workers(None, 100) == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert sensible_workers(None, 100) == 1
