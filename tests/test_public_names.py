"""The public names of the package: one list."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import gaug

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gaug"


@pytest.mark.parametrize("name", gaug.__all__)
def test_a_public_name_can_be_imported_and_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(gaug, name))


def test_type_checkers_see_the_names_that_are_there() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gaug.")
        for alias in node.names
    }
    assert seen == gaug._HOMES


def test_the_reference_has_every_public_name() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    missing = [name for name in gaug.__all__ if not re.search(rf"\b{name}\b", reference)]
    assert missing == []


@pytest.mark.parametrize(
    "name", ["Method", "MethodConfig", "AugmentedRun", "EdgePredictor", "EmbeddingPredictor"]
)
def test_what_one_extends_is_public(name: str) -> None:
    assert name in gaug.__all__


def test_what_takes_a_graph_has_the_same_words_for_the_same_thing() -> None:
    shared = {"training", "split", "split_config", "seed", "workers", "threads", "device", "store"}
    for function in (gaug.evaluate, gaug.auto, gaug.search, gaug.inspect):
        assert shared <= set(inspect.signature(function).parameters), function.__name__


def test_the_library_names_no_option_of_the_command_line() -> None:
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value.replace("ray start --head", "")  # an option of Ray's own
                for option in re.findall(r"(?:^|[\s(\'`])(--[a-z][a-z-]+)", text):
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {option}")
    assert found == []
