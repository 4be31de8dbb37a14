"""How much memory may be used: sizes, limits of the system, and the limit of the user."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaug
from gaug import memory
from gaug.errors import ConfigError
from gaug.memory import (
    Room,
    available_memory,
    check_fits,
    free_memory,
    held_memory,
    max_memory,
    parse_size,
    reusing,
    set_max_memory,
    set_share,
    size_text,
)

GB = 10**9


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "")  # so that it is restored afterwards
    set_max_memory(None)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 10 GB available, of which 10 % are left alone."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10 * GB))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * GB),
        ("512MB", 512 * 10**6),
        ("1.5GiB", 1_610_612_736),
        ("2000000000", 2 * GB),
        ("64 kb", 64_000),
        (".5TB", 500 * GB),
        ("3 tib", 3 * 2**40),
        (" 100B ", 100),
        (123, 123),
    ],
)
def test_a_size_has_decimal_or_binary_units(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lots",
        "4 parsecs",
        "-4GB",
        "0",
        "0GB",
        "0.1",
        "nan",
        "inf",
        "1e9",
        "GB",
        "4GB5",
        "٣GB",
        -1,
    ],
)
def test_anything_else_is_refused_in_one_line(text: str | int) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_size(text)
    assert str(refused.value) == (
        f"max_memory must be a size such as 4GB, 512MB or 1.5GiB, got {text!r}."
    )


@given(st.integers(min_value=1, max_value=2**50))
def test_a_number_of_bytes_is_itself(size: int) -> None:
    assert parse_size(str(size)) == parse_size(f"{size} B") == size


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 MB"), (-5, "0 MB"), (999.4e6, "999 MB"), (999.9e6, "1.0 GB"), (3.14e12, "3,140.0 GB")],
)
def test_sizes_are_told_in_gigabytes_or_megabytes(size: float, text: str) -> None:
    assert size_text(size) == text


def group(folder: Path, **files: object) -> None:
    """A control group with files such as memory.max."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"memory.{name}").write_text(f"{content}\n")


def in_group(root: Path, *lines: str) -> None:
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text("".join(f"{line}\n" for line in lines))


def test_the_tightest_of_nested_groups_counts(tmp_path: Path, machine: None) -> None:
    groups = tmp_path / "sys/fs/cgroup"
    in_group(tmp_path, "0::/jobs/mine")
    group(groups / "jobs/mine", max=4 * GB, high="max", current=GB)
    assert available_memory(tmp_path) == 3 * GB
    group(groups / "jobs", max=6 * GB, current=5 * GB)  # shared with other jobs
    assert available_memory(tmp_path) == GB
    group(groups / "jobs/mine", high=int(1.5 * GB))
    assert available_memory(tmp_path) == GB // 2
    group(groups / "jobs/mine", current=2 * GB)
    assert available_memory(tmp_path) == 0


def test_groups_of_version_1_count_too(tmp_path: Path, machine: None) -> None:
    groups = tmp_path / "sys/fs/cgroup/memory"
    in_group(tmp_path, "5:cpu,cpuacct:/other", "4:memory:/jobs/mine", "0::/")
    group(groups / "jobs/mine", limit_in_bytes=2**63 - 4096, usage_in_bytes=GB)  # no limit
    assert available_memory(tmp_path) == 10 * GB
    group(groups / "jobs", limit_in_bytes=3 * GB, usage_in_bytes=GB)
    assert available_memory(tmp_path) == 2 * GB


@pytest.mark.parametrize("version", [1, 2])
def test_page_cache_in_a_group_is_not_used_memory(
    tmp_path: Path, machine: None, version: int
) -> None:
    groups = tmp_path / "sys/fs/cgroup"
    if version == 2:
        in_group(tmp_path, "0::/mine")
        stat = f"anon {GB}\ninactive_file {2 * GB}\nactive_file 77"
        group(groups / "mine", max=4 * GB, current=3 * GB, stat=stat)
    else:
        in_group(tmp_path, "4:memory:/mine")
        stat = f"inactive_file 0\ntotal_inactive_file {2 * GB}"
        files = {"limit_in_bytes": 4 * GB, "usage_in_bytes": 3 * GB, "stat": stat}
        group(groups / "memory/mine", **files)
    assert available_memory(tmp_path) == 3 * GB


def test_in_a_container_the_mount_is_its_group(tmp_path: Path, machine: None) -> None:
    """The path in /proc is the host's, or climbs out of the container."""
    group(tmp_path / "sys/fs/cgroup", max=2 * GB, current=GB)
    in_group(tmp_path, "0::/docker/0123abc")
    assert available_memory(tmp_path) == GB
    (tmp_path / "proc/self/cgroup").write_text("0::/../elsewhere\n")
    assert available_memory(tmp_path) == GB


def test_without_control_groups_the_machine_counts(tmp_path: Path, machine: None) -> None:
    assert available_memory(tmp_path) == 10 * GB
    in_group(tmp_path, "0::/mine", "4:memory:/mine", "damaged")
    group(tmp_path / "sys/fs/cgroup/mine", max="what?", current="")
    assert available_memory(tmp_path) == 10 * GB


