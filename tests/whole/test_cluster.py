"""Commands on a Ray cluster whose machines, workers and callers are killed.

``GAUG_FAULTS`` sets how many faults the study has to survive; 3 by default, one of each kind.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from gaug.runs.evaluate import evaluate
from gaug.training.config import TrainingConfig

ROOT = Path(__file__).parents[2]
FAULTS = int(os.environ.get("GAUG_FAULTS", "3"))
SPLIT = ("--split", "stratified", "--set", "train_fraction=0.3")
# Real graphs have splits that would not fit the club.
WITHOUT_DATA = {name: value for name, value in os.environ.items() if name != "GAUG_DATA"}
#: Four cells of 15 runs.
STUDY = (
    *("reproduce", "table2", "--graphs", "cora", "--models", "gcn", "--settings", "default"),
    *("--methods", "none,dropedge,adaedge,gaug-m", "--runs", "15", "--format", "json"),
)


def command(*arguments: str, store: Path, cluster: Any = None) -> list[str]:
    where = () if cluster is None else ("--cluster", cluster.address)
    program = "tests.whole.club_for_cora" if "cora" in arguments else "gaug"
    return [sys.executable, "-m", program, *arguments, "--store", str(store), *where]


@contextlib.contextmanager
def started(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        arguments, cwd=ROOT, env=WITHOUT_DATA, stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def records(store: Path) -> Counter[tuple[str, float, float]]:
    """The runs on record; none before there is a store."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(store)) as opened:
        query = "select identity, val_score, test_score from runs"
        return Counter(opened.execute(query).fetchall())
    return Counter()


def wait_until(holds: Any, seconds: float = 600) -> None:
    patience = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < patience, "it took too long"
        time.sleep(0.02)


def run_processes() -> list[psutil.Process]:
    """The processes of runs on the cluster, which Ray names after their work."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if " ".join(process.cmdline()).startswith("ray::work"):
                found.append(process)
    return found


def lose_a_machine(cluster: Any) -> None:
    machine = next(iter(cluster.worker_nodes))
    size = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    cluster.remove_node(machine, allow_graceful=False)
    cluster.add_node(wait=False, **size)


def lose_a_worker(caller: subprocess.Popen[str]) -> None:
    wait_until(lambda: run_processes() or has_ended(caller))
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        run_processes()[0].kill()


def lose_the_caller(caller: subprocess.Popen[str]) -> None:
    """Kill it, after which none of its runs stays behind on the cluster."""
    wait_until(lambda: run_processes() or has_ended(caller))
    begun = run_processes()
    caller.kill()
    wait_until(lambda: not any(run.is_running() for run in begun))


def has_ended(process: subprocess.Popen[str]) -> bool:
    return process.poll() is not None


def test_a_study_survives_machines_workers_and_callers_that_are_killed(
    cluster: Any, tmp_path: Path
) -> None:
    alone, killed = tmp_path / "alone.sqlite", tmp_path / "killed.sqlite"
    here = subprocess.run(
        [*command(*STUDY, store=alone), "--workers", "2"],
        cwd=ROOT,
        env=WITHOUT_DATA,
        capture_output=True,
        text=True,
        check=True,
    )
    faults = itertools.cycle(["machine", "caller", "worker"])
    moments = [60 * (place + 1) // (FAULTS + 1) for place in range(FAULTS)]
    while True:
        with started(command(*STUDY, store=killed, cluster=cluster)) as process:
            while moments:
                wait_until(lambda p=process: records(killed).total() >= moments[0] or has_ended(p))
                if has_ended(process):
                    break
                fault = next(faults)
                print(f"{fault} lost after {records(killed).total()} runs", flush=True)
                moments.pop(0)
                if fault == "machine":
                    lose_a_machine(cluster)
                elif fault == "worker":
                    lose_a_worker(process)
                else:
                    lose_the_caller(process)
                    break
            out, err = process.communicate(timeout=300)
        if process.returncode != -signal.SIGKILL:
            break
    assert process.returncode == 0, err
    assert not moments, "the study ended before all faults"
    assert json.loads(out) == json.loads(here.stdout)
    assert records(killed) == records(alone)
    assert max(records(killed).values()) == 1
    assert records(killed).total() == 60


def test_ctrl_c_keeps_what_is_finished_and_ends_what_was_begun(
    cluster: Any, tmp_path: Path
) -> None:
    store = tmp_path / "store.sqlite"
    many = ("train", "karate", "--runs", "5000", "--set", "epochs=20", "--resume", *SPLIT)
    before = {process.pid for process in run_processes()}
    with started(command(*many, store=store, cluster=cluster)) as process:
        wait_until(lambda: records(store).total() >= 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = records(store).total()
    assert kept >= 3
    assert f"Interrupted. {kept} of 5000 runs are finished" in err
    assert "Traceback" not in err
    assert f"{kept} runs" in out
    wait_until(lambda: {run.pid for run in run_processes()} <= before)


def test_a_caller_that_is_no_part_of_the_cluster_has_the_same_records(
    cluster: Any, client_port: int, tmp_path: Path
) -> None:
    what = ("--method", "gaug-m", "--set", "predictor=ra", "--set", "epochs=5", *SPLIT)
    train = ("train", "karate", "--runs", "3", *what)
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    outside = ("--cluster", f"ray://127.0.0.1:{client_port}")
    for arguments in (command(*train, store=here), [*command(*train, store=there), *outside]):
        done = subprocess.run(
            arguments, cwd=ROOT, env=WITHOUT_DATA, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert records(there) == records(here)
    assert records(there).total() == 3


def test_json_is_all_there_is_on_standard_output_and_ray_says_nothing(
    cluster: Any, tmp_path: Path
) -> None:
    train = ("train", "karate", "--runs", "3", "--set", "epochs=5", "--json", "--quiet", *SPLIT)
    done = subprocess.run(
        command(*train, store=tmp_path / "store.sqlite", cluster=cluster),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    here = evaluate(
        "karate", runs=3, split="stratified", training=TrainingConfig(epochs=5), train_fraction=0.3
    )
    shown = json.loads(done.stdout)
    assert shown["test_mean"] == pytest.approx(here.mean)
    assert shown["runs"] == 3
