"""What the time that is left is enough for."""

from __future__ import annotations

import pytest

from gaug.choosing.race_time import RaceTime


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> RaceTime:
    """A hundred seconds, none of which pass."""
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    return RaceTime(100.0)


def test_runs_fit_one_after_the_other_until_the_pace_is_known(clock: RaceTime) -> None:
    assert clock.fits(100.0, 50.0)
    assert not clock.fits(101.0, 50.0)


def test_several_workers_fit_more_runs_but_none_that_is_longer(clock: RaceTime) -> None:
    clock.learn(worked=40.0, waited=10.0)
    assert clock.fits(400.0, 100.0)
    assert not clock.fits(401.0, 100.0)
    assert not clock.fits(202.0, 101.0)


def test_what_took_no_time_tells_no_pace(clock: RaceTime) -> None:
    clock.learn(worked=0.0, waited=10.0)
    assert clock.fits(100.0, 1.0)
