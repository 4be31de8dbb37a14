from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gaug.runs.store import Store
from gaug.training import run as training_run
from gaug.training.loop import train_run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "runs.sqlite"))) as opened:
        yield opened


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the runs that were trained, in a list that grows."""
    seeds: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        seeds.append(arguments[5])
        return train_run(*arguments, **options)

    monkeypatch.setattr(training_run, "train_run", counted)
    return seeds
