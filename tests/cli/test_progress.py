from __future__ import annotations

from types import SimpleNamespace

import pytest

from gaug.cli import progress
from gaug.cli.progress import run_progress


class Clock:
    """A clock that the test sets."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=clock.monotonic))
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return clock


def test_without_a_terminal_it_prints_a_line_now_and_then(clock, capsys):
    with run_progress("karate, gcn", 4, quiet=False) as move:
        move(0.5)
        assert capsys.readouterr().err == ""
        clock.now += 36
        move(1.5)
        move(1.6)
        # One run in 36 s, and 2.5 are left.
        assert capsys.readouterr().err == "karate, gcn: 1 of 4 runs, about 90 s left\n"
        clock.now += 60
        move(4)
        assert capsys.readouterr().err == "karate, gcn: 4 of 4 runs\n"


def test_quiet_prints_nothing(clock, capsys):
    with run_progress("karate", 4, quiet=True) as move:
        clock.now += 60
        move(2)
        clock.now += 60
        move(4)
    assert capsys.readouterr() == ("", "")


def test_quiet_prints_nothing_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with run_progress("karate", 4, quiet=True) as move:
        move(4)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_bar_says_how_many_runs_are_done_on_standard_error(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with run_progress("karate", 4, quiet=False) as move:
        move(1.5)
        move(3)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "karate" in captured.err
    assert "3/4" in captured.err


def test_brackets_in_a_name_are_shown_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with run_progress("my [b]graph[/i]", 4, quiet=False) as move:
        move(4)
    assert "my [b]graph[/i]" in capsys.readouterr().err


def test_an_error_passes_through(clock):
    with pytest.raises(KeyError), run_progress("karate", 4, quiet=False):
        raise KeyError
