"""A cluster that cannot be reached at once is asked again, and says why in one line."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gaug.errors import ConfigError
from gaug.runs.ray_connection import connect

pytestmark = pytest.mark.cluster

NOT_STARTED = """Initialization failure from server:
Traceback (most recent call last):
  File "proxier.py", line 714, in Datapath
RuntimeError: Proxy failed to connect to backend
"""


@pytest.fixture
def address() -> Iterator[str]:
    """Where something listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"ray://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What Ray raises in turn when it is asked to connect; then it connects."""
    import ray

    in_turn: list[Exception] = []

    def init(**_: Any) -> None:
        if in_turn:
            raise in_turn.pop(0)

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "init", init)
    return in_turn


def test_a_head_that_was_too_busy_is_asked_once_more(
    address: str, failures: list[Exception]
) -> None:
    failures += [ConnectionAbortedError(NOT_STARTED)]
    assert connect(address)
    assert not failures


def test_a_head_that_fails_again_says_why_in_one_line(
    address: str, failures: list[Exception]
) -> None:
    failures += [ConnectionAbortedError(NOT_STARTED)] * 2
    with pytest.raises(ConfigError) as raised:
        connect(address)
    assert str(raised.value) == (
        f"The Ray cluster at {address} started no server for this machine (RuntimeError: Proxy"
        " failed to connect to backend). Try again, or look into ray_client_server.err there."
    )


def test_what_else_goes_wrong_is_not_tried_again(address: str, failures: list[Exception]) -> None:
    failures += [ConnectionError("no answer"), ConnectionError("not asked")]
    with pytest.raises(ConfigError, match=r"There is no Ray cluster at .* \(no answer\)"):
        connect(address)
    assert len(failures) == 1
