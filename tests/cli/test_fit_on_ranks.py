"""gaug fit by several processes of torchrun, or of a Ray cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gaug import load, load_graph
from gaug.classifier.files import PAGE
from gaug.runs.executor import Executor

_FIT = (
    *("fit", "karate", "--split", "stratified", "--json", "--set", "train_fraction=0.5"),
    *("--set", "batch_size=5", "--set", "epochs=5", "--set", "dropout=0"),
)


@pytest.mark.ranks
def test_two_processes_write_the_model_of_one(gaug, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert_same(gaug, by_two_processes(tmp_path / "two", scratch), tmp_path)
    assert list(scratch.glob("gaug-*")) == []


@pytest.mark.ranks
@pytest.mark.parametrize("method", ["gaug-o", "gaug-m+gaug-o"])
def test_two_processes_agree_on_what_the_graph_decides(tmp_path: Path, method: str) -> None:
    found = by_two_processes(tmp_path / "model", tmp_path, "--method", method)
    assert found["config"]["method"]["engine"] == "blocked"
    assert load(tmp_path / "model").predict(load_graph("karate")).shape == (34,)


def by_two_processes(out: Path, scratch: Path, *options: str) -> dict[str, Any]:
    """The summary of a fit that torchrun splits."""
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    done = subprocess.run(
        [sys.executable, *torchrun, "-m", "gaug", *_FIT, *options, "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(scratch)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # of one process: two would be no JSON


def test_two_processes_of_a_cluster_write_the_model_of_one(
    gaug, on_cluster: Executor, cluster: Any, tmp_path: Path
) -> None:
    result = gaug(
        *(*_FIT, "--checkpoint-minutes", "0", "--out", tmp_path / "two"),
        *("--cluster", cluster.address, "--ranks", "2"),
    )
    assert result.code == 0, result.err
    assert_same(gaug, json.loads(result.out), tmp_path)
    assert list(tmp_path.glob("*.checkpoints/*")) == []
    page = (tmp_path / "two" / PAGE).read_text(encoding="utf-8")
    assert f"--cluster {cluster.address} --ranks 2" in page


def assert_same(gaug: Callable[..., Any], found: dict[str, Any], tmp_path: Path) -> None:
    """The model of two processes is that of one, up to rounding."""
    result = gaug(*_FIT, "--out", tmp_path / "one")
    expected = json.loads(result.out)
    for name in ("best_epoch", "epochs", "val_score", "test_score", "config", "split"):
        assert found[name] == expected[name]
    one, two = (load_file(tmp_path / name / "weights.safetensors") for name in ("one", "two"))
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, rtol=1e-4, atol=1e-5)


@pytest.fixture(params=[0, 1])
def rank(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of this process, one of two."""
    for name, value in {"RANK": request.param, "WORLD_SIZE": 2, "MASTER_PORT": 1}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    return int(request.param)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "karate"], "'gaug train' is not for 2 processes of torchrun: only 'gaug fit'"),
        (["datasets"], "'gaug datasets' is not for 2 processes"),
        (["fit", "karate", "--out", "m"], "without batch_size a step is on the whole graph"),
        (["fit", "karate", "--out", "m", "--set", "batch_size=1"], "number of processes, 2"),
        (["fit", "karate", "--out", "m", "--set", "batch_size=auto"], "is for one process"),
        (["fit", "karate", "--out", "m", "--method", "auto"], "--method auto trains many models"),
        (["fit", "karate", "--out", "m", "--set", "batchsize=4"], "Unknown setting 'batchsize'"),
        (["fit", "karate"], "Missing option"),
    ],
)
def test_what_cannot_be_split_is_refused_by_the_first_process_alone(
    gaug, no_training, rank: int, arguments: list[str], message: str
) -> None:
    result = gaug(*arguments)
    assert result.code == 2
    assert result.out == ""
    if rank == 0:
        assert message in result.err
    else:
        assert result.err == ""


def test_a_world_of_one_process_is_no_matter(gaug, tmp_path, monkeypatch) -> None:
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "MASTER_PORT": 1}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    result = gaug("fit", "karate", "--out", tmp_path / "model", "--set", "epochs=2")
    assert result.code == 0, result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ranks", "2"], "--ranks goes with --cluster ADDRESS."),
        (["--cluster", "auto"], "'gaug fit' trains on a cluster with --ranks N"),
        (["--cluster", "auto", "--ranks", "0"], "--ranks must be at least 1, got 0."),
        (
            ["--cluster", "auto", "--ranks", "2", "--max-memory", "4GB"],
            "--max-memory limits this machine",
        ),
        (["--cluster", "auto", "--ranks", "2"], "without batch_size a step is on the whole graph"),
        (["--cluster", "auto", "--ranks", "2", "--method", "auto"], "without torchrun or --ranks"),
        (
            ["--cluster", "auto", "--ranks", "3", "--set", "batch_size=2"],
            "batch_size must be at least the number of processes, 3",
        ),
        (
            ["--cluster", "auto", "--ranks", "1", "--set", "batch_size=auto"],
            "batch_size=auto looks at the memory of this machine",
        ),
        (
            ["--cluster", "auto", "--ranks", "1", "--device", "cuda:1"],
            "got 'cuda:1'. Leave out the number: Ray gives each process a GPU.",
        ),
    ],
)
def test_ranks_of_a_cluster_that_cannot_be_are_refused_in_one_line(
    gaug, no_training, monkeypatch, tmp_path: Path, arguments: list[str], message: str
) -> None:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "")  # where an option puts the limit
    result = gaug("fit", "karate", "--out", tmp_path / "model", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda", "room for 0 processes with 1 CPU and 1 GPU each"),  # there, not here
        ("mps", "On a cluster, device must be cpu or cuda, got 'mps'."),
    ],
)
def test_a_device_of_a_cluster_need_not_be_here(
    gaug, on_cluster: Executor, cluster: Any, tmp_path: Path, device: str, message: str
) -> None:
    where = ("--cluster", cluster.address, "--ranks", "1", "--device", device)
    result = gaug("fit", "karate", "--out", tmp_path / "model", "--quiet", *where)
    assert result.code == 2
    assert message in result.err


def test_ranks_under_torchrun_are_refused(gaug, no_training, rank: int) -> None:
    result = gaug("fit", "karate", "--out", "m", "--cluster", "auto", "--ranks", "2")
    assert result.code == 2
    assert ("torchrun started 2 processes already" in result.err) == (rank == 0)


def test_a_cluster_for_other_commands_is_no_matter_to_a_fit(gaug, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GAUG_CLUSTER", "127.0.0.1:1")
    result = gaug("fit", "karate", "--out", tmp_path / "model", "--set", "epochs=2")
    assert result.code == 0, result.err
