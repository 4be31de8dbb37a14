from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gaug.data.catalog import readers
from gaug.data.catalog.entries import CATALOG, Entry
from gaug.presets import preset as presets
from gaug.runs.store import Store
from gaug.training import run as training_run
from gaug.training.loop import train_run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "runs.sqlite"))) as opened:
        yield opened


@pytest.fixture
def _club_for_cora(monkeypatch: pytest.MonkeyPatch) -> None:
    """The karate club in the place of Cora."""
    stand_in = Entry("cora", "", "", (), readers.read_karate, "as-is", "stratified", "embedded")
    monkeypatch.setitem(CATALOG, "cora", stand_in)


@pytest.fixture(autouse=True)
def _no_presets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package without presets, so that every cell is searched, whatever is shipped."""
    monkeypatch.setattr(presets, "FOLDER", tmp_path / "presets")


class Trainings(list[tuple[Any, ...]]):
    """The arguments of every call of the training loop."""

    @property
    def labels_of_test_nodes(self) -> list[set[int]]:
        """For each training the labels that its task has at the test nodes."""
        return [set(task.labels[task.test].tolist()) for task, *_ in self]


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    """Notes every training; the loop is called in one place alone."""
    calls = Trainings()

    def noted(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return train_run(*arguments, **options)

    monkeypatch.setattr(training_run, "train_run", noted)
    return calls