_LIMITED = """
import resource, sys
from gaug.memory import available_memory
kind = getattr(resource, sys.argv[1])
resource.setrlimit(kind, (int(sys.argv[2]), resource.RLIM_INFINITY))
before = available_memory()
held = bytearray(100_000_000)
print(before, available_memory())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other systems count otherwise")
@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process_count(kind: str) -> None:
    command = [sys.executable, "-c", _LIMITED, kind, str(900_000_000)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    before, after = map(int, found.stdout.split())
    assert 100_000_000 < before < 900_000_000
    assert before - after == pytest.approx(100_000_000, abs=1_000_000)


def test_without_a_limit_a_margin_of_what_is_available_is_left(
    machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    available = available_memory()
    assert free_memory() == pytest.approx(0.9 * available, rel=0.01)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=300_000_000))
    assert free_memory() == 100_000_000
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=100_000_000))
    assert free_memory() == 0


def test_what_the_process_holds_counts_against_the_limit(machine: None) -> None:
    set_max_memory(held_memory() + GB)
    before = free_memory()
    assert before == pytest.approx(GB, rel=0.05)
    held = bytearray(200_000_000)
    held[::4096] = b"x" * len(held[::4096])  # touched, so that it is resident
    assert before - free_memory() == pytest.approx(200_000_000, rel=0.05)
    set_max_memory("1MB")
    assert free_memory() == 0


def test_a_limit_above_what_is_available_changes_nothing(machine: None) -> None:
    before = free_memory()
    gaug.set_max_memory("5TB")
    assert free_memory() == before
    assert Room.left().limit is None


def test_one_of_several_processes_may_hold_its_share(machine: None) -> None:
    set_share(5 * GB)
    set_share(held_memory() + GB)  # of what a worker holds by itself
    try:
        assert free_memory() == pytest.approx(GB, rel=0.05)
        assert Room.left().topic is None
        assert str(Room(GB, share=2 * GB)) == "1.0 GB of a worker's 2.0 GB are left"
        set_max_memory(held_memory() + 5 * GB)  # of all together
        assert free_memory() == pytest.approx(GB, rel=0.05)
        assert Room.left().topic == "max-memory"
    finally:
        set_share(None)


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs shared memory in a file")
def test_what_a_worker_shares_with_others_is_not_held_by_it(machine: None) -> None:
    set_share(5 * GB)
    try:
        before = held_memory()
        with tempfile.TemporaryFile(dir="/dev/shm") as file:
            file.truncate(300_000_000)
            with mmap.mmap(file.fileno(), 0) as mapped:
                mapped[::4096] = b"x" * len(mapped[::4096])  # touched, so that it is resident
                assert held_memory() == pytest.approx(before, abs=100_000_000)
    finally:
        set_share(None)


def _limit_of_child(results: multiprocessing.queues.Queue[int | None]) -> None:
    results.put(max_memory())


def test_workers_inherit_the_limit() -> None:
    set_max_memory("3GB")
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.queues.Queue[int | None] = context.Queue()
    process = context.Process(target=_limit_of_child, args=(results,))
    process.start()
    assert results.get(timeout=60) == 3 * GB
    process.join()


def test_a_damaged_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "much")
    with pytest.raises(ConfigError, match=r"^GAUG_MAX_MEMORY must be a size .* got 'much'\.$"):
        max_memory()


def test_a_limit_is_taken_back(machine: None) -> None:
    set_max_memory("1GB")
    set_max_memory(None)
    assert "GAUG_MAX_MEMORY" not in os.environ
    assert max_memory() is None


def test_what_does_not_fit_is_refused_with_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    available = SimpleNamespace(available=1_200_000_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: available)
    check_fits(GB, "A table", "Use a smaller one.")
    with pytest.raises(ConfigError) as refused:
        check_fits(GB + 1, "A table", "Use a smaller one.", num_nodes=5000)
    assert str(refused.value) == (
        "A table needs about 1.0 GB for 5,000 nodes, and 1.0 GB are free. Use a smaller one."
    )
    assert refused.value.topic is None


def test_a_refusal_tells_the_limit_if_that_is_what_stops_it(machine: None) -> None:
    set_max_memory("1MB")
    with pytest.raises(ConfigError) as refused:
        check_fits(2 * GB, "A table", "Use a smaller one.")
    assert str(refused.value) == (
        "A table needs about 2.0 GB, and 0 MB of the 1 MB of max_memory are left."
        " Use a smaller one."
    )
    assert refused.value.topic == "max-memory"


@pytest.mark.skipif(sys.platform != "linux", reason="it is about glibc")
def test_memory_is_kept_for_reuse_only_where_twice_the_need_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        def __init__(self, _: None) -> None:
            pass

        @staticmethod
        def mallopt(parameter: int, value: int) -> int:
            calls.append((parameter, value))
            return 1

        @staticmethod
        def malloc_trim(_: int) -> int:
            return 1

    monkeypatch.setattr("ctypes.CDLL", Library)
    monkeypatch.setattr(memory, "free_memory", lambda: 10 * GB)
    for needed in (int(5.1 * GB), 1_000_000):  # too much, and too little to matter
        with reusing(needed):
            assert calls == []
    with contextlib.suppress(ValueError), reusing(4 * GB):
        assert (memory._MMAP_MAX, 0) in calls
        raise ValueError
    assert calls[-3][0] == memory._MMAP_MAX  # set back, also after an error
    assert calls[-3][1] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="it is about glibc")
def test_large_blocks_are_reused_and_given_back_afterwards() -> None:
    """Counts page faults of a process that allocates 64 MB again and again."""
    script = """
import resource, sys
import torch
from gaug.memory import reusing
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.zeros(16_000_000).add_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
plain = faults()
with reusing(300_000_000):
    faults()
    kept = faults()
print(plain, kept)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    plain, kept = map(int, found.stdout.split())
    assert kept < plain / 10
