"""Rules about the whole package that no single module shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "gaug"


def imported_names() -> Iterator[tuple[str, str]]:
    """Each file of the package with each name that it imports from gaug."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gaug."):
                for alias in node.names:
                    yield path.relative_to(PACKAGE).as_posix(), f"{node.module}.{alias.name}"


def users_of(name: str) -> set[str]:
    return {path for path, imported in imported_names() if imported == name}


def test_one_place_calls_the_loop() -> None:
    assert users_of("gaug.training.loop.train_run") == {"training/run.py"}


def test_repeated_runs_and_a_fit_train_through_the_same_place() -> None:
    users = users_of("gaug.training.run.PreparedRuns")
    assert users == {
        "methods/method.py",  # fit
        "runs/execution.py",  # prepares them
        "runs/graphs.py",
        "runs/run_job.py",  # trains them
        "testing/methods.py",
    }


def test_only_an_execution_writes_records() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).as_posix() in ("runs/execution.py", "runs/store.py"):
            continue
        text = path.read_text(encoding="utf-8")
        assert "store.add(" not in text, path
        assert "set_test_score(" not in text, path
