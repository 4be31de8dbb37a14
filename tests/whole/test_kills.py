"""Commands that are killed at random moments come to the same end as ones that were left alone.

``GAUG_KILLS`` sets how often each command is killed; 1 by default, to be quick.
"""

from __future__ import annotations

import collections
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("GAUG_KILLS", "1"))
_SPLIT = ("--split", "stratified", "--set", "train_fraction=0.3")
COMMANDS = {
    "train": (
        *("train", "karate", "--method", "gaug-o", "--set", "epochs=30", "--runs", "12"),
        *("--resume", "--workers", "2", "--json", *_SPLIT),
    ),
    "auto": (
        *("train", "karate", "--method", "auto", "--time-budget", "600", "--set", "epochs=5"),
        *("--runs", "6", "--workers", "1", "--json", *_SPLIT),
    ),
    "search": (
        *("search", "karate", "--method", "gaug-m", "--trials", "6", "--trial-runs", "2"),
        *("--set", "epochs=10", "--runs", "4", "--workers", "2", "--json", *_SPLIT),
    ),
    # One run, so that whatever is kept of a killed one is its checkpoint.
    "one long run": (
        *("train", "karate", "--method", "gaug-o", "--set", "epochs=600", "--runs", "1"),
        *("--checkpoint-minutes", "0.005", "--set", "batch_size=5", "--resume", "--json", *_SPLIT),
    ),
    # A table whose settings are searched first.
    "table": (
        *("reproduce", "table2", "--graphs", "cora", "--models", "gcn", "--workers", "1"),
        *("--methods", "none,dropedge,adaedge", "--runs", "3", "--trial-runs", "1"),
        *("--format", "json"),
    ),
    "reproduce": ("reproduce", "figure1", "--runs", "6", "--workers", "1", "--format", "json"),
}
#: What differs from one time to the next, and may.
_OF_THE_MOMENT = {"seconds", "seconds_per_run", "peak_memory_mb", "record_ids", "notes"}


def start(command: tuple[str, ...], store: Path) -> subprocess.Popen[str]:
    program = "tests.whole.club_for_cora" if "cora" in command else "gaug"
    # Without real graphs, whose splits would not fit the club.
    environment = {name: value for name, value in os.environ.items() if name != "GAUG_DATA"}
    return subprocess.Popen(
        [sys.executable, "-m", program, *command, "--store", str(store), "--quiet"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(command: tuple[str, ...], store: Path) -> tuple[Any, float]:
    """What a command prints, without what differs from one time to the next, and its seconds."""
    begun = time.monotonic()
    process = start(command, store)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return without_the_moment(json.loads(out)), time.monotonic() - begun


def without_the_moment(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: part for name, part in value.items() if name not in _OF_THE_MOMENT}
        return {name: without_the_moment(part) for name, part in kept.items()}
    return [without_the_moment(part) for part in value] if isinstance(value, list) else value


def runs_on_record(store: Path) -> collections.Counter[tuple[str, float, float]]:
    with sqlite3.connect(store) as connection:
        query = "select identity, val_score, test_score from runs"
        return collections.Counter(connection.execute(query).fetchall())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_and_begun_again_loses_nothing_and_does_nothing_twice(
    name: str, tmp_path: Path
) -> None:
    command = COMMANDS[name]
    expected, seconds = finish(command, tmp_path / "left-alone.sqlite")
    store = tmp_path / "killed.sqlite"
    moments = random.Random(name)
    for _ in range(KILLS):
        process = start(command, store)
        before = runs_on_record(store) if store.exists() and store.stat().st_size else None
        time.sleep(moments.uniform(0.2, 1.0) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if before is not None:
            kept = {identity for identity, *_ in before}
            assert kept <= {identity for identity, *_ in runs_on_record(store)}
    found, _ = finish(command, store)
    assert found == expected
    alone, killed = runs_on_record(tmp_path / "left-alone.sqlite"), runs_on_record(store)
    assert killed == alone
    assert max(killed.values()) == 1
    assert not list(tmp_path.glob("*.checkpoints/*"))


def test_a_fit_that_is_killed_and_begun_again_ends_with_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUG_STORE", str(tmp_path / "store.sqlite"))
    # --force: it may have finished before it was killed.
    options = ("--method", "gaug-o", "--set", "epochs=600", *_SPLIT, "--quiet", "--force")

    def fit(out: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "gaug", "fit", "karate", "--out", str(tmp_path / out)]
        return subprocess.Popen([*command, *options, "--checkpoint-minutes", "0.005"])

    begun = time.monotonic()
    assert fit("left-alone").wait(timeout=600) == 0
    seconds = time.monotonic() - begun
    moments = random.Random("fit")
    for _ in range(KILLS):
        process = fit("killed")
        time.sleep(moments.uniform(0.5, 0.9) * seconds)
        process.kill()
        process.wait()
    assert fit("killed").wait(timeout=600) == 0
    alone, killed = (
        load_file(tmp_path / name / "weights.safetensors") for name in ("left-alone", "killed")
    )
    assert alone.keys() == killed.keys()
    assert all(torch.equal(alone[name], killed[name]) for name in alone)
    assert not list(tmp_path.glob("*.checkpoints/*"))
