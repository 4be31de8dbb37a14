"""A search on a cluster, whose trials run side by side, is the search on this machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from gaug.choosing.search import SearchResult, search_settings
from gaug.runs.executor import Executor
from gaug.runs.run_job import RunJob
from tests.choosing.conftest import karate


def outcomes(result: SearchResult) -> list[Any]:
    """What the trials came to, without what they cost."""
    return [dataclasses.replace(trial, seconds=0.0) for trial in result.trials]


def test_trials_that_run_side_by_side_on_a_cluster_are_those_of_this_machine(
    on_cluster: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six trials are proposed together; two runs have a CPU each, and a third one waits."""
    under_way: dict[int, RunJob] = {}
    most = 0
    run = on_cluster.run

    def watched(jobs: Any, *options: Any) -> Iterator[Any]:
        def counted() -> Iterator[Any]:
            nonlocal most
            for job in jobs:
                under_way[id(job)] = job
                most = max(most, len({id(one.prepared) for one in under_way.values()}))
                yield job

        for job, result in run(counted(), *options):
            del under_way[id(job)]
            yield job, result

    options: dict[str, Any] = {"trials": 8, "trial_runs": 1, "concurrent_trials": 6}
    plan = karate("dropedge", "epochs=5")
    here = search_settings(plan, **options)
    monkeypatch.setattr(on_cluster, "run", watched)
    there = search_settings(plan, **options, executor=on_cluster)
    assert most > 1, "trials were not side by side"
    assert outcomes(there) == outcomes(here)
    assert there.best.settings == here.best.settings
