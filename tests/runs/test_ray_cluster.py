"""What is particular to an executor on a Ray cluster."""

from __future__ import annotations

import importlib
import os
import shutil
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gaug import load_graph
from gaug.data.files.folder import write_graph_folder
from gaug.data.opening import open_graph
from gaug.edge_predictors import fitted
from gaug.edge_predictors.config import GAEConfig
from gaug.edge_predictors.gae import GAE
from gaug.errors import ConfigError, TrainingError
from gaug.runs import ray_connection
from gaug.runs.evaluate import evaluate
from gaug.runs.execute import execute, execute_all
from gaug.runs.execution import Request
from gaug.runs.executor import Executor, Job, Tell
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from tests.runs.endless import Endless

SHORT: dict[str, Any] = {"epochs": 5, "train_fraction": 0.3}


@dataclass(frozen=True)
class Counted:
    """Leaves a file each time that it is begun, and then does something."""

    folder: Path
    then: Callable[[int], Any]
    memory: int = 0
    threads: int = 1
    device: str = "cpu"

    def __call__(self, tell: Tell) -> Any:
        (self.folder / f"{time.monotonic_ns()}").touch()
        return self.then(times(self.folder))


class Unpickled:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@dataclass(frozen=True)
class Carrying:
    thing: Any

    def __call__(self, tell: Tell) -> int:
        return 1


def times(folder: Path) -> int:
    return len(list(folder.iterdir()))


def die(_: int) -> int:
    os._exit(1)


def die_once(time: int) -> int:
    return os._exit(1) if time == 1 else time


def fail(_: int) -> int:
    raise TrainingError("for a reason of its own")


def results(executor: Executor, *jobs: Any) -> list[Any]:
    found = {id(job): result for job, result in executor.run(jobs)}
    return [found[id(job)] for job in jobs]


def outcomes(records: list[RunRecord]) -> list[tuple[Any, ...]]:
    return [
        (r.identity, r.run, r.val_score, r.test_score, r.best_epoch, r.epochs, r.val_predictions)
        for r in records
    ]


# The same records.


@pytest.mark.parametrize("method", ["none", "dropedge", "adaedge", "bgcn", "gaug-m", "gaug-o"])
def test_records_are_the_same_to_the_last_bit_as_in_this_process(
    on_cluster: Executor, method: str
) -> None:
    plan = Plan.of("karate", method=method, split="stratified", settings=SHORT)
    here = execute(plan, runs=2, keep_history=True)
    there = execute(plan, runs=2, keep_history=True, executor=on_cluster)
    assert outcomes(there) == outcomes(here)
    assert [r.history for r in there] == [r.history for r in here]


def test_a_model_defined_in_a_function_goes_to_the_cluster_too(
    on_cluster: Executor, cluster: Any
) -> None:
    class Own(nn.Module):
        def __init__(self, in_features: int, num_classes: int) -> None:
            super().__init__()
            self.layer = nn.Linear(in_features, num_classes)

        def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Any:
            return self.layer(x)

    def score(**where: Any) -> list[float]:
        graph = load_graph("karate")
        return evaluate(graph, Own, runs=2, split="stratified", **SHORT, **where).scores

    assert score(cluster=cluster.address) == score()


def test_a_graph_that_only_this_machine_has_is_sent_along(
    on_cluster: Executor, tmp_path: Path
) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    write_graph_folder(folder, open_graph("karate"))
    plan = Plan.of(str(folder), split="stratified", settings=SHORT)
    graphs = Graphs()
    graphs.load(plan)
    here = execute(plan, runs=2, graphs=graphs)
    shutil.rmtree(folder)
    there = execute(plan, runs=2, graphs=graphs, executor=on_cluster)
    assert outcomes(there) == outcomes(here)


# Lost, failed and canceled jobs.


def test_a_job_whose_worker_is_lost_is_done_again(on_cluster: Executor, tmp_path: Path) -> None:
    assert results(on_cluster, Counted(tmp_path, die_once)) == [2]


