"""Two searches at once share one study on a PostgreSQL server."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest

pytestmark = pytest.mark.postgresql


def _programs() -> Path | None:
    """The folder of PostgreSQL's programs, which Debian keeps off the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _as_somebody() -> list[str]:
    """How to call the server's programs, which refuse to work for root."""
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("needs a user postgres: PostgreSQL does not run as root")
    return ["runuser", "-u", "postgres", "--"]


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty database on a server of its own."""
    programs = _programs()
    if programs is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    prefix = _as_somebody()
    # Not below pytest's folder, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="gaug-postgresql-"))
    if prefix:
        shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def call(program: str, *arguments: str) -> None:
        command = [*prefix, str(programs / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=120, cwd="/")

    data = str(folder / "data")
    call("initdb", "-D", data, "-U", "gaug", "--auth=trust", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    call("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        call("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "gaug", "runs")
        yield f"postgresql+psycopg://gaug@127.0.0.1:{port}/runs"
    finally:
        call("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture(params=["this machine", pytest.param("cluster", marks=pytest.mark.cluster)])
def where(request: pytest.FixtureRequest) -> list[str]:
    """Options that say where runs are done; both searches are drivers of one cluster."""
    if request.param == "cluster":
        return ["--cluster", request.getfixturevalue("cluster").address]
    return ["--workers", "1"]


def test_two_searches_at_once_share_a_study_and_no_trial_is_lost_or_doubled(
    database: str, where: list[str]
) -> None:
    trials = 12
    command = [sys.executable, "-m", "gaug", "search", "karate", "--method", "gaug-m"]
    command += ["--trials", str(trials), "--trial-runs", "2", "--runs", "2", "--set", "epochs=100"]
    command += ["--split", "stratified", "--set", "train_fraction=0.3", *where]
    command += ["--store", database, "--json", "--quiet"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    results = []
    for process in both:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        results.append(json.loads(out))
    name = results[0]["study"]
    storage = optuna.storages.RDBStorage(database)
    trials_of_both = optuna.load_study(study_name=name, storage=storage).trials
    storage.engine.dispose()
    finished = [trial for trial in trials_of_both if trial.state.is_finished()]
    assert len(finished) == len(trials_of_both)
    counted = [t for t in finished if t.state.name in ("COMPLETE", "PRUNED")]
    assert sorted(trial.user_attrs["index"] for trial in counted) == list(range(trials))
    owners = {trial.user_attrs["owner"]["pid"] for trial in counted}
    assert owners == {process.pid for process in both}
    assert results[0]["study"] == results[1]["study"]
    assert results[0]["trials"] == results[1]["trials"]
