"""The program run in this process, as a shell runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from gaug.cli import options
from gaug.cli.main import main
from gaug.training import run as training_run


class Result(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def gaug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["gaug", *map(str, arguments)])
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # Typer sets one
        monkeypatch.setattr(options.state, "debug", False)
        monkeypatch.setattr(options.state, "interruption_told", False)
        with pytest.raises(SystemExit) as ended:
            main()
        return Result(int(ended.value.code or 0), *capsys.readouterr())

    return run


def refuse_training(*arguments: Any, **options: Any) -> Any:
    """In the place of `train_run` where nothing may be trained."""
    pytest.fail("a run was trained")


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be trained: this is the one place where the loop is called."""
    monkeypatch.setattr(training_run, "train_run", refuse_training)