def test_a_job_whose_worker_is_always_lost_says_so_and_the_others_go_on(
    on_cluster: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gaug.runs.ray_cluster.RETRIES", 1)  # each starts a process
    lost, whole = tmp_path / "lost", tmp_path / "whole"
    lost.mkdir()
    whole.mkdir()
    failure, result = results(on_cluster, Counted(lost, die), Counted(whole, int))
    assert isinstance(failure, TrainingError)
    assert "was lost 2 times" in str(failure)
    assert "\n" not in str(failure)
    assert times(lost) == 2
    assert result == 1


def test_a_job_that_fails_for_a_reason_of_its_own_is_not_done_again(
    on_cluster: Executor, tmp_path: Path
) -> None:
    [failure] = results(on_cluster, Counted(tmp_path, fail))
    assert isinstance(failure, TrainingError)
    assert str(failure) == "for a reason of its own"
    assert times(tmp_path) == 1


def test_leaving_the_loop_ends_the_jobs_under_way(on_cluster: Executor, tmp_path: Path) -> None:
    endless = Endless(tmp_path)

    def jobs() -> Generator[Job[Any], None, None]:
        yield endless
        patience = time.monotonic() + 60
        while not endless.begun.exists() and time.monotonic() < patience:
            time.sleep(0.01)
        yield Counted(tmp_path, int)

    running = on_cluster.run(jobs())
    next(running)
    assert endless.is_under_way
    assert isinstance(running, Generator)
    running.close()
    assert not endless.is_under_way


def test_a_job_that_has_ended_is_not_canceled(
    on_cluster: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    canceled: list[object] = []
    monkeypatch.setattr(ray, "cancel", lambda reference, force: canceled.append(reference))
    with pytest.raises(ConfigError, match="no_such_module"):
        results(on_cluster, Carrying(Unpickled(importlib.import_module, "no_such_module")))
    assert canceled == []


# What does not go.


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ({"threads": 64}, "64 CPUs"),
        ({"memory": 10**15}, "1,000,000.4 GB"),
        ({"device": "cuda:0"}, "1 GPUs"),
    ],
)
def test_a_job_that_fits_no_machine_is_refused_with_what_there_is_and_the_others_go_on(
    on_cluster: Executor, tmp_path: Path, needs: dict[str, Any], words: str
) -> None:
    refused, result = results(on_cluster, Counted(tmp_path, fail, **needs), Counted(tmp_path, int))
    assert isinstance(refused, ConfigError)
    assert f"needs {words}" in str(refused) or f", {words}" in str(refused)
    assert "has only machines with 1 CPUs" in str(refused)
    assert "\n" not in str(refused)
    assert result == 1


def test_a_plan_that_fits_no_machine_is_an_error_of_the_plan(on_cluster: Executor) -> None:
    plan = Plan.of("karate", split="stratified", threads=64, settings=SHORT)
    [(_, error)] = execute_all([Request(plan, [0])], executor=on_cluster)
    assert isinstance(error, ConfigError)


def test_another_version_there_is_told(
    on_cluster: Executor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "gaug.runs.ray_calls.software_versions", lambda: {"gaug": "77.7", "python": "2.7"}
    )
    with pytest.raises(ConfigError, match=r"gaug .* there, 77.7 here.*Install the same"):
        results(on_cluster, Counted(tmp_path, int))
    assert times(tmp_path) == 0


def test_a_module_that_is_missing_there_is_told(on_cluster: Executor) -> None:
    job = Carrying(Unpickled(importlib.import_module, "no_such_module"))
    with pytest.raises(ConfigError, match="No module named 'no_such_module'") as caught:
        results(on_cluster, job)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_sent_is_told_with_a_remedy(on_cluster: Executor) -> None:
    with pytest.raises(ConfigError, match="cannot be sent to a cluster"):
        results(on_cluster, Carrying(threading.Lock()))
    assert results(on_cluster, Carrying(2)) == [1]


