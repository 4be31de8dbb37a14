"""The lowest versions that CI tests are the lower bounds of pyproject.toml."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def lowest() -> Any:
    spec = importlib.util.spec_from_file_location("lowest", ROOT / ".ci" / "lowest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_lower_bound_becomes_a_pin(lowest: Any) -> None:
    assert lowest.lowest_pins(["numpy>=1.26", "scikit-learn>=1.4"]) == [
        "numpy==1.26",
        "scikit-learn==1.4",
    ]
    assert lowest.lowest_pins(["ray[client,train]>=2.49"]) == ["ray==2.49"]


def test_extras_of_gaug_itself_are_not_pinned(lowest: Any) -> None:
    assert lowest.lowest_pins(["gaug[fast,parquet]", "pytest>=8.2"]) == ["pytest==8.2"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy>1.26", "numpy>=1.26,<3", "numpy==1.26"])
def test_a_dependency_without_a_plain_lower_bound_is_refused(lowest: Any, requirement: str) -> None:
    with pytest.raises(ValueError, match=r"must be of the form name>=version"):
        lowest.lowest_pins([requirement])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the standard library reads no TOML yet")
def test_every_dependency_of_the_project_is_pinned_once_at_most_at_what_is_installed(
    lowest: Any,
) -> None:
    requirements = lowest.declared(ROOT / "pyproject.toml")
    pins = dict(pin.split("==") for pin in lowest.lowest_pins(requirements))
    assert len(pins) == sum(not line.startswith("gaug[") for line in requirements)
    assert {"torch", "numba", "psycopg", "pyarrow", "pytest", "ray"} <= set(pins)
    for name, pin in pins.items():
        with contextlib.suppress(PackageNotFoundError):  # of an extra, whose tests are left out
            assert numbers(pin) <= numbers(version(name)), name


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split("+")[0].split(".") if part.isdigit()]
