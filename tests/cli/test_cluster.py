"""--cluster: what is wrong with a cluster is told in one line, before anything is trained."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.cluster

SPLIT = ("--split", "stratified")


@pytest.fixture(autouse=True)
def _not_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a command begins, also in a process that other tests have connected with a cluster."""
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)


@pytest.fixture(scope="module")
def nowhere() -> str:
    """An address where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], tuple[Any, ...]]:
    commands: dict[str, tuple[Any, ...]] = {
        "train": ("train", "karate", *SPLIT),
        "search": ("search", "karate", *SPLIT),
        "reproduce": ("reproduce", "figure1"),
        "augment": ("augment", "karate", "--out", tmp_path / "better"),
    }
    return commands.__getitem__


@pytest.mark.parametrize("name", ["train", "search", "reproduce", "augment"])
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_without_a_cluster_is_told_in_one_line(
    gaug: Callable[..., Any], no_training: None, nowhere: str, command: Any, name: str, scheme: str
) -> None:
    result = gaug(*command(name), "--cluster", f"{scheme}{nowhere}", "--quiet")
    assert result.code == 2
    assert result.out == ""
    # What was said of the graph before is on lines of its own.
    assert result.err.splitlines()[-1].startswith(
        f"gaug: There is no Ray cluster at {scheme}{nowhere} ("
    )
    assert result.err.count("Ray") == 1


def test_the_environment_may_give_the_address_and_an_option_comes_first(
    gaug: Callable[..., Any],
    no_training: None,
    nowhere: str,
    command: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GAUG_CLUSTER", nowhere)
    assert f"at {nowhere} (" in gaug(*command("train"), "--quiet").err
    given = gaug(*command("train"), "--quiet", "--cluster", "somewhere:-1").err
    assert "got 'somewhere:-1'" in given


@pytest.mark.parametrize("address", ["here:there", ":6379", "ray://:x", "ray://"])
def test_what_is_no_address_is_told(
    gaug: Callable[..., Any], no_training: None, command: Any, address: str
) -> None:
    result = gaug(*command("train"), "--cluster", address)
    assert result.code == 2
    assert "must be auto, host:port or ray://host:port" in result.err
    assert result.err.count("\n") == 1


def test_checkpoints_and_a_cluster_do_not_go_together(
    gaug: Callable[..., Any], no_training: None, nowhere: str
) -> None:
    result = gaug("train", "karate", "--cluster", nowhere, "--checkpoint-minutes", "1")
    assert result.code == 2
    assert result.err.startswith("gaug: Runs on a cluster have no checkpoints")


def test_a_dry_run_needs_no_cluster(gaug: Callable[..., Any], nowhere: str) -> None:
    result = gaug("reproduce", "figure1", "--dry-run", "--cluster", nowhere)
    assert result.code == 0
