"""What commands write: files whole or not at all, and the command that made them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gaug.cli.writing import this_command, writing
from gaug.errors import DataError

TYPED = (
    *("gaug", "fit", "my graph", "--out", "here", "--method=auto", "--time-budget", "20"),
    *("--store=sqlite://", "--checkpoint-minutes", "1", "--picture", "gains.png", "--force", "-q"),
)


@pytest.mark.parametrize(
    ("page", "command"),
    [
        (True, "gaug fit 'my graph' --out here --method=auto --time-budget 20"),
        (False, "gaug fit 'my graph' --method=auto"),
    ],
)
def test_the_command_is_told_without_what_does_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch, page: bool, command: str
) -> None:
    monkeypatch.setattr(sys, "argv", TYPED)
    assert this_command(page=page) == command


@pytest.mark.parametrize("ranks", [("--ranks", "2"), ("--ranks=2",), ()])
def test_a_cluster_is_told_with_the_ranks_that_need_one(
    monkeypatch: pytest.MonkeyPatch, ranks: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gaug", "fit", "cora", "--cluster", "auto", *ranks])
    kept = ["--cluster", "auto", *ranks] if ranks else []
    assert this_command(page=True) == " ".join(["gaug", "fit", "cora", *kept])


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("encoder error -2"), "encoder error -2"),
    ],
)
def test_what_cannot_be_written_is_told_with_the_reason(error: OSError, reason: str) -> None:
    with pytest.raises(DataError) as caught, writing("picture", Path("gains.png")):
        raise error
    assert str(caught.value) == f"The picture gains.png cannot be written: {reason}."
