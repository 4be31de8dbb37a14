"""What the runs on a cluster have in common is sent once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.runs.execute import execute
from gaug.runs.executor import Executor
from gaug.runs.plan import Plan
from gaug.runs.ray_calls import pack


@pytest.mark.parametrize("runs", [1, 6])
def test_graph_and_layout_are_stored_once_however_many_runs_there_are(
    on_cluster: Executor, monkeypatch: pytest.MonkeyPatch, runs: int
) -> None:
    import ray

    data = planted_graph(SyntheticConfig(num_nodes=8000, degree=10.0, num_features=50, seed=runs))
    stored: list[bytes] = []
    sent: list[int] = []
    put = ray.put

    def watched_put(content: np.ndarray, **options: Any) -> Any:
        stored.append(content.tobytes())
        return put(content, **options)

    def watched_pack(*arguments: Any) -> Any:
        packed, references = pack(*arguments)
        sent.append(len(packed))
        assert len(references) == len(stored)  # all of them belong to each run
        return packed, references

    monkeypatch.setattr(ray, "put", watched_put)
    monkeypatch.setattr("gaug.runs.ray_cluster.pack", watched_pack)
    plan = Plan.of(data, method="dropedge", split="stratified", settings={"epochs": 2})
    assert len(execute(plan, runs=runs, executor=on_cluster)) == runs
    assert len(sent) == runs
    assert len(stored) == len(set(stored))
    # Two numbers of 8 bytes for each direction of an edge, and as much for the layout.
    assert sum(map(len, stored)) > 2 * 16 * data.num_edges
    assert max(sent) < sum(map(len, stored)) / 20