def test_what_is_stored_there_cannot_be_written_to(on_cluster: Executor) -> None:
    import ray

    from gaug.runs.object_store import ObjectStore, unpack

    held = torch.arange(10_000.0)
    packed, references = ObjectStore().pack(Carrying(held))
    stored = ray.get(references)
    assert torch.equal(unpack(packed, stored).thing, held)
    assert not any(array.flags.writeable for array in stored)


# Connecting.


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'gaug\[cluster\]'"):
        ray_connection.connect("auto")


@pytest.mark.cluster
def test_another_version_of_python_there_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ray

    def refuse(**options: Any) -> None:
        raise RuntimeError("Version mismatch: The cluster was started with:\n    Python: 3.9.1\n")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "init", refuse)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ConfigError, match=r"another version .* 3\.9\.1 .*Install") as caught:
            ray_connection.connect(address)
    assert "\n" not in str(caught.value)


def test_workers_limit_the_jobs_at_a_time_on_a_cluster_too(
    on_cluster: Executor, cluster: Any, tmp_path: Path
) -> None:
    from gaug.runs.ray_cluster import RayCluster

    taken: list[int] = []

    def jobs() -> Generator[Job[Any], None, None]:
        for run in range(5):
            taken.append(run)
            yield Carrying(run)

    for done, _ in enumerate(RayCluster(cluster.address, workers=1).run(jobs()), start=1):
        assert len(taken) == done
    with pytest.raises(ConfigError, match="workers must be at least 1, got 0"):
        RayCluster(cluster.address, workers=0)


def test_runs_on_a_cluster_leave_no_checkpoints(
    on_cluster: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUG_CHECKPOINT_MINUTES", "0")
    store = Store(str(tmp_path / "store.sqlite"))
    plan = Plan.of("karate", split="stratified", settings=SHORT)
    execute(plan, runs=2, store=store, executor=on_cluster)
    assert not list(tmp_path.glob("*.checkpoints/*"))
    assert len(store.find([Graphs().place(plan).identity(0)])) == 1


# Rankings.


@pytest.mark.parametrize("allocation", ["global", "per-node"])
def test_a_ranking_on_the_cluster_is_that_of_this_process(
    on_cluster: Executor, monkeypatch: pytest.MonkeyPatch, allocation: str
) -> None:
    monkeypatch.setattr("gaug.pairs.parts.PAIRS_IN_PART", 100)
    done: list[object] = []
    run = on_cluster.run

    def watched(jobs: Any, *options: Any) -> Iterator[Any]:
        for job, result in run(jobs, *options):
            done.append(job)
            yield job, result

    monkeypatch.setattr(on_cluster, "run", watched)
    graph = load_graph("karate")
    config = GAEConfig(predictor_epochs=5)
    predictor = GAE(config).fit(graph)
    here = predictor.top_non_edges(50, per_node=allocation == "per-node")
    assert not done
    with on_cluster.ranking():
        there = predictor.top_non_edges(50, per_node=allocation == "per-node")
    assert len(done) >= 5
    assert torch.equal(there.pairs, here.pairs)
    assert torch.equal(there.logits, here.logits)


def test_a_method_that_ranks_while_other_runs_are_under_way_has_the_same_records(
    on_cluster: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def records(executor: Executor | None) -> list[tuple[Any, ...]]:
        monkeypatch.setattr(fitted, "_kept", OrderedDict())  # rankings are kept with predictors
        plans = [
            Plan.of("karate", method="gaug-m", split="stratified", settings={**SHORT, **one})
            for one in ({"predictor": "jaccard"}, {"predictor": "ra", "allocation": "per-node"})
        ]
        found = execute_all([Request(plan, range(2)) for plan in plans], executor=executor)
        kept = [record for _, record in found if isinstance(record, RunRecord)]
        return sorted(outcomes(kept))

    here = records(None)
    monkeypatch.setattr("gaug.pairs.parts.PAIRS_IN_PART", 100)
    assert records(on_cluster) == here
    assert len(here) == 4
